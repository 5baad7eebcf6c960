"""The numbered cases B of the contract: turns, steps, flushes, and waiting until idle."""

from __future__ import annotations

import pytest

from probate_model.alphabet.editions import EDITION_2026_08
from tests.model.helpers import Play, lines, playing, turn
from tests.model.test_cases_cancel import IDLE, IN_MODEL, RUNNING, in_model

ENDED = ["agent/disposed a#1", "session/disposed a#1"]


def sent(text: str) -> list[str]:
    """Give the lines of a prompt that is accepted."""
    return [f"agent/queued a#1 {text}", f"settled {text} returned"]


def in_tool(count: int, temper: str = "honours") -> Play:
    """Give a play in which the prompt A waits in the first of several tools."""
    play = playing()
    assert play.run(f"""
        plan model c tools:{count}
        hold tool c {temper}
        send c A
    """) == [*lines(IN_MODEL), "log a#1 3 assistant/message c:1", "log a#1 4 tool/call n=1"]
    return play


def test_b1_three_prompts_are_three_turns_without_a_flicker() -> None:
    assert playing().run("""
        send c A
        send c B
        send c C
    """) == [
        *sent("A"),
        *sent("B"),
        *sent("C"),
        RUNNING,
        *turn(1, 0, "A", "c:1"),
        *turn(2, 6, "B", "c:2"),
        *turn(3, 12, "C", "c:3"),
        IDLE,
    ]


def test_b3_steering_in_a_tool_forces_another_step_of_the_same_turn() -> None:
    assert in_tool(1).run("""
        steer c S
        release tool c ok
    """) == lines("""
        agent/queued a#1 S steering
        settled S returned
        log a#1 5 tool/result n=1 ok
        log a#1 6 user/message S
        log a#1 7 step/end turn=1 step=1
        log a#1 8 step/start turn=1 step=2
        log a#1 9 assistant/message c:2
        log a#1 10 step/end turn=1 step=2
        log a#1 11 turn/end turn=1 completed
        session/flush a#1 upto=12
        agent/status a#1 idle
    """)


def test_b4_steering_at_step_end_overrides_the_stop() -> None:
    assert playing().run("""
        react log record=step/end do steer this S
        send c A
    """) == [
        *lines(IN_MODEL),
        *lines("""
            log a#1 3 assistant/message c:1
            log a#1 4 step/end turn=1 step=1
            agent/queued a#1 S steering
            settled r1.0 returned
            log a#1 5 user/message S
            log a#1 6 step/start turn=1 step=2
            log a#1 7 assistant/message c:2
            log a#1 8 step/end turn=1 step=2
            log a#1 9 turn/end turn=1 completed
            session/flush a#1 upto=10
            agent/status a#1 idle
        """),
    ]


def test_b5_steering_at_turn_end_becomes_the_next_prompt() -> None:
    first = turn(1, 0, "A", "c:1")
    assert playing().run("""
        react log record=turn/end do steer this S
        send c A
    """) == [
        *sent("A"),
        RUNNING,
        *first[:-1],
        "agent/queued a#1 S steering",
        "settled r1.0 returned",
        first[-1],
        *turn(2, 6, "S", "c:2"),
        IDLE,
    ]


def test_b5_steering_in_the_flush_becomes_the_next_prompt() -> None:
    play = playing()
    play.run("""
        hold flush c
        send c A
    """)
    assert play.run("steer c S") == ["agent/queued a#1 S steering", "settled S returned"]
    assert play.run("open flush c") == [*turn(2, 6, "S", "c:2"), IDLE]


def test_b7_steering_of_a_failing_step_is_delivered_as_a_turn() -> None:
    assert in_model().run("""
        steer c S
        release model c error
        open model c
    """) == [
        *lines("""
            agent/queued a#1 S steering
            settled S returned
            log a#1 3 step/end turn=1 step=1
            agent/error a#1 step=1 model
            log a#1 4 turn/end turn=1 error
            session/flush a#1 upto=5
        """),
        *turn(2, 5, "S", "c:2"),
        IDLE,
    ]


def test_b11_tool_calls_of_an_answer_without_tokens_are_not_dispatched() -> None:
    assert playing().run("""
        plan model c max-tokens+tools:1
        send c A
    """) == [
        *lines(IN_MODEL),
        *lines("""
            log a#1 3 assistant/message c:1
            log a#1 4 step/end turn=1 step=1
            log a#1 5 turn/end turn=1 max-tokens
            session/flush a#1 upto=6
            agent/status a#1 idle
        """),
    ]


