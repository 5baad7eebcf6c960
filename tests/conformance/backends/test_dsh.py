"""What the adapter shows of dsh. Whether dsh is right is for the kit to judge, so what it is known to get wrong is not
written down here as if it should be so.
"""

from __future__ import annotations

import pytest

from probate_conformance.backends.dsh import DshBackend
from probate_conformance.generation import Palette
from probate_conformance.lockstep import Examined, Verdict, examine
from probate_conformance.manifest import OP_NAMES
from probate_conformance.plan import Plan as Campaign
from probate_conformance.view import view_of
from probate_conformance.wire import Burst, Close, Open, Quiet
from probate_model.alphabet.events import EVENT_KINDS, Logged
from probate_model.alphabet.gates import ERROR, FAIL, OK, TEXT, THROW, GateKind, GateOutcome, Temper
from probate_model.alphabet.items import BurstItem, Hold, Plan, Reject, Throw, WorldSpec
from probate_model.alphabet.items import Open as OpenGate
from probate_model.alphabet.names import BAD_TEXT, THIS, Label, OwnerName, Tag
from probate_model.alphabet.ops import (
    Abort,
    AwaitIdle,
    ByAgent,
    Cause,
    CreationSignal,
    Dispose,
    LoadOwner,
    UnloadOwner,
    UnloadProvider,
)
from probate_model.clauses import CLAUSES
from tests.conformance.backends.children import note_of, talk
from tests.conformance.backends.shorthand import (
    HOST,
    SIDE,
    WORLD,
    abort,
    cancel,
    create,
    dispose,
    gate,
    gone,
    hold,
    inject,
    look,
    published,
    react,
    release,
    send,
    steer,
    told,
    withdraw,
)


def run(backend: DshBackend, *bursts: tuple[BurstItem, ...], world: WorldSpec = WORLD) -> list[list[str]]:
    """Run bursts in a fresh world, and tell the events of each."""
    _, *answers, _ = backend.converse(talk(Open(world=world), *(Burst(items=items) for items in bursts), Close()))
    told_of = []
    for answer in answers:
        assert isinstance(answer, Quiet), answer
        assert not answer.never
        told_of.append([told(event) for event in answer.events])
    return told_of


class TestManifest:
    def test_says_what_it_is(self, dsh: DshBackend) -> None:
        manifest = dsh.manifest
        assert (manifest.name, manifest.version, manifest.language) == ("dsh", "0.1.0-rc.8", "javascript")
        assert any("withdraw" in note.lower() for note in manifest.notes)

    def test_claims_all_of_the_core_but_flushes_and_a_second_provider(self, dsh: DshBackend) -> None:
        palette = Palette.of(dsh.manifest.unclaimed)
        assert set(GateKind) - palette.gates == {GateKind.FLUSH, GateKind.LOAD}
        assert set(OP_NAMES) - palette.ops == {"resume", "load_provider"}
        assert set(EVENT_KINDS) == palette.events


class TestCreate:
    def test_and_dispose(self, dsh: DshBackend) -> None:
        created, disposed = run(dsh, (create("c", cleanup=True),), (dispose("d1", "c"), dispose("d2", "c")))
        assert created == published("x#1", "c")
        assert sorted(disposed) == sorted(["cleanup c", *gone("x#1", "d1", "d2")])
        assert disposed[-2:] == ["d1 returned", "d2 returned"]

    def test_id_can_be_used_again(self, dsh: DshBackend) -> None:
        *_, again = run(dsh, (create("c"),), (dispose("d", "c"),), (create("e", by=SIDE),))
        assert again == published("x#2", "e")

    def test_race(self, dsh: DshBackend) -> None:
        (race,) = run(dsh, (create("c"), create("e", by=SIDE)))
        assert race == [*published("x#1", "c"), "e raised id-exists"]

    def test_taken_id(self, dsh: DshBackend) -> None:
        _, refused = run(dsh, (create("c"),), (create("e"),))
        assert refused == ["e raised id-exists"]

    def test_child(self, dsh: DshBackend) -> None:
        _, child, looked, ended = run(
            dsh,
            (create("c"),),
            (create("k", "kid", ByAgent(Label("c"))),),
            (look("l"),),
            (dispose("d", "c"),),
        )
        assert child == published("kid#1", "k")
        assert looked == ["l returned agents x#1, kid#1 of x#1; roots x#1; sessions x#1, kid#1"]
        assert set(ended) == {*gone("x#1", "d"), *gone("kid#1")}

    def test_unbound_child_is_void(self, dsh: DshBackend) -> None:
        (void,) = run(dsh, (create("k", "kid", ByAgent(Label("c"))), look("l")))
        assert void == ["l returned agents -; roots -; sessions -"]

    def test_no_provider(self, dsh: DshBackend) -> None:
        (refused,) = run(dsh, (create("c"),), world=WorldSpec((HOST,), provider=False))
        assert refused == ["c raised provider-inactive"]


