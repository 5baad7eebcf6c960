"""Defects of durable sessions: what is stored, who may write it, and how an agent goes on with it."""

from __future__ import annotations

from typing import Final

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference import creation, owners
from probate_reference.persistence.jsonl import JsonlStore
from probate_reference.persistence.persistence import Persistence, _Bound
from probate_reference.refusals import NotFound

SESSIONS: Final = Family("sessions")

_STARTS: Final = (
    "kernel.events._emit(SessionStart(agent, StartSource.RESUME if lifecycle.resumes else StartSource.STARTUP))"
)


# Resume.


@SESSIONS.variant(
    "resume-appends-what-it-loads",
    "M54",
    "RESUME-07",
    "A resumed agent begins by logging the records that it was loaded with.",
)
def _(patches: Patches) -> None:
    patches.edit(
        creation,
        "_show",
        (
            _STARTS,
            (
                f"{_STARTS}\n"
                "for record in agent.session.records if lifecycle.resumes else ():\n"
                "    lifecycle.core.append(record)"
            ),
        ),
    )


@SESSIONS.variant(
    "resume-looks-at-the-id-before-the-load-only",
    "M52",
    "RESUME-08",
    "A resume does not look at the id again when its load has returned, and takes the place of whoever has it by then.",
    needs="gate",
)
def _(patches: Patches) -> None:
    patches.edit(creation, "run_load", ("if session.id in kernel.sessions:", "if False:"))
    patches.edit(Persistence, "load", ("if agent.id in self._bound:", "if False:"))
    patches.edit(
        creation,
        "_show",
        (
            "kernel.sessions._enter(agent.session)",
            (
                "if lifecycle.resumes:\n"
                "    kernel.sessions._sessions.pop(agent.id, None)\n"
                "    kernel.agents._entries.pop(agent.id, None)\n"
                "kernel.sessions._enter(agent.session)"
            ),
        ),
    )


@SESSIONS.variant(
    "late-load-publishes",
    "M42",
    "RESUME-09",
    "A load that returns after the owner has ended goes on to publish the agent.",
    needs="gate",
)
def _(patches: Patches) -> None:
    patches.edit(
        creation,
        "run_load",
        ("lifecycle.private_scope = scope", "del scope"),
        (
            "session._seed(stored.records, stored.header.metadata)",
            "session._seed(stored.records, stored.header.metadata)\nlifecycle.active, lifecycle.failure = True, None",
        ),
    )


@SESSIONS.variant(
    "load-is-not-raced",
    "C23",
    "RESUME-09",
    "A resume that is ended while it loads waits for the load first.",
    needs="gate",
)
def _(patches: Patches) -> None:
    patches.edit(creation, "run_load", ("lifecycle.private_scope = scope", "del scope"))


@SESSIONS.variant(
    "resume-restarts-the-seqs",
    "C28",
    "RESUME-05",
    "A resumed session begins empty, so its records get the seqs of those that are stored.",
)
def _(patches: Patches) -> None:
    patches.edit(
        creation,
        "run_load",
        (
            "session._seed(stored.records, stored.header.metadata)",
            "session._seed(stored.records, stored.header.metadata)\nsession._records.clear()",
        ),
    )


@SESSIONS.variant(
    "resume-restarts-the-turns",
    "L2",
    "RESUME-06",
    "A resumed session counts its turns from 1.",
)
def _(patches: Patches) -> None:
    patches.edit(
        creation,
        "run_load",
        (
            "session._seed(stored.records, stored.header.metadata)",
            "session._seed(stored.records, stored.header.metadata)\nsession._last_turn = 0",
        ),
    )


@SESSIONS.variant(
    "resumed-agent-says-startup",
    "T16",
    "RESUME-10",
    "A resumed agent is announced as one that starts up.",
)
def _(patches: Patches) -> None:
    patches.edit(
        creation, "_show", ("StartSource.RESUME if lifecycle.resumes else StartSource.STARTUP", "StartSource.STARTUP")
    )


@SESSIONS.variant(
    "absent-log-is-an-empty-one",
    "M77",
    "RESUME-03",
    "A resume of an id that has no log creates an agent without a history.",
)
def _(patches: Patches) -> None:
    patches.edit(
        creation,
        "run_load",
        ("except BaseException as raised:", "except NotFound:\n    pass\nexcept BaseException as raised:"),
        NotFound=NotFound,
    )