def test_b12_a_failing_flush_is_reported_and_the_next_turn_waits_for_it() -> None:
    play = playing()
    assert play.run("""
        hold flush c
        send c A
        send c B
    """) == [*sent("A"), *sent("B"), RUNNING, *turn(1, 0, "A", "c:1")]
    assert play.run("""
        release flush c fail
        open flush c
    """) == ["agent/error a#1 step=0 flush", *turn(2, 6, "B", "c:2"), IDLE]


def test_b13_the_agent_runs_while_its_closing_flush_is_pending() -> None:
    play = playing()
    play.run("""
        hold flush c
        send c A
        send c B
    """)
    assert play.run("look") == ["settled look returned agents=a#1:running roots=a#1 sessions=a#1"]
    assert play.run("open flush c") == [*turn(2, 6, "B", "c:2"), IDLE]


@pytest.mark.parametrize(
    ("end", "settled"), [("dispose c", "dispose"), ("unload host", "unload"), ("unload provider", "unload")]
)
def test_b15_a_waiter_resolves_only_after_the_driver_has_exited(end: str, settled: str) -> None:
    play = in_model()
    assert play.run("idle c") == []
    assert play.run(f"""
        hold flush c
        {end}
    """) == lines("""
        signal a#1 turn=1 disposed
        agent/status a#1 disposed
        log a#1 3 step/end turn=1 step=1
        log a#1 4 turn/end turn=1 disposed
        session/flush a#1 upto=5
    """)
    assert play.run("idle c") == []
    seen = play.run("release flush c ok")
    assert sorted(seen) == sorted(
        [*ENDED, "settled idle returned", "settled idle2 returned", f"settled {settled} returned"]
    )
    assert seen.index("agent/disposed a#1") < seen.index("session/disposed a#1")
    assert seen[-1] == f"settled {settled} returned"


def test_b15_after_the_end_a_waiter_resolves() -> None:
    play = playing()
    play.run("dispose c")
    assert play.run("idle c") == ["settled idle returned"]


def test_b16_waiting_in_the_window_before_the_claim_waits_for_the_turn() -> None:
    play = playing()
    assert play("send c A") == sent("A")
    assert play.look == "agents=a#1:idle roots=a#1 sessions=a#1"
    assert play.run("idle c") == [RUNNING, *turn(1, 0, "A", "c:1"), IDLE, "settled idle returned"]


@pytest.mark.parametrize("record", ["turn/start", "step/start", "step/end", "turn/end"])
@pytest.mark.parametrize("failure", ["throw", "reject"])
def test_b17_a_failing_observer_of_a_record_changes_nothing(record: str, failure: str) -> None:
    assert playing().run(f"""
        react log record={record} do {failure} V
        send c A
    """) == [*sent("A"), RUNNING, *turn(1, 0, "A", "c:1"), IDLE]


def test_b21_a_failing_observer_of_an_error_changes_nothing() -> None:
    assert playing().run("""
        plan model c error
        react agent/error do throw V
        send c A
        send c B
    """) == [
        *sent("A"),
        *sent("B"),
        RUNNING,
        *lines("""
            log a#1 0 turn/start turn=1 trigger=message
            log a#1 1 user/message A
            log a#1 2 step/start turn=1 step=1
            log a#1 3 step/end turn=1 step=1
            agent/error a#1 step=1 model
            log a#1 4 turn/end turn=1 error
            session/flush a#1 upto=5
        """),
        *turn(2, 5, "B", "c:2"),
        IDLE,
    ]


@pytest.mark.parametrize("temper", ["honours", "deaf"])
def test_b23_a_cancel_before_the_step_leaves_a_turn_with_no_step(temper: str) -> None:
    play = playing()
    assert (
        play.run(f"""
        hold prepare c {temper}
        send c A
    """)
        == lines(IN_MODEL)[:-1]
    )
    assert play.run("""
        cancel c
        release prepare c ok
    """) == lines("""
        agent/cancel-requested a#1 user
        settled cancel returned
        log a#1 2 turn/end turn=1 aborted
        session/flush a#1 upto=3
        agent/status a#1 idle
    """)
    assert play.world.agents[0].answers == 0