class TestSignal:
    ARMED = CreationSignal.ARMED

    def test_pending(self, dsh: DshBackend) -> None:
        held, aborted = run(
            dsh,
            (create("c", setup=True, cleanup=True, signal=self.ARMED), hold("setup", "c")),
            (abort("a", "c"),),
        )
        assert held == []
        assert aborted == ["a returned", "cleanup c", "c raised aborted"]

    def test_returned(self, dsh: DshBackend) -> None:
        *_, aborted = run(dsh, (create("c", signal=self.ARMED),), (abort("a", "c"), look("l")))
        assert aborted == ["a returned", "l returned agents x#1; roots x#1; sessions x#1"]

    def test_pre_aborted(self, dsh: DshBackend) -> None:
        (refused,) = run(dsh, (create("c", cleanup=True, signal=CreationSignal.PRE_ABORTED),))
        assert refused == ["c raised aborted"]

    def test_none_is_void(self, dsh: DshBackend) -> None:
        *_, aborted = run(dsh, (create("c"),), (abort("a", "c"),))
        assert aborted == []


class TestGates:
    def test_setup_is_held_by_a_hold_that_comes_later_in_the_burst(self, dsh: DshBackend) -> None:
        held, released = run(dsh, (create("c", setup=True), hold("setup", "c")), (release("setup", "c"),))
        assert held == []
        assert released == published("x#1", "c")

    def test_open_ends_the_hold(self, dsh: DshBackend) -> None:
        _, opened, disposed = run(
            dsh,
            (hold("setup", "c"), hold("cleanup", "c"), create("c", setup=True, cleanup=True)),
            (OpenGate(gate("setup", "c")), OpenGate(gate("cleanup", "c"))),
            (dispose("d", "c"),),
        )
        assert opened == published("x#1", "c")
        assert "d returned" in disposed

    def test_setup_throws(self, dsh: DshBackend) -> None:
        planned, held, released = run(
            dsh,
            (Plan(gate("setup", "c"), (THROW,)), create("c", setup=True, cleanup=True)),
            (create("e", setup=True), hold("setup", "e")),
            (release("setup", "e", THROW), release("setup", "e", OK)),
        )
        assert planned == ["cleanup c", "c raised thrown:setup"]
        assert held == []
        assert released == ["e raised thrown:setup"]

    def test_cleanup(self, dsh: DshBackend) -> None:
        _, held, released = run(
            dsh,
            (create("c", cleanup=True), hold("cleanup", "c")),
            (dispose("d", "c"),),
            (release("cleanup", "c", FAIL),),
        )
        assert "cleanup c" in held
        assert "d returned" not in held
        assert released[-1] == "d returned"