@SESSIONS.variant(
    "failed-load-is-an-absent-log",
    "M77",
    "RESUME-04",
    "Whatever a load fails by, the resume says that there is no log.",
    needs="gate",
)
def _(patches: Patches) -> None:
    patches.edit(
        creation,
        "run_load",
        (
            '_fail(lifecycle, raised, "load")',
            (
                'ours = hasattr(raised, "code") or not isinstance(raised, Exception)\n'
                '_fail(lifecycle, raised if ours else NotFound(), "load")'
            ),
        ),
        NotFound=NotFound,
    )


@SESSIONS.variant(
    "no-home-is-an-absent-log",
    "C.2",
    "RESUME-02",
    "A resume where no logs are kept says that there is no log.",
)
def _(patches: Patches) -> None:
    patches.replace(owners, "NoPersistence", NotFound)


# Who may write.


@SESSIONS.variant(
    "fresh-session-replaces-a-stored-log",
    "M69",
    "STORE-04",
    "A fresh session under a stored id makes its log anew, over the one that is there.",
)
def _(patches: Patches) -> None:
    patches.edit(_Bound, "_write", ("store.exists(session.id):", "self.seeded and store.exists(session.id):"))
    patches.edit(JsonlStore, "create", ("if files.exists(path):", "if False:"))


@SESSIONS.variant(
    "refusal-damages-the-log",
    "M69",
    "STORE-05",
    "A session that is refused the log of another life has opened it for writing first, and emptied it.",
)
def _(patches: Patches) -> None:
    patches.edit(
        _Bound,
        "claim",
        (
            "raise self.refusal",
            (
                "header = store.read(session.id).header\nstore.delete(session.id)\n"
                "store.create(header, session._records[:1])\nraise self.refusal"
            ),
        ),
    )


@SESSIONS.variant(
    "kept-by-id-and-not-by-session",
    "M72",
    "STORE-04",
    "What is known of an id's first session is used for its next one too, which is then never written.",
)
def _(patches: Patches) -> None:
    patches.edit(
        Persistence,
        "attach",
        ("self._bound[session.id] = _Bound(session)", "self._bound.setdefault(session.id, _Bound(session))"),
    )
    patches.edit(Persistence, "retire", ("del self._bound[session.id]", "pass"))
    patches.edit(Persistence, "load", ("if agent.id in self._bound:", "if False:"))
    patches.edit(
        Persistence,
        "flush",
        ("if bound is None or bound.session is not request.session:", "if bound is None:"),
        (
            "bound.promised = max(bound.promised, request.upto)",
            "bound.promised = max(bound.promised, len(bound.session))",
        ),
    )


@SESSIONS.variant(
    "session-without-records-has-a-log",
    "M74",
    "STORE-06",
    "A log is made when a session is created, before there is anything to write.",
    blunt=True,
)
def _(patches: Patches) -> None:
    patches.edit(
        Persistence,
        "attach",
        (
            "self._bound[session.id] = _Bound(session)",
            (
                "self._bound[session.id] = bound = _Bound(session)\n"
                "if not len(session) and not self._store.exists(session.id):\n"
                "    self._store.create(Header(session.id), ())\n"
                "    bound.claimed = True"
            ),
        ),
    )


# What is safe.


@SESSIONS.variant(
    "flush-is-acknowledged-unwritten",
    "F25",
    "STORE-01",
    "A flush returns when its records are lined up to be written, and they are written when the agent ends.",
)
def _(patches: Patches) -> None:
    patches.edit(Persistence, "_flush", ("await self._surely(partial(self._save, bound, bound.promised))", "pass"))


@SESSIONS.variant(
    "failed-flush-empties-the-buffer",
    "M71",
    "STORE-11",
    "The records of a flush leave the buffer before they are written, so one that fails loses them.",
    needs="gate",
)
def _(patches: Patches) -> None:
    patches.edit(
        Persistence,
        "flush",
        (
            "bound.promised = max(bound.promised, request.upto)",
            "taken = bound.saved\nbound.promised = bound.saved = max(bound.promised, request.upto)",
        ),
        ("return self._flush(bound)", "return self._flush(bound, taken)"),
    )
    patches.edit(
        Persistence,
        "_flush",
        (
            "async def _flush(self, bound: _Bound) -> None:",
            "async def _flush(self, bound: _Bound, taken: int) -> None:",
        ),
        ("async with self._turn(bound.session.id):", "bound.saved = taken\nasync with self._turn(bound.session.id):"),
    )


