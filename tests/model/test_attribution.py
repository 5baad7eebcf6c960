"""Decision 40: the first observation that no run explains is put down to one clause, in a fixed order."""

from __future__ import annotations

import pytest

from probate_model.alphabet.editions import EDITION_2026_06, EDITION_2026_08, Edition
from probate_model.alphabet.events import Snapshot
from probate_model.worlds import Divergence, Reason, Worlds
from tests.model.helpers import Play, burst, event, lines, turn
from tests.model.judging import judge

CREATED = ["session/created a#1", "agent/created a#1", "agent/session-start a#1 startup", "settled c returned a#1"]
DISPOSED = ["agent/status a#1 disposed", "agent/disposed a#1", "session/disposed a#1"]
SENT = ["agent/queued a#1 A", "settled A returned"]
RUNNING = [*SENT, "agent/status a#1 running"]
FIRST = turn(1, 0, "A", "c:1")
IN_MODEL = [*RUNNING, *FIRST[:3]]
CUT = lines("""
    agent/cancel-requested a#1 user
    signal a#1 turn=1 user
    settled cancel returned
    log a#1 3 step/end turn=1 step=1
    log a#1 4 turn/end turn=1 aborted
    session/flush a#1 upto=5
    agent/status a#1 idle
""")


def diverge(
    before: str, done: str, seen: list[str], at_rest: Snapshot | None = None, edition: Edition = EDITION_2026_06
) -> Divergence:
    """Give the divergence of what was seen of a burst."""
    play = Play("host", "side", edition=edition)
    if before:
        play.run(before)
    judged = judge(Worlds.of(play.world), burst(done), [event(one) for one in seen], at_rest)
    assert isinstance(judged, Divergence)
    return judged


# What was done before, what is done, what is seen, and what it must be put down to.
Case = tuple[str, str, list[str], str]

OWED: dict[str, Case] = {
    "a create that never settles": ("", "create c a", CREATED[:3], "CREATE-01"),
    "a dispose that never settles": ("create c a", "dispose c", DISPOSED, "DISPOSE-01"),
    "a waiter that a cancel forgets": (
        "create c a",
        "send c A\nidle c\ncancel c",
        [*SENT, "agent/cancel-requested a#1 user", "settled cancel returned"],
        "IDLE-02",
    ),
    "a waiter that disposal forgets": (
        "create c a\nsettle\nhold flush c\nsend c A\nidle c",
        "dispose c\nopen flush c",
        [*DISPOSED, "settled dispose returned"],
        "IDLE-04",
    ),
    "an unload that never settles": ("create c a", "unload host", DISPOSED, "OWNER-03"),
    "an unload of the provider that never settles": ("create c a", "unload provider", DISPOSED, "OWNER-05"),
    "a turn that never ends": ("create c a", "send c A", [*RUNNING, *FIRST[:5]], "TURN-07"),
    "a prompt that never runs": ("create c a", "send c A", SENT, "TURN-01"),
    "a failed creation that never settles": ("", "create c a pre-aborted", [], "CREATE-04"),
}

SILENCE: dict[str, Case] = {
    "an idle cancel that is announced": ("create c a", "cancel c", ["agent/cancel-requested a#1 user"], "CANCEL-02"),
    "a prompt that was cancelled and runs": (
        "create c a",
        "send c A\ncancel c",
        [*SENT, "agent/cancel-requested a#1 user", "settled cancel returned", "log a#1 0 user/message A"],
        "CANCEL-03",
    ),
    "steering of a cancelled turn that is logged": (
        "create c a\nsettle\nhold model c\nsend c A",
        "steer c S\ncancel c",
        ["agent/queued a#1 S steering", "settled S returned", *CUT[:3], "log a#1 3 user/message S"],
        "CANCEL-10",
    ),
    "a cancel in the closing flush that is announced": (
        "create c a\nsettle\nhold flush c\nsend c A",
        "cancel c",
        ["agent/cancel-requested a#1 user"],
        "CANCEL-08",
    ),
    "refused input that is announced": (
        "create c a\nsettle\ndispose c",
        "send c A",
        ["settled A raised disposed", "agent/queued a#1 A"],
        "INBOX-02",
    ),
    "invalid content that is announced": (
        "create c a",
        "send c !bad -> x",
        ["settled x raised invalid-content", "agent/queued a#1 !bad"],
        "INBOX-03",
    ),
    "a veto that speaks of the agent": (
        "",
        "react session/created do throw V\ncreate c a",
        ["session/created a#1", "session/disposed a#1", "agent/disposed a#1"],
        "PUBLISH-04",
    ),
    "a status of what was never published": (
        "",
        "react session/created do throw V\ncreate c a",
        ["session/created a#1", "session/disposed a#1", "agent/status a#1 disposed"],
        "PUBLISH-08",
    ),
    "an ended creation that is published, before another one of its id has begun": (
        "create c a",
        "react agent/disposed do create b\ncreate k b by=agent:c\ndispose c",
        ["agent/status a#1 disposed", "session/created b#1"],
        "CREATE-09",
    ),
    "an agent whose creation's signal fires too late": (
        "create c a signal",
        "abort c",
        ["settled abort returned", "agent/status a#1 disposed"],
        "CREATE-07",
    ),
}