class TestReactions:
    def test_veto(self, dsh: DshBackend) -> None:
        vetoed, again = run(
            dsh,
            (
                react("r", "agent/created", look("r.0"), Throw(Tag("no"))),
                react("s", "agent/created", look("s.0")),
                create("c"),
            ),
            (create("e"),),
        )
        seen = "agents x#1; roots x#1; sessions x#1"
        assert vetoed == [
            "session/created x#1", "agent/created x#1", f"r.0 returned {seen}", *gone("x#1"), "c raised thrown:no",
        ]  # fmt: skip
        assert again[:3] == ["session/created x#2", "agent/created x#2", f"s.0 returned {seen.replace('#1', '#2')}"]

    @pytest.mark.parametrize("event", ["session/created", "agent/created", "agent/session-start"])
    def test_rejection_is_no_veto(self, event: str, dsh: DshBackend) -> None:
        (created,) = run(dsh, (react("r", event, Reject(Tag("late"))), create("c")))
        assert created == published("x#1", "c")

    def test_rejection_and_throw(self, dsh: DshBackend) -> None:
        (vetoed,) = run(dsh, (react("r", "session/created", Reject(Tag("late")), Throw(Tag("no"))), create("c")))
        assert vetoed == ["session/created x#1", "session/disposed x#1", "c raised thrown:no"]

    def test_contained(self, dsh: DshBackend) -> None:
        *_, disposed = run(
            dsh,
            (create("c"),),
            (
                react("r", "agent/disposed", Throw(Tag("no"))),
                react("s", "agent/disposed", look("s.0"), Reject(Tag("late"))),
                dispose("d", "c"),
            ),
        )
        assert disposed == [
            "agent/disposed x#1",
            "s.0 returned agents -; roots -; sessions x#1",
            "session/disposed x#1",
            "d returned",
        ]

    def test_once_at_the_nth_match_in_order_of_installation(self, dsh: DshBackend) -> None:
        (seen,) = run(
            dsh,
            (
                react("r", "session/created", look("r.0"), nth=2),
                react("s", "session/created", look("s.0"), agent="y#1"),
                *(create(f"c{agent_id}", agent_id) for agent_id in "xyz"),
            ),
        )
        y = seen.index("session/created y#1")
        assert [line.split()[0] for line in seen[y + 1 : y + 3]] == ["r.0", "s.0"]
        assert sum(line.startswith(("r.0", "s.0")) for line in seen) == 2

    def test_this_names_the_creation(self, dsh: DshBackend) -> None:
        armed = CreationSignal.ARMED
        (aborted,) = run(
            dsh, (react("r", "agent/created", Abort(Label("r.0"), THIS)), create("c", signal=armed), create("e", "y"))
        )
        assert aborted[:3] == ["session/created x#1", "agent/created x#1", "r.0 returned"]
        assert {"c raised aborted", *published("y#1", "e")} <= set(aborted)

    def test_this_has_no_handle_before_its_call_returned(self, dsh: DshBackend) -> None:
        created, disposed = run(
            dsh,
            (react("r", "agent/session-start", Dispose(Label("r.0"), THIS), dispose("r.1", "c")), create("c")),
            (react("s", "session/disposed", Dispose(Label("s.0"), THIS)), dispose("d", "c")),
        )
        assert created == published("x#1", "c")
        assert sorted(disposed) == sorted(gone("x#1", "d", "s.0"))

    def test_refused_creation_can_not_be_named(self, dsh: DshBackend) -> None:
        *_, seen = run(
            dsh,
            (create("c"),),
            (
                create("e", cleanup=True),
                react("r", "agent/disposed", withdraw("r.0", "e"), withdraw("r.1", "c")),
                dispose("d", "c"),
            ),
        )
        assert {"e raised id-exists", "r.1 returned", "d returned"} <= set(seen)
        assert "r.0 returned" not in seen

    def test_ops_of_a_listener_are_begun_inside_its_dispatch(self, dsh: DshBackend) -> None:
        *_, seen = run(
            dsh,
            (create("c"),),
            (react("r", "agent/disposed", create("r.0"), look("r.1")), dispose("d", "c")),
        )
        assert seen[:2] == ["agent/disposed x#1", "r.1 returned agents -; roots -; sessions x#1"]
        assert "r.0 raised id-exists" in seen