def test_b23_a_disposal_before_the_step_leaves_a_turn_with_no_step() -> None:
    play = playing()
    play.run("""
        hold prepare c
        send c A
    """)
    assert play.run("dispose c") == lines("""
        agent/status a#1 disposed
        log a#1 2 turn/end turn=1 disposed
        session/flush a#1 upto=3
        agent/disposed a#1
        session/disposed a#1
        settled dispose returned
    """)
    assert play.world.agents[0].answers == 0


def test_b27_a_failing_flush_of_an_idle_injection_is_reported() -> None:
    assert playing().run("""
        plan flush c fail
        inject c X
    """) == lines("""
        log a#1 0 turn/start turn=1 trigger=injection
        log a#1 1 context/message X
        log a#1 2 turn/end turn=1 completed
        session/flush a#1 upto=3
        settled X returned
        agent/error a#1 step=0 flush
    """)


def test_b28_a_teardown_waits_for_the_flush_of_an_idle_injection() -> None:
    play = playing()
    play.run("""
        hold flush c
        inject c X
    """)
    assert play.run("dispose c") == ["agent/status a#1 disposed"]
    assert play.run("look") == ["settled look returned agents=a#1:disposed roots=a#1 sessions=a#1"]
    assert play.run("release flush c ok") == [*ENDED, "settled dispose returned"]


@pytest.mark.parametrize("temper", ["honours", "deaf"])
def test_b31_a_cancel_in_a_batch_of_tools_gives_every_call_a_result(temper: str) -> None:
    play = in_tool(3, temper)
    assert play.run("release tool c ok") == ["log a#1 5 tool/result n=1 ok", "log a#1 6 tool/call n=2"]
    begun = lines("""
        agent/cancel-requested a#1 user
        signal a#1 turn=1 user
        settled cancel returned
    """)
    rest = lines("""
        log a#1 7 tool/result n=2 aborted
        log a#1 8 tool/call n=3
        log a#1 9 tool/result n=3 aborted
        log a#1 10 step/end turn=1 step=1
        log a#1 11 turn/end turn=1 aborted
        session/flush a#1 upto=12
        agent/status a#1 idle
    """)
    if temper == "honours":
        assert play.run("cancel c") == begun + rest
    else:
        assert play.run("cancel c") == begun
        assert play.run("release tool c ok") == rest


# What the rules say beside the numbered cases.


def test_a_tool_error_is_a_result_and_no_error_of_the_turn() -> None:
    """Decision 19."""
    assert in_tool(2).run("""
        release tool c error
        open tool c
    """) == lines("""
        log a#1 5 tool/result n=1 error
        log a#1 6 tool/call n=2
        log a#1 7 tool/result n=2 ok
        log a#1 8 step/end turn=1 step=1
        log a#1 9 step/start turn=1 step=2
        log a#1 10 assistant/message c:2
        log a#1 11 step/end turn=1 step=2
        log a#1 12 turn/end turn=1 completed
        session/flush a#1 upto=13
        agent/status a#1 idle
    """)


def test_context_injected_in_a_batch_of_tools_waits_for_its_results() -> None:
    play = in_tool(2)
    assert play.run("inject c X") == ["settled X returned"]
    assert play.run("open tool c") == lines("""
        log a#1 5 tool/result n=1 ok
        log a#1 6 tool/call n=2
        log a#1 7 tool/result n=2 ok
        log a#1 8 context/message X
        log a#1 9 step/end turn=1 step=1
        log a#1 10 step/start turn=1 step=2
        log a#1 11 assistant/message c:2
        log a#1 12 step/end turn=1 step=2
        log a#1 13 turn/end turn=1 completed
        session/flush a#1 upto=14
        agent/status a#1 idle
    """)


def test_context_injected_in_a_batch_that_is_cut_waits_for_its_results() -> None:
    play = in_tool(2)
    play.run("inject c X")
    assert play.run("cancel c") == lines("""
        agent/cancel-requested a#1 user
        signal a#1 turn=1 user
        settled cancel returned
        log a#1 5 tool/result n=1 aborted
        log a#1 6 tool/call n=2
        log a#1 7 tool/result n=2 aborted
        log a#1 8 context/message X
        log a#1 9 step/end turn=1 step=1
        log a#1 10 turn/end turn=1 aborted
        session/flush a#1 upto=11
        agent/status a#1 idle
    """)


def test_context_injected_into_an_open_turn_is_logged_at_once() -> None:
    play = in_model()
    assert play.run("inject c X") == ["log a#1 3 context/message X", "settled X returned"]