FIELD: dict[str, Case] = {
    "a prompt out of order": ("create c a", "send c A", [*RUNNING, FIRST[0], "log a#1 1 user/message B"], "INBOX-06"),
    "a turn with a wrong number": (
        "create c a",
        "send c A",
        [*RUNNING, "log a#1 0 turn/start turn=2 trigger=message"],
        "TURN-02",
    ),
    "a record with a wrong number": (
        "create c a",
        "send c A",
        [*RUNNING, "log a#1 1 turn/start turn=1 trigger=message"],
        "TURN-13",
    ),
    "a cancelled turn that ends as completed": (
        "create c a\nsettle\nhold model c\nsend c A",
        "cancel c",
        [*CUT[:4], "log a#1 4 turn/end turn=1 completed"],
        "CANCEL-07",
    ),
    "a turn that disposal stopped and that ends as aborted": (
        "create c a\nsettle\nhold model c\nsend c A",
        "dispose c",
        [
            "signal a#1 turn=1 disposed",
            "agent/status a#1 disposed",
            "log a#1 3 step/end turn=1 step=1",
            "log a#1 4 turn/end turn=1 aborted",
        ],
        "DISPOSE-04",
    ),
    "another cause": (
        "create c a",
        "send c A\ncancel c parent",
        [*SENT, "agent/cancel-requested a#1 user"],
        "CANCEL-11",
    ),
    "a prompt that is said to be steering": ("create c a", "send c A", ["agent/queued a#1 A steering"], "INBOX-01"),
    "steering of an idle agent that is said to be so": (
        "create c a",
        "steer c A",
        ["agent/queued a#1 A steering"],
        "INBOX-04",
    ),
    "steering that is not said to be": (
        "create c a\nsettle\nhold model c\nsend c A",
        "steer c S",
        ["agent/queued a#1 S"],
        "INBOX-05",
    ),
    "a flush that leaves a record out": (
        "create c a",
        "send c A",
        [*RUNNING, *FIRST[:6], "session/flush a#1 upto=5"],
        "FLUSH-04",
    ),
    "another code": ("create c a", "create d a", ["settled d raised aborted"], "CREATE-05"),
    "a look that shows something else": (
        "create c a",
        "look",
        ["settled look returned agents= roots= sessions="],
        "REGISTRY-01",
    ),
}

EARLY: dict[str, Case] = {
    "a cancel that is not announced": (
        "create c a",
        "send c A\ncancel c",
        [*SENT, "settled cancel returned"],
        "CANCEL-01",
    ),
    "an agent detached before its turn is closed": (
        "create c a\nsettle\nhold model c\nsend c A",
        "dispose c",
        ["signal a#1 turn=1 disposed", "agent/status a#1 disposed", "agent/disposed a#1"],
        "DISPOSE-05",
    ),
    "a session detached before its agent": ("create c a", "dispose c", [DISPOSED[0], DISPOSED[2]], "DISPOSE-07"),
    "a dispose that returns before the scope has unwound": (
        "create c a cleanup",
        "hold cleanup c\ndispose c",
        [*DISPOSED, "scope/cleanup c", "settled dispose returned"],
        "DISPOSE-01",
    ),
    "a scope that unwinds before the entries are gone": (
        "create c a cleanup",
        "dispose c",
        [DISPOSED[0], "scope/cleanup c"],
        "DISPOSE-08",
    ),
    "an agent that is idle before its flush has ended": (
        "create c a",
        "hold flush c\nsend c A",
        [*RUNNING, *FIRST, "agent/status a#1 idle"],
        "FLUSH-03",
    ),
    "a waiter that returns before its turn": (
        "create c a",
        "send c A\nidle c",
        [*SENT, "settled idle returned"],
        "IDLE-02",
    ),
    "a waiter that returns at the flip of a status": (
        "create c a\nsettle\nhold flush c\nsend c A",
        "dispose c\nidle c",
        ["agent/status a#1 disposed", "settled idle returned"],
        "IDLE-04",
    ),
    "an unload that returns before the teardown": (
        "create c a",
        "unload host",
        ["agent/status a#1 disposed", "settled unload returned"],
        "OWNER-03",
    ),
    "a failure that is raised before the rollback": (
        "",
        "plan setup c throw\nhold cleanup c\ncreate c a setup cleanup",
        ["scope/cleanup c", "settled c raised thrown:setup"],
        "CREATE-13",
    ),
    "a synchronous call that settles before its event": ("create c a", "send c A", ["settled A returned"], "CALL-02"),
    "an agent that is published before its setup has returned": (
        "hold setup c",
        "create c a setup",
        ["session/created a#1"],
        "CREATE-01",
    ),
    "a turn that opens before running is announced": ("create c a", "send c A", [*SENT, FIRST[0]], "TURN-01"),
}