class TestWithdraw:
    def test_pending(self, dsh: DshBackend) -> None:
        *_, withdrawn, again = run(
            dsh,
            (create("c", setup=True, cleanup=True), hold("setup", "c")),
            (withdraw("v", "c"),),
            (withdraw("v2", "c"),),
        )
        assert withdrawn == ["v returned", "cleanup c", "c raised lifecycle-disposed"]
        assert again == ["v2 returned"]

    def test_joined_by_dispose(self, dsh: DshBackend) -> None:
        *_, held, released = run(
            dsh,
            (create("c", cleanup=True), hold("cleanup", "c")),
            (withdraw("v", "c"), dispose("d", "c")),
            (release("cleanup", "c"),),
        )
        assert held[0] == "v returned"
        assert "d returned" not in held
        assert released[-1] == "d returned"


class TestTurns:
    def turn(self, dsh: DshBackend, *bursts: tuple[BurstItem, ...]) -> list[list[str]]:
        """Run bursts on one agent, and tell the events of each."""
        return run(dsh, (create("c"),), *bursts)[1:]

    def test_one(self, dsh: DshBackend) -> None:
        (turn,) = self.turn(dsh, (send("s", "c", "hi"),))
        assert turn == [
            "inbox/inserted next-turn hi",
            "running",
            "turn/start 1 message",
            "inbox/claimed next-turn 1",
            "s returned",
            "step/start 1 1",
            "user/message hi",
            "assistant/message c:1",
            "step/end 1 1",
            "turn/end 1 completed",
            "idle",
        ]

    def test_tools_run_in_order(self, dsh: DshBackend) -> None:
        planned = Plan(gate("model", "c"), (GateOutcome("tools:2"),)), Plan(gate("tool", "c"), (OK, ERROR))
        (turn,) = self.turn(dsh, (*planned, send("s", "c", "hi")))
        assert turn[turn.index("assistant/message c:1") :] == [
            "assistant/message c:1",
            "tool/call 1",
            "tool/result 1 ok",
            "tool/call 2",
            "tool/result 2 error",
            "step/end 1 1",
            "step/start 1 2",
            "assistant/message c:2",
            "step/end 1 2",
            "turn/end 1 completed",
            "idle",
        ]

    @pytest.mark.parametrize(
        ("outcome", "ends"),
        [
            ("max-tokens", ["assistant/message c:1", "step/end 1 1", "turn/end 1 max-tokens", "idle"]),
            ("max-tokens+tools:2", ["assistant/message c:1", "step/end 1 1", "turn/end 1 max-tokens", "idle"]),
            ("error", ["user/message hi", "step/end 1 1", "error 1 model", "turn/end 1 error", "idle"]),
        ],
    )
    def test_model(self, outcome: str, ends: list[str], dsh: DshBackend) -> None:
        (turn,) = self.turn(dsh, (Plan(gate("model", "c"), (GateOutcome(outcome),)), send("s", "c", "hi")))
        assert turn[-len(ends) :] == ends

    def test_prepare_throws(self, dsh: DshBackend) -> None:
        (turn,) = self.turn(dsh, (Plan(gate("prepare", "c"), (THROW,)), send("s", "c", "hi")))
        assert turn[-3:] == ["error 0 internal", "turn/end 1 error", "idle"]

    @pytest.mark.parametrize("kind", ["model", "tool"])
    def test_body_that_honours_its_signal_ends_by_itself(self, kind: str, dsh: DshBackend) -> None:
        tools = Plan(gate("model", "c"), (GateOutcome("tools:1" if kind == "tool" else "text"),))
        held, cancelled = self.turn(dsh, (tools, hold(kind, "c"), send("s", "c", "hi")), (cancel("k", "c"),))
        assert held[-1] == ("tool/call 1" if kind == "tool" else "user/message hi")
        assert cancelled[:2] == ["signal 1 user", "k returned"]
        assert cancelled[-3:] == ["step/end 1 1", "turn/end 1 aborted user", "idle"]

    @pytest.mark.parametrize("kind", ["model", "tool"])
    def test_deaf_body_goes_on_until_it_is_released(self, kind: str, dsh: DshBackend) -> None:
        tools = Plan(gate("model", "c"), (GateOutcome("tools:1" if kind == "tool" else "text"),))
        _, cancelled, released = self.turn(
            dsh,
            (tools, Hold(gate(kind, "c"), Temper.DEAF), send("s", "c", "hi")),
            (cancel("k", "c", Cause.PARENT),),
            (release(kind, "c", OK if kind == "tool" else TEXT),),
        )
        assert cancelled == ["signal 1 parent", "k returned"]
        assert released[-3:] == ["step/end 1 1", "turn/end 1 aborted parent", "idle"]

    def test_signal_names_the_turn_of_an_agent_whose_log_is_heard_no_more(self, dsh: DshBackend) -> None:
        held = (hold("model", "c"), send("s", "c", "hi"))
        *_, cancelled = run(dsh, (create("c"),), (dispose("d", "c"),), held, (cancel("k", "c"),))
        assert cancelled[0].endswith("1 user")

    def test_signal_is_heard_by_reactions(self, dsh: DshBackend) -> None:
        _, cancelled = self.turn(
            dsh,
            (hold("model", "c"), send("s", "c", "hi"), react("r", "signal", look("r.0"), Throw(Tag("no")))),
            (react("q", "signal", look("q.0"), Reject(Tag("no")), cause="user"), cancel("k", "c")),
        )
        assert [line.split()[0] for line in cancelled[:4]] == ["signal", "r.0", "q.0", "k"]

    def test_steering_and_context_wait_for_the_next_step(self, dsh: DshBackend) -> None:
        held, said, released = self.turn(
            dsh,
            (hold("model", "c"), send("s", "c", "hi")),
            (steer("t", "c", "left"), inject("i", "c", "sunny")),
            (release("model", "c", TEXT),),
        )
        assert held[-1] == "user/message hi"
        assert said == ["inbox/inserted next-step left", "t returned", "inbox/inserted next-step sunny", "i returned"]
        assert {"step/start 1 2", "user/message left", "user/message sunny"} <= set(released)

    def test_context_wakes_nobody(self, dsh: DshBackend) -> None:
        injected, idle = self.turn(dsh, (inject("i", "c", "sunny"),), (AwaitIdle(Label("w"), Label("c")),))
        assert injected == ["inbox/inserted next-step sunny", "i returned"]
        assert idle == ["w returned"]

    def test_content_that_can_not_be_kept(self, dsh: DshBackend) -> None:
        (refused,) = self.turn(dsh, (send("s", "c", BAD_TEXT),))
        assert refused == ["s raised invalid-content"]

    def test_input_from_inside_of_an_append(self, dsh: DshBackend) -> None:
        (turn,) = self.turn(
            dsh, (react("r", "log", inject("r.0", "c", "late"), record="turn/start"), send("s", "c", "hi"))
        )
        assert turn[2:4] == ["turn/start 1 message", "r.0 raised reentrant"]

    def test_waiter(self, dsh: DshBackend) -> None:
        waiter = AwaitIdle(Label("w"), Label("c"))
        held, released = self.turn(
            dsh, (hold("model", "c"), send("s", "c", "hi"), waiter), (release("model", "c", TEXT),)
        )
        assert "w returned" not in held
        assert released[-2:] == ["idle", "w returned"]

    def test_records_have_numbers_without_a_gap(self, dsh: DshBackend) -> None:
        bursts = Burst(items=(create("c"),)), Burst(items=(send("s", "c", "hi"), send("t", "c", "ho")))
        _, _, quiet, _ = dsh.converse(talk(Open(world=WORLD), *bursts, Close()))
        assert isinstance(quiet, Quiet)
        numbers = [event.seq for event in quiet.events if isinstance(event, Logged)]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) > 10


