"""Two reports side by side: what became of each clause, then and now.

Backends are compared by name, edition and profile; two reports of one backend each are compared whatever its name,
since two releases, or a fork and what it was forked from, are what one wants to compare.

What got worse decides the exit code. A clause that fails now and did not is a failure. One that held and is now not
shown to hold, for whatever reason, is inconclusive: it is the one that nobody notices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from probate_conformance.errors import WORST_FIRST, Exit, UsageError
from probate_conformance.lockstep import Verdict
from probate_conformance.render import ndjson
from probate_conformance.report import Setting

LARGEST: Final = 256 * 1024 * 1024
"""The most bytes that a report may have."""

_FORM: Final = "give what `probate check --report FILE` has written"


class Kind(StrEnum):
    """What became of a clause, from one report to the other."""

    FAILING = "newly failing"
    PASSING = "newly passing"
    NOT_CLAIMED = "newly not claimed"
    BLOCKED = "newly blocked"
    UNDEMANDED = "newly undemanded"
    GONE = "no longer judged"


_KINDS: Final = {
    Verdict.FAIL: Kind.FAILING,
    Verdict.PASS: Kind.PASSING,
    Verdict.NOT_CLAIMED: Kind.NOT_CLAIMED,
    Verdict.BLOCKED: Kind.BLOCKED,
    Verdict.NOT_REACHED: Kind.UNDEMANDED,
    None: Kind.GONE,
}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Change(_Part):
    """A clause of which something else is said in the second report."""

    part: Literal["change"] = "change"
    backend: str
    clause: str
    kind: Kind
    was: Verdict | None
    """None if the first report does not speak of it."""
    now: Verdict | None
    """None if the second report does not speak of it."""

    @property
    def exit(self) -> Exit:
        """How bad it is."""
        if self.kind is Kind.FAILING:
            return Exit.FAIL
        return Exit.INCONCLUSIVE if self.was is Verdict.PASS else Exit.PASS


class Pair(_Part):
    """One backend in both reports."""

    part: Literal["pair"] = "pair"
    backend: str
    before: str
    """By what name the first report calls it; that may be another backend."""
    first: str
    """What it was in the first report: name and version, edition and profile."""
    second: str
    kits: tuple[str, str] | None = None
    """The versions of the kit that judged then and now, if they are not the same: each may know other clauses."""
    same_traces: bool
    """Whether both ran the same traces; if not, what was not reached may be due to that."""
    unchanged: int
    """Of how many clauses the same is said."""
    common: int
    """How many clauses both speak of; what only one speaks of can't be compared."""
    same_profile: bool
    """Whether both are of one profile; each profile has clauses of its own, so else there is nothing to compare."""
    changes: tuple[Change, ...] = ()


class Comparison(_Part):
    """Two reports, compared."""

    part: Literal["comparison"] = "comparison"
    pairs: tuple[Pair, ...]
    only_first: tuple[str, ...] = ()
    """Backends that only the first report speaks of."""
    only_second: tuple[str, ...] = ()

    @property
    def exit(self) -> Exit:
        """The worst of all changes; nothing is compared if no backend is in both, or none of the same profile."""
        if not any(pair.same_profile for pair in self.pairs):
            return Exit.NOT_RUN
        codes = [change.exit for pair in self.pairs for change in pair.changes]
        codes += [Exit.INCONCLUSIVE] * bool(self.only_first)
        return min(codes, key=WORST_FIRST.index, default=Exit.PASS)


class Read(NamedTuple):
    """What a report says of one backend."""

    setting: Setting
    clauses: dict[str, Verdict]
    kit: str = ""
    """The version of the kit that judged it."""

    @property
    def key(self) -> tuple[str, str, str]:
        """By what it is found in another report."""
        return self.setting.backend, self.setting.edition, self.setting.profile

    @property
    def title(self) -> str:
        """Its name and version, edition and profile."""
        setting = self.setting
        subject = f"{setting.manifest.name} {setting.manifest.version}" if setting.manifest else setting.backend
        return f"{subject}, edition {setting.edition}, profile {setting.profile}"

    @property
    def traces(self) -> tuple[object, ...]:
        """What decides which traces were run; how many there were is not part of it."""
        setting = self.setting
        return setting.seed, setting.cases, setting.schedules, setting.seconds, setting.only


def read(path: Path) -> list[Read]:
    """Read a report.

    :raises UsageError: if it can't be read, is no report, or is not whole
    """
    where = str(path)
    try:
        if path.stat().st_size > LARGEST:
            raise UsageError(f"is larger than {LARGEST:,} bytes", where=where, mend=_FORM)
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"can't read the report: {reason}", where=where) from None
    found = ndjson.read(text, where=where)
    kit = found.header.version
    return [
        Read(report.setting, {result.id: result.verdict for result in report.clauses}, kit) for report in found.reports
    ]


def compare(first: Sequence[Read], second: Sequence[Read]) -> Comparison:
    """Compare two reports."""
    if len(first) == len(second) == 1:
        return Comparison(pairs=(_pair(first[0], second[0]),))
    before = {one.key: one for one in first}
    after = {one.key: one for one in second}
    return Comparison(
        pairs=tuple(_pair(one, after[key]) for key, one in before.items() if key in after),
        only_first=tuple(one.title for key, one in before.items() if key not in after),
        only_second=tuple(one.title for key, one in after.items() if key not in before),
    )


def _pair(first: Read, second: Read) -> Pair:
    changes = tuple(_changes(first, second))
    names = first.clauses.keys() | second.clauses.keys()
    return Pair(
        backend=second.setting.backend,
        before=first.setting.backend,
        first=first.title,
        second=second.title,
        kits=None if first.kit == second.kit else (first.kit, second.kit),
        same_traces=first.traces == second.traces,
        unchanged=len(names) - len(changes),
        same_profile=first.setting.profile == second.setting.profile,
        common=len(first.clauses.keys() & second.clauses.keys()),
        changes=changes,
    )


def _changes(first: Read, second: Read) -> Iterator[Change]:
    backend = second.setting.backend
    for clause in dict.fromkeys((*first.clauses, *second.clauses)):
        was, now = first.clauses.get(clause), second.clauses.get(clause)
        if was is not now:
            yield Change(backend=backend, clause=clause, kind=_KINDS[now], was=was, now=now)