def test_an_injection_never_wakes_the_driver() -> None:
    assert playing().run("inject c X") == lines("""
        log a#1 0 turn/start turn=1 trigger=injection
        log a#1 1 context/message X
        log a#1 2 turn/end turn=1 completed
        session/flush a#1 upto=3
        settled X returned
    """)


def test_the_turn_after_an_injection_is_numbered_one_more() -> None:
    play = playing()
    play.run("inject c X")
    assert play.run("send c A") == [*sent("A"), RUNNING, *turn(2, 3, "A", "c:1"), IDLE]


def test_disposal_wins_over_a_cancel() -> None:
    play = in_model("deaf")
    play.run("cancel c")
    assert play.run("dispose c") == ["agent/status a#1 disposed"]
    assert play.run("release model c text")[:2] == [
        "log a#1 3 step/end turn=1 step=1",
        "log a#1 4 turn/end turn=1 disposed",
    ]


def test_a_cancel_wins_over_an_error() -> None:
    play = in_model("deaf")
    play.run("cancel c")
    assert play.run("release model c error") == lines("""
        log a#1 3 step/end turn=1 step=1
        log a#1 4 turn/end turn=1 aborted
        session/flush a#1 upto=5
        agent/status a#1 idle
    """)


def test_disposal_wins_over_an_error_before_the_step() -> None:
    play = playing()
    play.run("""
        hold prepare c deaf
        send c A
    """)
    play.run("dispose c")
    assert play.run("release prepare c throw") == lines("""
        log a#1 2 turn/end turn=1 disposed
        session/flush a#1 upto=3
        agent/disposed a#1
        session/disposed a#1
        settled dispose returned
    """)


def test_an_error_before_the_step_is_internal_and_of_step_0() -> None:
    assert playing().run("""
        plan prepare c throw
        send c A
    """) == [
        *lines(IN_MODEL)[:-1],
        *lines("""
            agent/error a#1 step=0 internal
            log a#1 2 turn/end turn=1 error
            session/flush a#1 upto=3
            agent/status a#1 idle
        """),
    ]


def starved_then(outcome: str) -> list[str]:
    """Give what follows an answer without tokens and steering, with how the next step ends."""
    play = in_model()
    return play.run(f"""
        steer c S
        release model c max-tokens
        settle
        release model c {outcome}
    """)


def test_want_of_tokens_sticks_to_the_turn() -> None:
    assert starved_then("text") == lines("""
        agent/queued a#1 S steering
        settled S returned
        log a#1 3 assistant/message c:1
        log a#1 4 user/message S
        log a#1 5 step/end turn=1 step=1
        log a#1 6 step/start turn=1 step=2
        log a#1 7 assistant/message c:2
        log a#1 8 step/end turn=1 step=2
        log a#1 9 turn/end turn=1 max-tokens
        session/flush a#1 upto=10
        agent/status a#1 idle
    """)


def test_an_error_wins_over_the_want_of_tokens() -> None:
    assert starved_then("error")[-5:] == lines("""
        log a#1 7 step/end turn=1 step=2
        agent/error a#1 step=2 model
        log a#1 8 turn/end turn=1 error
        session/flush a#1 upto=9
        agent/status a#1 idle
    """)


def test_two_flushes_of_one_agent_may_be_open() -> None:
    """Decision 16: the closing one, and that of an injection made while it is open."""
    play = playing()
    play.run("""
        hold flush c
        send c A
    """)
    assert play.run("inject c X") == lines("""
        log a#1 6 turn/start turn=2 trigger=injection
        log a#1 7 context/message X
        log a#1 8 turn/end turn=2 completed
        session/flush a#1 upto=9
        settled X returned
    """)
    # The oldest arrival is the closing flush.
    assert play.run("release flush c ok") == [IDLE]
    assert play.run("release flush c fail") == ["agent/error a#1 step=0 flush"]


def test_b24_a_failure_before_a_step_after_disposal_is_no_failure_in_2026_08() -> None:
    play = Play(edition=EDITION_2026_08)
    play.run("create c a")
    play.run("hold prepare c deaf\nsend c A")
    assert play.run("dispose c") == []
    assert play.run("release prepare c throw") == lines("""
        log a#1 3 turn/end turn=1 aborted disposed
        agent/status a#1 idle
        agent/disposed a#1
        session/disposed a#1
        settled dispose returned
    """)