TWO = "create c a\nsettle\ncreate d b"

TORN: dict[str, Case] = {
    "an announcement between two of a publication": (
        "",
        "create c a\ncreate d b",
        ["session/created a#1", "session/created b#1"],
        "PUBLISH-02",
    ),
    "another agent's end between an agent's and its session's": (
        TWO,
        "dispose c\ndispose d",
        ["agent/status a#1 disposed", "agent/status b#1 disposed", "agent/disposed a#1", "agent/disposed b#1"],
        "DISPOSE-07",
    ),
}

DUE: dict[str, Case] = {
    "something else than the end": ("create c a", "dispose c", ["agent/error a#1 step=0 flush"], "DISPOSE-03"),
    "something else than the answer": (
        "create c a",
        "send c A",
        [*IN_MODEL, "agent/error a#1 step=1 model"],
        "TURN-05",
    ),
    "context outside of any turn": ("create c a", "inject c X", ["log a#1 0 context/message X"], "INJECT-02"),
    "something else than a first announcement": ("", "create c a", ["agent/error a#1 step=0 flush"], "PUBLISH-01"),
}


def check(case: Case, reason: Reason) -> Divergence:
    before, done, seen, clause = case
    found = diverge(before, done, seen)
    assert (found.reason, found.clause) == (reason, clause)
    return found


@pytest.mark.parametrize("name", OWED)
def test_what_is_owed_at_rest(name: str) -> None:
    assert check(OWED[name], Reason.OWED).seen is None


@pytest.mark.parametrize("name", SILENCE)
def test_a_silence_that_is_broken(name: str) -> None:
    check(SILENCE[name], Reason.SILENCE)


@pytest.mark.parametrize("name", FIELD)
def test_a_field_that_differs(name: str) -> None:
    assert check(FIELD[name], Reason.FIELD).field is not None


@pytest.mark.parametrize("name", EARLY)
def test_an_event_that_is_allowed_later(name: str) -> None:
    check(EARLY[name], Reason.EARLY)


@pytest.mark.parametrize("name", TORN)
def test_an_event_inside_a_stretch_of_another_activity(name: str) -> None:
    check(TORN[name], Reason.TORN)


@pytest.mark.parametrize("name", DUE)
def test_an_event_that_is_never_allowed_while_another_is_due(name: str) -> None:
    found = check(DUE[name], Reason.DUE)
    assert found.allowed


PARKED = "create c a\ncreate d b\nsettle\ninject c A\ninject d B"
ENDED = "create c a\nsettle\ndispose c"
LATE = lines("""
    agent/status a#1 running
    settled A returned
""")
RUNS = "send d B -> s"
RAN = lines("""
    log b#1 0 inbox/inserted next-turn B
    agent/status b#1 running
    log b#1 1 turn/start turn=1 trigger=message
    log b#1 2 inbox/claimed next-turn 1
    settled s returned
""")

