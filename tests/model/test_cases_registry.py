"""The numbered cases E of the contract: the registries, by their functions and through ops.

Bare registry entries are not part of the core alphabet (decision 2), so what only they can show is tested on the
functions of the model.
"""

from __future__ import annotations

from probate_model.alphabet.names import AgentId, Label, OwnerName
from probate_model.alphabet.ops import CreationSignal, Op, Setup
from probate_model.registry import detach, enter, holds_session, snapshot
from probate_model.run import Run
from probate_model.world import Agent, Origin, Stage, new_world
from tests.model.helpers import Play, line, lines, look_words, playing
from tests.model.test_cases_creation import NOTHING, created

HOST = Origin(OwnerName("host"), 0, None)


def no_op(run: Run, op: Op) -> bool:
    raise AssertionError("no reaction is installed")


def bare() -> Run:
    """Give a run in an empty world."""
    return Run(new_world(), no_op)


def entry(run: Run, label: str, name: str = "a", *, announced: bool = False, origin: Origin = HOST) -> Label:
    """Enter an agent, and give its label."""
    agent = Agent(Label(label), AgentId(name), origin, 0, Setup.NONE, False, CreationSignal.NONE, Stage.PUBLISHING)
    run.add(agent)
    run.update(
        agent.label,
        number=run.next_number(agent.id),
        session_announced=announced,
        agent_announced=announced,
    )
    enter(run, agent.label)
    return agent.label


def seen(run: Run) -> str:
    """Give what the registries hold."""
    return look_words(snapshot(run.world))


def told(run: Run) -> list[str]:
    """Give what the run has emitted."""
    return [line(expected.event) for expected in run.expected]


def test_e1_a_taken_id_is_refused_and_the_original_stays() -> None:
    run = bare()
    entry(run, "first")
    assert holds_session(run, AgentId("a"))
    assert not holds_session(run, AgentId("b"))
    play = playing()
    assert play.run("create d a") == ["settled d raised id-exists"]
    assert play.look == "agents=a#1:idle roots=a#1 sessions=a#1"


def test_e2_the_entry_goes_with_the_owner_and_its_end_is_told_once() -> None:
    play = playing()
    play.run("dispose c")
    assert play.run("unload host") == ["settled unload returned"]
    play = playing()
    assert play.run("unload host") == lines("""
        agent/status a#1 disposed
        agent/disposed a#1
        session/disposed a#1
        settled unload returned
    """)
    assert play.look == NOTHING


def test_e4_a_detach_removes_its_own_entry_only() -> None:
    run = bare()
    first = entry(run, "first", announced=True)
    detach(run, first)
    entry(run, "second", announced=True)
    before = len(run.expected)
    detach(run, first)
    assert seen(run) == "agents=a#2:idle roots=a#2 sessions=a#2"
    assert told(run)[before:] == []


def test_e4_the_old_handle_does_not_touch_the_replacement() -> None:
    play = playing()
    play.run("dispose c")
    assert play.run("create d a") == created(2, "d")
    assert play.run("""
        dispose c
        withdraw c
        cancel c
    """) == ["settled withdraw returned", "settled cancel returned", "settled dispose2 returned"]
    assert play.look == "agents=a#2:idle roots=a#2 sessions=a#2"


def test_e5_a_detach_from_inside_agent_created_is_deferred() -> None:
    assert Play().run("""
        react agent/created do withdraw this
        react agent/created do look
        create c a
    """) == lines("""
        session/created a#1
        agent/created a#1
        settled r1.0 returned
        settled r2.0 returned agents=a#1:idle roots=a#1 sessions=a#1
        agent/disposed a#1
        session/disposed a#1
        settled c raised lifecycle-disposed
    """)


def test_e6_the_detach_of_what_was_not_announced_is_silent() -> None:
    run = bare()
    label = entry(run, "first")
    assert seen(run) == "agents=a#1:idle roots=a#1 sessions=a#1"
    detach(run, label)
    assert seen(run) == NOTHING
    assert told(run) == []


def test_e6_the_agent_is_detached_before_its_session() -> None:
    run = bare()
    detach(run, entry(run, "first", announced=True))
    assert told(run) == ["agent/disposed a#1", "session/disposed a#1"]


def test_e8_a_child_is_no_root_and_is_owned_by_exactly_its_parent() -> None:
    run = bare()
    parent = entry(run, "parent")
    entry(run, "child", "b", origin=Origin(None, 0, parent))
    assert seen(run) == "agents=a#1:idle,b#1:idle:a#1 roots=a#1 sessions=a#1,b#1"


def test_e8_a_replacement_under_the_parents_id_owns_nothing() -> None:
    play = playing("""
        create p a
        settle
        create k b by=agent:p
        settle
        hold model k deaf
        send k B
    """)
    # The parent is detached; its scope waits for the child, whose model is deaf.
    assert play.run("dispose p") == lines("""
        agent/status a#1 disposed
        agent/disposed a#1
        session/disposed a#1
        signal b#1 turn=1 disposed
        agent/status b#1 disposed
    """)
    play.run("create q a")
    assert play.look == "agents=b#1:disposed:a#1,a#2:idle roots=a#2 sessions=b#1,a#2"


def test_e9_without_a_provider_nothing_is_created_and_its_place_is_free_again() -> None:
    play = Play(provider=False)
    assert play.run("create c a") == ["settled c raised provider-inactive"]
    assert play.run("load provider") == ["settled load returned"]
    assert play.run("create d a") == created(1, "d")
    play.run("unload provider")
    assert play.run("create e b") == ["settled e raised provider-inactive"]
    assert play.run("load provider") == ["settled load2 returned"]
    assert play.run("create f b") == created(1, "f", "b")


def test_entries_are_listed_in_order_of_entry() -> None:
    play = playing("""
        hold setup c
        create c a setup
        create d b
    """)
    play.run("release setup c ok")
    assert play.look == "agents=b#1:idle,a#1:idle roots=b#1,a#1 sessions=b#1,a#1"
