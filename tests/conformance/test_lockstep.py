"""Lockstep: a backend that does what the model may do passes, and one that lies is found out, whatever the lie is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from probate_conformance.backends.model import ModelBackend
from probate_conformance.errors import BackendBroke, BackendSilent
from probate_conformance.generation import generate
from probate_conformance.lockstep import Examined, Verdict, examine
from probate_conformance.manifest import Manifest, Unclaimed
from probate_conformance.trace import Trace
from probate_conformance.view import view_of
from probate_conformance.wire import Burst, Close, Closed, Command, Open, Opened, Quiet, Reply
from probate_model.alphabet.events import Event, Raised, Settled, Snapshot
from probate_model.alphabet.names import Code
from probate_model.rehearsal import rehearse
from probate_model.world import new_world
from probate_model.worlds import EVERYTHING, Reason, View, Worlds
from tests.model.helpers import burst, event, items, line

TRACE = Trace(
    items=items("""
        create c a cleanup
        create d b
        settle
        send c A
        send d B
        idle c
        settle
        dispose c
        dispose d
    """)
)

Lie = Callable[[Quiet], Reply]


class Liar(ModelBackend):
    """The model, but the ``nth`` burst is answered by a lie."""

    def __init__(self, lie: Lie, nth: int = 1) -> None:
        super().__init__()
        self.lie = lie
        self.nth = nth
        self.seen: list[Command] = []

    def answer(self, command: Command) -> Reply:
        self.seen.append(command)
        reply = super().answer(command)
        if isinstance(command, Burst) and sum(isinstance(seen, Burst) for seen in self.seen) == self.nth + 1:
            assert isinstance(reply, Quiet)
            return self.lie(reply)
        return reply


def judged(lie: Lie, nth: int = 1, view: View = EVERYTHING, trace: Trace = TRACE) -> Examined:
    """Judge a backend that lies in one burst of a trace."""
    return Liar(lie, nth).converse(examine(trace, view))


def showing(change: Callable[[list[Event]], Sequence[Event]]) -> Lie:
    """Give a lie about the events."""
    return lambda quiet: Quiet(events=tuple(change(list(quiet.events))), snapshot=quiet.snapshot)


def truth(quiet: Quiet) -> Quiet:
    """Tell no lie."""
    return quiet


def test_the_truth_passes() -> None:
    examined = judged(truth)
    assert examined.verdict is Verdict.PASS
    assert examined.divergence is None
    assert len(examined.exchanges) == 4
    assert (examined.steps, examined.voids) == (9, 0)
    assert examined.final is not None
    assert examined.final.first.sessions == ()


def test_the_conversation_opens_bursts_and_closes() -> None:
    backend = Liar(truth)
    trace = Trace(items=TRACE.items, schedule=3, edition="2026-06")
    backend.converse(examine(trace, EVERYTHING))
    assert [command.message for command in backend.seen] == ["open", *["burst"] * 4, "close"]
    assert backend.seen[0] == Open(world=trace.world, edition="2026-06", schedule=3)
    assert backend.seen[1] == Burst(items=burst("create c a cleanup\ncreate d b"))


def test_what_is_void_is_not_sent_and_not_counted() -> None:
    trace = Trace(items=items("create c a\nsend c A\nabort c\nload host\nsettle\nsend c B"))
    examined = judged(truth, trace=trace)
    assert [item.item for item in examined.exchanges[0].void] == ["send", "abort", "load_owner"]
    assert [item.item for item in examined.exchanges[0].sent] == ["create"]
    assert (examined.steps, examined.voids) == (4, 3)


def test_a_rehearsal_is_the_canonical_run_of_a_burst() -> None:
    rehearsal = rehearse(new_world(), burst("create c a\nsend c A"))
    assert [line(entry.event) for entry in rehearsal.expected] == [
        "session/created a#1",
        "agent/created a#1",
        "agent/session-start a#1 startup",
        "settled c returned a#1",
    ]
    assert rehearsal.void == burst("send c A")


def test_another_order_of_what_is_open_passes() -> None:
    def other(events: list[Event]) -> list[Event]:
        begun = events[:4]
        rest = events[4:]
        agents = {name: [e for e in rest if getattr(e, "agent", "") == name] for name in ("a#1", "b#1")}
        settled = [e for e in rest if isinstance(e, Settled)]
        return [*begun, *agents["b#1"], *agents["a#1"], *settled]

    examined = judged(showing(other))
    assert examined.verdict is Verdict.PASS


def test_the_clauses_that_were_demanded_are_counted() -> None:
    demanded = judged(truth).demanded
    assert demanded["CREATE-01"] == 4  # that both are published after their setups, and that both return
    assert demanded["DISPOSE-08"] == 1
    assert demanded["IDLE-02"] == 1
    assert demanded["CANCEL-01"] == 0


# Lies.

EXPECTED: dict[str, tuple[Lie, str, Reason]] = {
    "nothing at all": (showing(lambda events: []), "INBOX-01", Reason.OWED),
    "less than all": (showing(lambda events: events[:-1]), "", Reason.OWED),
    "an event twice": (showing(lambda events: [*events[:3], *events[2:]]), "", Reason.DUE),
    "one event too many": (
        showing(lambda events: [*events, event("signal a#1 turn=1 user")]),
        "CANCEL-06",
        Reason.EXTRA,
    ),
    "another text": (
        showing(lambda events: [event("agent/queued a#1 Z") if line(e) == "agent/queued a#1 A" else e for e in events]),
        "INBOX-01",
        Reason.FIELD,
    ),
    "everything backwards": (showing(lambda events: events[::-1]), "", Reason.TORN),
    "no registries": (lambda quiet: Quiet(events=quiet.events, snapshot=Snapshot()), "REGISTRY-02", Reason.SNAPSHOT),
    "no rest": (lambda quiet: Quiet(events=quiet.events, snapshot=quiet.snapshot, never=True), "", Reason.NEVER_QUIET),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_lie_is_found_out(name: str) -> None:
    lie, clause, reason = EXPECTED[name]
    examined = judged(lie)
    assert examined.verdict is Verdict.FAIL
    assert examined.divergence is not None
    assert examined.divergence.reason is reason
    assert examined.divergence.clause == (clause or examined.divergence.clause)
    # The trace ends there.
    assert len(examined.exchanges) == 2
    assert examined.final is not None


@pytest.mark.parametrize("nth", range(4))
def test_a_lie_is_found_out_in_every_burst(nth: int) -> None:
    examined = judged(showing(lambda events: events[1:]), nth)
    assert examined.verdict is Verdict.FAIL
    assert len(examined.exchanges) == nth + 1


def test_a_divergence_has_its_place_in_the_burst() -> None:
    examined = judged(showing(lambda events: [*events[:3], event("signal a#1 turn=1 user"), *events[3:]]))
    assert examined.divergence is not None
    assert examined.divergence.position == 3
    owed = judged(showing(lambda events: events[:-1])).divergence
    assert owed is not None
    assert owed.position is None


def test_a_lie_that_only_another_order_before_it_explains_passes() -> None:
    """The fast path keeps one world; what comes later is judged once more from the start with the whole set."""
    trace = Trace(
        items=items("""
            create c a
            create d b
            settle
            hold setup k
            hold setup l
            create k c by=agent:c setup
            create l c by=agent:d setup
            settle
            open setup k
            open setup l
        """)
    )
    for schedule in range(12):
        examined = ModelBackend().converse(examine(trace.model_copy(update={"schedule": schedule}), EVERYTHING))
        assert examined.verdict is Verdict.PASS


def test_a_code_that_is_not_claimed_matches_every_code_and_a_claimed_one_must_be_told() -> None:
    def unspecified(events: list[Event]) -> list[Event]:
        return [
            Settled(one.call, Raised(Code("unspecified"))) if isinstance(one, Settled) and one.call == "k" else one
            for one in events
        ]

    trace = Trace(items=items("create c a\nsettle\ncreate k a"))
    unclaimed = Unclaimed(codes=("id-exists",))
    view = view_of(Manifest(name="m", version="1", language="c", unclaimed=unclaimed))
    assert judged(showing(unspecified), trace=trace, view=view).verdict is Verdict.PASS
    claimed = judged(showing(unspecified), trace=trace).divergence
    assert claimed is not None
    assert (claimed.clause, claimed.reason, claimed.field) == ("CREATE-05", Reason.FIELD, "outcome")
    other = showing(lambda events: [event("settled k raised aborted")])
    found = judged(other, trace=trace).divergence
    assert found is not None
    assert (found.clause, found.reason) == ("CREATE-05", Reason.FIELD)


def test_a_backend_that_shows_no_registries_is_not_held_to_them() -> None:
    assert judged(lambda quiet: Quiet(events=quiet.events)).verdict is Verdict.PASS


def test_what_is_not_claimed_is_erased_from_both_sides() -> None:
    hidden = view_of(
        Manifest(name="m", version="1", language="c", unclaimed=Unclaimed(events=("agent/queued", "scope/cleanup")))
    )

    def without(events: list[Event]) -> list[Event]:
        return [one for one in events if one.event != "agent/queued"]

    assert judged(showing(without)).verdict is Verdict.FAIL
    examined = judged(showing(without), view=hidden)
    assert examined.verdict is Verdict.PASS
    assert examined.demanded["INBOX-01"] == 0
    assert examined.demanded["DISPOSE-08"] == 0


def test_unknown_names_are_counted_and_change_nothing() -> None:
    examined = judged(lambda quiet: quiet.model_copy(update={"unknown": ("agent/thinking", "agent/thinking", "x")}))
    assert examined.verdict is Verdict.PASS
    assert dict(examined.unknown) == {"agent/thinking": 2, "x": 1}


# Backends that break.


def broken(error: BackendBroke) -> Lie:
    def lie(quiet: Quiet) -> Reply:
        raise error

    return lie


def test_a_backend_that_breaks_is_broken_and_not_failed() -> None:
    examined = judged(broken(BackendBroke("it died", mend="look at its log")))
    assert examined.verdict is Verdict.BROKEN
    assert examined.reason == "it died\n  look at its log"
    assert examined.divergence is None
    assert examined.broke is not None


def test_a_backend_that_is_silent_is_inconclusive() -> None:
    examined = judged(broken(BackendSilent("it did not answer within 5 s")))
    assert examined.verdict is Verdict.INCONCLUSIVE
    assert examined.reason == "it did not answer within 5 s"
    assert examined.divergence is None


@pytest.mark.parametrize("reply", [Opened(), Closed()])
def test_a_burst_that_is_answered_by_something_else_is_broken(reply: Reply) -> None:
    examined = judged(lambda quiet: reply)
    assert examined.verdict is Verdict.BROKEN
    assert examined.reason.splitlines()[0] == f"a burst was answered by {reply.message!r}"


def test_more_worlds_than_the_bound_allows_are_inconclusive_with_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Worlds, "of", partial(Worlds.of, bound=2))
    backend = Liar(showing(lambda events: [*events, events[-1]]))
    agents = range(4)
    made = "\n".join(f"create c{n} a{n}\nhold model c{n}" for n in agents)
    trace = Trace(items=items(f"{made}\nsettle\n" + "\n".join(f"send c{n} T{n}" for n in agents)))
    examined = backend.converse(examine(trace, EVERYTHING))
    assert examined.verdict is Verdict.INCONCLUSIVE
    assert examined.reason == "one event leaves 3 worlds possible, and the bound is 2"
    assert isinstance(backend.seen[-1], Close)


def test_generated_traces_pass_on_the_model_in_any_order() -> None:
    for number in range(60):
        trace = generate(8, number).model_copy(update={"schedule": number})
        examined = ModelBackend().converse(examine(trace, EVERYTHING))
        assert examined.verdict is Verdict.PASS, (number, examined.divergence)