TELLTALES: dict[str, Case] = {
    "an agent that an unload ends before one that is newer": (
        PARKED,
        "unload provider",
        ["log a#1 1 inbox/discarded next-step 1"],
        "OWNER-01",
    ),
    "the same while something else of the agent is due": (
        "create c a\ncreate d b\nsettle\nhold model c\nsend c A\nhold model d\nsend d B",
        "release model c text\nunload provider",
        ["signal a#1 turn=1 disposed"],
        "OWNER-01",
    ),
    "a creation that is not refused, where another is for its id": (
        "create c a",
        "create d a\ndispose c\ncreate e b by=agent:c",
        ["agent/disposed a#1", "session/disposed a#1", "session/created b#1"],
        "CREATE-02",
    ),
    "a creation that is not refused for its id": (
        "create c a\ncreate d b",
        "create e a\nunload side\ncreate f x by=side",
        ["session/created a#2"],
        "CREATE-05",
    ),
    "a turn that fails since its agent is gone": (
        ENDED,
        "send c A",
        [*LATE, "agent/error a#1 step=1 internal"],
        "DISPOSE-14",
    ),
    "the same while its model is to fail": (
        f"{ENDED}\nplan model c error",
        "send c A",
        [*LATE, "agent/error a#1 step=0 internal"],
        "DISPOSE-14",
    ),
    "an error of an agent of which nothing is due": (
        f"create d b\n{ENDED}\nhold model c",
        RUNS,
        [*RAN, "agent/error a#1 step=1 model"],
        "TURN-10",
    ),
    "an end of what is about to be returned, while something of another agent is due": (
        "create c a\nsettle\nhold model c\nsend c A",
        "release model c text\ncreate d b",
        ["session/created b#1", "agent/created b#1", "agent/session-start b#1 startup", "agent/disposed b#1"],
        "CREATE-01",
    ),
    "an end that was about to come, of an agent whose signal fired in vain": (
        "create c a signal\nsettle\ncreate d b by=agent:c",
        "abort c\nunload host",
        ["settled abort returned", "agent/disposed a#1"],
        "DISPOSE-05",
    ),
}


@pytest.mark.parametrize("name", TELLTALES)
def test_an_event_that_tells_its_cause_is_not_put_down_to_what_was_due(name: str) -> None:
    before, done, seen, clause = TELLTALES[name]
    assert diverge(before, done, seen, edition=EDITION_2026_08).clause == clause


EXTRAS = {
    "session/created a#2": "CREATE-14",
    "agent/created a#1": "PUBLISH-06",
    "agent/session-start a#1 startup": "PUBLISH-06",
    "agent/status a#1 disposed": "DISPOSE-03",
    "agent/queued a#1 X": "INBOX-01",
    "agent/cancel-requested a#1 user": "CANCEL-01",
    "agent/error a#1 step=0 flush": "TURN-10",
    "signal a#1 turn=1 user": "CANCEL-06",
    "log a#1 0 user/message X": "TURN-13",
    "session/flush a#1 upto=0": "FLUSH-01",
    "agent/disposed a#1": "DISPOSE-06",
    "session/disposed a#1": "DISPOSE-07",
    "scope/cleanup c": "DISPOSE-08",
    "settled c returned a#1": "CALL-01",
}


@pytest.mark.parametrize("seen", EXTRAS)
def test_an_event_when_nothing_is_due(seen: str) -> None:
    found = diverge("create c a", "hold model c", [seen])
    assert (found.reason, found.clause) == (Reason.EXTRA, EXTRAS[seen])
    assert found.allowed == ()


def test_registries_that_differ_at_rest() -> None:
    found = diverge("", "create c a", CREATED, Snapshot())
    assert (found.reason, found.clause) == (Reason.SNAPSHOT, "REGISTRY-02")
    assert found.seen == Snapshot()
    (allowed,) = found.allowed
    assert isinstance(allowed, Snapshot)
    assert allowed.roots == ("a#1",)


def test_what_is_owed_comes_before_registries_that_differ() -> None:
    found = diverge("", "create c a", CREATED[:3], Snapshot())
    assert (found.reason, found.clause) == (Reason.OWED, "CREATE-01")


def test_a_silence_comes_before_a_field_and_before_an_edge() -> None:
    """A refused prompt that is announced has an announcement of another prompt due: the silence wins."""
    found = diverge(
        "create c a", "send c !bad -> x\nsend c A", ["settled x raised invalid-content", "agent/queued a#1 !bad"]
    )
    assert (found.reason, found.clause) == (Reason.SILENCE, "INBOX-03")


def test_a_divergence_says_what_was_allowed_instead() -> None:
    found = diverge("create c a", "dispose c", ["agent/disposed a#1"])
    assert found.seen == event("agent/disposed a#1")
    assert found.allowed == (event("agent/status a#1 disposed"),)