class TestOwners:
    def test_unload_is_joined(self, dsh: DshBackend) -> None:
        unload = [UnloadOwner(Label(f"u{number}"), HOST) for number in range(4)]
        _, held, released, after = run(
            dsh,
            (create("c", cleanup=True), hold("cleanup", "c"), create("e", "y", SIDE)),
            (unload[0], unload[1], create("r", "z")),
            (unload[2], release("cleanup", "c")),
            (unload[3], look("l")),
        )
        assert not any(line.startswith("u") for line in held)
        assert "r raised owner-inactive" in held
        assert sorted(line for line in released if line.startswith("u")) == [f"u{n} returned" for n in range(3)]
        assert sorted(after) == ["l returned agents y#1; roots y#1; sessions y#1", "u3 returned"]

    def test_newest_first(self, dsh: DshBackend) -> None:
        _, ended = run(dsh, (create("c", "x"), create("e", "y")), (UnloadOwner(Label("u"), HOST),))
        assert ended == [*gone("y#1"), *gone("x#1"), "u returned"]

    def test_new_incarnation_in_one_burst(self, dsh: DshBackend) -> None:
        (seen,) = run(dsh, (UnloadOwner(Label("u"), HOST), LoadOwner(Label("l"), HOST), create("c")))
        assert seen[0] == "l returned"
        assert {"u returned", *published("x#1", "c")} <= set(seen)

    def test_load_of_what_is_active_is_void(self, dsh: DshBackend) -> None:
        (seen,) = run(dsh, (LoadOwner(Label("l"), HOST), LoadOwner(Label("n"), OwnerName("?"))))
        assert seen == []

    def test_pending_creation_ends_with_its_owner(self, dsh: DshBackend) -> None:
        _, ended = run(
            dsh,
            (create("c", setup=True, cleanup=True), hold("setup", "c")),
            (UnloadOwner(Label("u"), HOST),),
        )
        assert sorted(ended) == ["c raised owner-disposed", "cleanup c", "u returned"]