@SESSIONS.variant(
    "next-flush-writes-its-own-records-only",
    "M36",
    "STORE-01",
    "A flush writes what was logged since the last flush began, whether that one has failed or not.",
    needs="gate",
)
def _(patches: Patches) -> None:
    patches.edit(
        Persistence,
        "_flush",
        (
            "await self._surely(partial(self._save, bound, bound.promised))",
            (
                "whole = bound.saved == before or bound.refusal is not None\n"
                "await self._surely(partial(self._save, bound, bound.promised if whole else bound.saved))"
            ),
        ),
        (
            "async def _flush(self, bound: _Bound) -> None:",
            "async def _flush(self, bound: _Bound, before: int) -> None:",
        ),
    )
    patches.edit(
        Persistence,
        "flush",
        (
            "bound.promised = max(bound.promised, request.upto)",
            "before = bound.promised\nbound.promised = max(bound.promised, request.upto)",
        ),
        ("return self._flush(bound)", "return self._flush(bound, before)"),
    )


@SESSIONS.variant(
    "teardown-leaves-what-a-flush-could-not-write",
    "D2",
    "STORE-03",
    "When the closing flush has failed, the session leaves the store and its closing record is gone.",
    needs="gate",
)
def _(patches: Patches) -> None:
    patches.edit(Persistence, "retire", ("if bound.refusal is None:", "if False:"))


@SESSIONS.variant(
    "reload-writes-open-turns-only",
    "F25",
    "STORE-11",
    "A reload writes what was logged of open turns, and not what a failed flush has left of those that are over.",
    needs="gate",
)
def _(patches: Patches) -> None:
    patches.edit(
        Persistence,
        "_drain",
        ("if bound.refusal is None:", "if bound.refusal is None and bound.session._open_turn is not None:"),
    )


@SESSIONS.variant(
    "reload-closes-the-open-turn",
    "F21",
    "STORE-10",
    "A reload takes the open turn of a live session for one that a crash has left, and closes it.",
    needs="gate",
)
def _(patches: Patches) -> None:
    patches.edit(
        Persistence,
        "_drain",
        (
            "bound.write(self._store, len(bound.session))",
            (
                "bound.write(self._store, len(bound.session))\n"
                "if ends := closers(bound.session.records):\n"
                "    self._store.append(bound.session.id, len(bound.session), ends)"
            ),
        ),
    )


@SESSIONS.variant(
    "reload-waits-for-ever",
    "F25",
    "STORE-12",
    "A reload waits until no session is live before it opens the store again.",
    blunt=True,
)
def _(patches: Patches) -> None:
    patches.edit(
        Persistence,
        "reload",
        ("if failures:\n    raise NotDurable(failures)", "if self._bound:\n    await Event().wait()"),
    )


# What a crash leaves.


@SESSIONS.variant(
    "repair-is-not-written",
    "F13",
    "STORE-08",
    "A load closes an open turn for the agent, and leaves it open in the log.",
    needs="gate",
)
def _(patches: Patches) -> None:
    patches.edit(
        Persistence,
        "load",
        (
            "await self._surely(partial(self._store.append, agent.id, len(stored.records), ends))",
            "await self._surely(partial(self._store.append, agent.id, len(stored.records), ()))",
        ),
    )


@SESSIONS.variant(
    "repair-drops-what-is-open",
    "F13",
    "RESUME-06",
    "A load drops what stands behind the last turn/end, where it should close it.",
    needs="gate",
)
def _(patches: Patches) -> None:
    patches.edit(
        Persistence,
        "load",
        (
            "ends = closers(stored.records)",
            (
                "kept = stored.records\n"
                "while closers(kept):\n"
                "    kept = kept[:-1]\n"
                "if kept != stored.records:\n"
                "    self._store.delete(agent.id)\n"
                "    self._store.create(stored.header, kept)\n"
                "    stored = StoredLog(stored.header, kept)\n"
                "ends = closers(kept)"
            ),
        ),
    )


@SESSIONS.variant(
    "torn-line-costs-the-line-before",
    "F16",
    "STORE-09",
    "Where the last line is torn, the line before it is dropped too.",
    needs="gate",
)
def _(patches: Patches) -> None:
    patches.edit(
        JsonlStore,
        "_scan",
        (
            "records = decode_log(lines[1:])",
            "records = decode_log(lines[1:] if data.endswith(b'\\n') else lines[1:-1])",
        ),
    )


@SESSIONS.variant(
    "start-distrusts-the-last-line",
    "F16",
    "STORE-07",
    "A process that starts takes the last line of every log for a torn one, and drops it.",
)
def _(patches: Patches) -> None:
    patches.edit(
        Persistence,
        "open",
        (
            "await self._surely(self._store.open)",
            (
                "await self._surely(self._store.open)\n"
                "for found in self._store.list():\n"
                "    stored = self._store.read(found.id)\n"
                "    self._store.delete(found.id)\n"
                "    self._store.create(stored.header, stored.records[:-1])"
            ),
        ),
    )