class TestProvider:
    UNLOAD = UnloadProvider(Label("u"))

    def test_unload(self, dsh: DshBackend) -> None:
        _, ended, refused = run(
            dsh,
            (create("c", "x"), create("e", "y", SIDE)),
            (self.UNLOAD, UnloadProvider(Label("u2"))),
            (create("r"),),
        )
        assert set(ended) == {*gone("x#1"), *gone("y#1"), "u returned", "u2 returned"}
        assert refused == ["r raised provider-inactive"]

    def test_unknown_names_are_kept_once(self, dsh: DshBackend) -> None:
        _, quiet, calm, _ = dsh.converse(talk(Open(world=WORLD), Burst(items=(self.UNLOAD,)), Burst(items=()), Close()))
        assert note_of(quiet) == "system-prompt/change"
        assert isinstance(calm, Quiet)
        assert calm.unknown == ()

    def test_a_rejection_that_is_left_to_the_process_is_kept_by_name(self, dsh: DshBackend) -> None:
        """An agent that is gone starts again without the services that it needs, and nobody waits for that."""
        bursts = (
            (create("c"),),
            (dispose("d", "c"),),
            (Hold(gate("prepare", "c"), Temper.DEAF), send("s", "c", "hi")),
            (self.UNLOAD,),
            (cancel("k", "c"), steer("t", "c", "on")),
            (release("prepare", "c"),),
        )
        answers = dsh.converse(talk(Open(world=WORLD), *(Burst(items=items) for items in bursts), Close()))
        assert "unhandledRejection" in [
            name for answer in answers if isinstance(answer, Quiet) for name in answer.unknown
        ]


class TestCampaign:
    """A fixed small part of what `make reports` runs, by the edition that dsh follows."""

    PLAN = Campaign(seed=11, cases=25, edition="2026-08")

    def examined(self, dsh: DshBackend, number: int) -> Examined:
        return dsh.converse(examine(self.PLAN.trace(number, dsh.manifest), view_of(dsh.manifest)))

    def test_same_trace_same_answers_and_each_is_explained(self, dsh: DshBackend) -> None:
        passed = 0
        for number in range(self.PLAN.cases):
            examined = self.examined(dsh, number)
            assert examined.verdict in (Verdict.PASS, Verdict.FAIL), examined.reason
            assert examined.divergence is None or examined.divergence.clause in CLAUSES
            assert examined.exchanges == self.examined(dsh, number).exchanges
            passed += examined.verdict is Verdict.PASS
        assert passed > 10
