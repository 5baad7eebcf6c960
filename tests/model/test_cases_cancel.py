"""The numbered cases A of the contract: the inbox and cancel."""

from __future__ import annotations

import pytest

from probate_model.alphabet.editions import EDITION_2026_08
from tests.model.helpers import Play, lines, playing, turn

IN_MODEL = """
    agent/queued a#1 A
    settled A returned
    agent/status a#1 running
    log a#1 0 turn/start turn=1 trigger=message
    log a#1 1 user/message A
    log a#1 2 step/start turn=1 step=1
"""
"""What is seen until a prompt A waits in the model."""

RUNNING = "agent/status a#1 running"
IDLE = "agent/status a#1 idle"


def in_model(temper: str = "honours") -> Play:
    """Give a play in which the prompt A of the agent waits in its model."""
    play = playing()
    assert play.run(f"hold model c {temper}\nsend c A") == lines(IN_MODEL)
    return play


def test_a1_an_idle_cancel_emits_nothing_and_strands_nothing() -> None:
    play = playing()
    assert play.run("""
        cancel c
        send c P
    """) == [
        "settled cancel returned",
        "agent/queued a#1 P",
        "settled P returned",
        RUNNING,
        *turn(1, 0, "P", "c:1"),
        IDLE,
    ]


def test_a2_prompts_cancelled_in_the_same_tick_never_run() -> None:
    play = playing()
    assert play.run("""
        send c A
        send c B
        cancel c
    """) == lines("""
        agent/queued a#1 A
        settled A returned
        agent/queued a#1 B
        settled B returned
        agent/cancel-requested a#1 user
        settled cancel returned
    """)
    assert play.look == "agents=a#1:idle roots=a#1 sessions=a#1"
    assert play.world.agents[0].answers == 0


def test_a4_what_is_sent_after_the_cancel_runs_alone() -> None:
    play = playing()
    assert play.run("""
        send c A
        idle c
        cancel c
        send c B
    """) == [
        *lines("""
            agent/queued a#1 A
            settled A returned
            agent/cancel-requested a#1 user
            settled cancel returned
            agent/queued a#1 B
            settled B returned
            agent/status a#1 running
        """),
        *turn(1, 0, "B", "c:1"),
        IDLE,
        "settled idle returned",
    ]


def test_a5_a_cancel_in_the_running_announcement_opens_no_turn() -> None:
    play = playing()
    assert play.run("""
        react agent/status status=running do cancel this
        send c A
    """) == lines("""
        agent/queued a#1 A
        settled A returned
        agent/status a#1 running
        agent/cancel-requested a#1 user
        settled r1.0 returned
        agent/status a#1 idle
    """)
    assert play.run("send c B") == [
        "agent/queued a#1 B",
        "settled B returned",
        RUNNING,
        *turn(1, 0, "B", "c:1"),
        IDLE,
    ]


def test_a6_a_replacement_sent_in_the_running_announcement_runs() -> None:
    play = playing()
    assert play.run("""
        react agent/status status=running do cancel this; send this B
        send c A
        idle c
    """) == [
        *lines("""
            agent/queued a#1 A
            settled A returned
            agent/status a#1 running
            agent/cancel-requested a#1 user
            settled r1.0 returned
            agent/queued a#1 B
            settled r1.1 returned
        """),
        *turn(1, 0, "B", "c:1"),
        IDLE,
        "settled idle returned",
    ]


@pytest.mark.parametrize("cause", ["", " user"])
def test_a8_a_cancel_without_a_cause_is_a_users(cause: str) -> None:
    assert in_model().run(f"cancel c{cause}") == lines("""
        agent/cancel-requested a#1 user
        signal a#1 turn=1 user
        settled cancel returned
        log a#1 3 step/end turn=1 step=1
        log a#1 4 turn/end turn=1 aborted
        session/flush a#1 upto=5
        agent/status a#1 idle
    """)


def test_a12_what_an_observer_of_the_cancel_sends_is_swept() -> None:
    play = playing()
    assert play.run("""
        react agent/cancel-requested cause=user do send this X; throw boom
        react agent/cancel-requested cause=user do look
        send c A
        cancel c
    """) == lines("""
        agent/queued a#1 A
        settled A returned
        agent/cancel-requested a#1 user
        agent/queued a#1 X
        settled r1.0 returned
        settled r2.0 returned agents=a#1:idle roots=a#1 sessions=a#1
        settled cancel returned
    """)


def test_a13_the_next_idle_cancel_is_silent_again() -> None:
    play = playing()
    play.run("""
        send c A
        cancel c
    """)
    assert play.run("cancel c parent") == ["settled cancel2 returned"]


def test_a14_a_cancel_at_turn_start_leaves_a_balanced_turn_with_no_step() -> None:
    play = playing()
    assert play.run("""
        react log record=turn/start do cancel this
        send c A
    """) == lines("""
        agent/queued a#1 A
        settled A returned
        agent/status a#1 running
        log a#1 0 turn/start turn=1 trigger=message
        agent/cancel-requested a#1 user
        settled r1.0 returned
        log a#1 1 turn/end turn=1 aborted
        session/flush a#1 upto=2
        agent/status a#1 idle
    """)
    assert play.world.agents[0].answers == 0


def test_a16_a_tool_call_that_a_cancel_kept_from_beginning_is_logged_as_aborted() -> None:
    play = playing()
    assert play.run("""
        react log record=assistant/message do cancel this
        plan model c tools:1
        send c A
    """) == [
        *lines(IN_MODEL),
        *lines("""
            log a#1 3 assistant/message c:1
            agent/cancel-requested a#1 user
            settled r1.0 returned
            log a#1 4 tool/call n=1
            log a#1 5 tool/result n=1 aborted
            log a#1 6 step/end turn=1 step=1
            log a#1 7 turn/end turn=1 aborted
            session/flush a#1 upto=8
            agent/status a#1 idle
        """),
    ]
    assert play.run("send c B") == [
        "agent/queued a#1 B",
        "settled B returned",
        RUNNING,
        *turn(2, 8, "B", "c:2"),
        IDLE,
    ]


def test_a18_steering_that_waits_when_its_turn_is_cancelled_never_reaches_the_log() -> None:
    assert in_model().run("""
        steer c S
        cancel c
    """) == lines("""
        agent/queued a#1 S steering
        settled S returned
        agent/cancel-requested a#1 user
        signal a#1 turn=1 user
        settled cancel returned
        log a#1 3 step/end turn=1 step=1
        log a#1 4 turn/end turn=1 aborted
        session/flush a#1 upto=5
        agent/status a#1 idle
    """)


def test_a20_the_first_cause_is_what_the_signal_carries() -> None:
    play = in_model("deaf")
    assert play.run("""
        cancel c parent
        cancel c user
    """) == lines("""
        agent/cancel-requested a#1 parent
        signal a#1 turn=1 parent
        settled cancel returned
        agent/cancel-requested a#1 user
        settled cancel2 returned
    """)
    assert play.run("release model c text") == lines("""
        log a#1 3 step/end turn=1 step=1
        log a#1 4 turn/end turn=1 aborted
        session/flush a#1 upto=5
        agent/status a#1 idle
    """)


def test_a21_a_cancel_at_turn_end_finds_nothing() -> None:
    play = playing()
    seen = play.run("""
        react log record=turn/end do cancel this
        send c A
    """)
    whole = turn(1, 0, "A", "c:1")
    assert seen == [
        "agent/queued a#1 A",
        "settled A returned",
        RUNNING,
        *whole[:-1],
        "settled r1.0 returned",
        whole[-1],
        IDLE,
    ]
    assert whole[-2] == "log a#1 5 turn/end turn=1 completed"


def test_a22_a_cancel_in_the_closing_flush_changes_nothing() -> None:
    play = playing()
    assert play.run("""
        hold flush c
        send c A
        idle c
    """) == ["agent/queued a#1 A", "settled A returned", RUNNING, *turn(1, 0, "A", "c:1")]
    assert play.run("cancel c") == ["settled cancel returned"]
    assert play.run("release flush c ok") == [IDLE, "settled idle returned"]


def test_a24_a_cancel_between_two_turns_leads_to_idle() -> None:
    play = playing()
    assert play.run("""
        plan flush c fail
        react agent/error do cancel this
        send c A
        send c B
        idle c
    """) == [
        *lines("""
            agent/queued a#1 A
            settled A returned
            agent/queued a#1 B
            settled B returned
            agent/status a#1 running
        """),
        *turn(1, 0, "A", "c:1"),
        *lines("""
            agent/error a#1 step=0 flush
            agent/cancel-requested a#1 user
            settled r1.0 returned
            agent/status a#1 idle
            settled idle returned
        """),
    ]
    assert play.run("steer c S") == [
        "agent/queued a#1 S",
        "settled S returned",
        RUNNING,
        *turn(2, 6, "S", "c:2"),
        IDLE,
    ]


def test_a25_a_waiter_registered_in_the_idle_announcement_waits_for_what_it_sent() -> None:
    play = playing()
    assert play.run("""
        react agent/status status=idle do send this R; idle this
        send c A
    """) == [
        "agent/queued a#1 A",
        "settled A returned",
        RUNNING,
        *turn(1, 0, "A", "c:1"),
        IDLE,
        "agent/queued a#1 R",
        "settled r1.0 returned",
        RUNNING,
        *turn(2, 6, "R", "c:2"),
        IDLE,
        "settled r1.1 returned",
    ]


def test_a26_a_waiter_of_what_is_cancelled_at_once_resolves() -> None:
    play = playing()
    assert play.run("""
        react agent/status status=idle do send this R; idle this; cancel this
        send c A
    """) == [
        "agent/queued a#1 A",
        "settled A returned",
        RUNNING,
        *turn(1, 0, "A", "c:1"),
        IDLE,
        "agent/queued a#1 R",
        "settled r1.0 returned",
        "agent/cancel-requested a#1 user",
        "settled r1.2 returned",
        "settled r1.1 returned",
    ]
    assert play.run("send c P") == [
        "agent/queued a#1 P",
        "settled P returned",
        RUNNING,
        *turn(2, 6, "P", "c:2"),
        IDLE,
    ]


def test_a28_the_prompt_after_a_cancelled_turn_completes() -> None:
    play = in_model()
    play.run("cancel c")
    assert play.run("""
        open model c
        send c B
    """) == ["agent/queued a#1 B", "settled B returned", RUNNING, *turn(2, 5, "B", "c:2"), IDLE]


def test_a29_a_prompt_sent_in_the_flush_of_a_cancelled_turn_runs() -> None:
    play = in_model()
    assert (
        play.run("""
        hold flush c
        cancel c
    """)[-1]
        == "session/flush a#1 upto=5"
    )
    assert play.run("send c B") == ["agent/queued a#1 B", "settled B returned"]
    assert play.run("""
        open model c
        open flush c
    """) == [*turn(2, 5, "B", "c:2"), IDLE]


def test_a30_a_body_in_prepare_settles_when_its_turn_is_cancelled() -> None:
    play = playing()
    assert (
        play.run("""
        hold prepare c
        send c A
    """)
        == lines(IN_MODEL)[:-1]
    )
    # No model or tool body is in flight, so nothing is heard (decision 15).
    assert play.run("cancel c") == lines("""
        agent/cancel-requested a#1 user
        settled cancel returned
        log a#1 2 turn/end turn=1 aborted
        session/flush a#1 upto=3
        agent/status a#1 idle
    """)


def test_a30_a_body_in_the_model_settles_when_its_turn_is_cancelled() -> None:
    assert in_model().run("cancel c parent") == lines("""
        agent/cancel-requested a#1 parent
        signal a#1 turn=1 parent
        settled cancel returned
        log a#1 3 step/end turn=1 step=1
        log a#1 4 turn/end turn=1 aborted
        session/flush a#1 upto=5
        agent/status a#1 idle
    """)


def test_a30_a_body_in_a_tool_settles_when_its_turn_is_cancelled() -> None:
    play = playing()
    assert play.run("""
        plan model c tools:1
        hold tool c
        send c A
    """) == [*lines(IN_MODEL), "log a#1 3 assistant/message c:1", "log a#1 4 tool/call n=1"]
    assert play.run("cancel c") == lines("""
        agent/cancel-requested a#1 user
        signal a#1 turn=1 user
        settled cancel returned
        log a#1 5 tool/result n=1 aborted
        log a#1 6 step/end turn=1 step=1
        log a#1 7 turn/end turn=1 aborted
        session/flush a#1 upto=8
        agent/status a#1 idle
    """)


def test_a32_steering_an_idle_agent_is_sending() -> None:
    assert playing().run("steer c S") == [
        "agent/queued a#1 S",
        "settled S returned",
        RUNNING,
        *turn(1, 0, "S", "c:1"),
        IDLE,
    ]


def test_a33_the_log_and_not_the_status_says_whether_a_turn_is_open() -> None:
    assert playing().run("""
        react agent/status status=running do inject this X
        send c A
    """) == [
        *lines("""
            agent/queued a#1 A
            settled A returned
            agent/status a#1 running
            log a#1 0 turn/start turn=1 trigger=injection
            log a#1 1 context/message X
            log a#1 2 turn/end turn=1 completed
            session/flush a#1 upto=3
            settled r1.0 returned
        """),
        *turn(2, 3, "A", "c:1"),
        IDLE,
    ]


@pytest.mark.parametrize("verb", ["send", "steer", "inject"])
def test_a34_content_that_cannot_be_kept_is_refused(verb: str) -> None:
    play = playing()
    assert play.run(f"{verb} c !bad -> x") == ["settled x raised invalid-content"]
    assert play.look == "agents=a#1:idle roots=a#1 sessions=a#1"


# What the rules say beside the numbered cases.


@pytest.mark.parametrize("verb", ["send", "steer", "inject"])
def test_input_to_a_disposed_agent_is_refused(verb: str) -> None:
    play = in_model("deaf")
    play.run("dispose c")
    assert play.run(f"{verb} c X") == ["settled X raised disposed"]


def test_disposed_comes_before_invalid_content() -> None:
    play = playing()
    play.run("dispose c")
    assert play.run("send c !bad -> x") == ["settled x raised disposed"]


def test_what_a_body_sends_when_it_hears_the_signal_survives_the_cancel() -> None:
    """A.2: work that an abort observer enqueues in step 5 survives and becomes the next turn (L4)."""
    play = in_model()
    assert play.run("""
        react signal do send this R
        open flush c
        cancel c
        plan model c text
    """) == lines("""
        agent/cancel-requested a#1 user
        signal a#1 turn=1 user
        agent/queued a#1 R
        settled r1.0 returned
        settled cancel returned
        log a#1 3 step/end turn=1 step=1
        log a#1 4 turn/end turn=1 aborted
        session/flush a#1 upto=5
        log a#1 5 turn/start turn=2 trigger=message
        log a#1 6 user/message R
        log a#1 7 step/start turn=2 step=1
    """)


def test_a_cancel_of_a_disposed_agent_follows_the_same_steps_and_the_reason_stays() -> None:
    """Decision 7: it announces and clears; the recorded reason stays disposed (N3)."""
    play = in_model("deaf")
    assert play.run("dispose c") == ["signal a#1 turn=1 disposed", "agent/status a#1 disposed"]
    assert play.run("cancel c") == ["agent/cancel-requested a#1 user", "settled cancel returned"]
    assert play.run("release model c text") == lines("""
        log a#1 3 step/end turn=1 step=1
        log a#1 4 turn/end turn=1 disposed
        session/flush a#1 upto=5
        agent/disposed a#1
        session/disposed a#1
        settled dispose returned
    """)


def test_a_cancel_after_the_end_is_silent() -> None:
    play = playing()
    play.run("dispose c")
    assert play.run("cancel c parent") == ["settled cancel returned"]


def test_steering_that_came_after_the_cancel_becomes_a_prompt() -> None:
    """L3, L4, L26 over A.2's "dropped": dropped is what was pending when the cancel came."""
    play = in_model("deaf")
    play.run("cancel c")
    assert play.run("steer c S") == ["agent/queued a#1 S steering", "settled S returned"]
    assert play.run("open model c") == [
        *lines("""
            log a#1 3 step/end turn=1 step=1
            log a#1 4 turn/end turn=1 aborted
            session/flush a#1 upto=5
        """),
        *turn(2, 5, "S", "c:2"),
        IDLE,
    ]


# What edition 2026-08 has otherwise.


def drifted() -> Play:
    """Give a play of edition 2026-08 with an agent."""
    play = Play(edition=EDITION_2026_08)
    play.run("create c a")
    return play


def test_a42_a_prompt_cancelled_in_the_tick_that_sent_it_leaves_an_aborted_turn_without_a_step() -> None:
    play = drifted()
    assert play.run("""
        send c A
        cancel c
    """) == lines("""
        log a#1 0 inbox/inserted next-turn A
        agent/status a#1 running
        log a#1 1 turn/start turn=1 trigger=message
        log a#1 2 inbox/claimed next-turn 1
        settled A returned
        settled cancel returned
        log a#1 3 turn/end turn=1 aborted user
        agent/status a#1 idle
    """)


def test_a41_input_that_comes_after_disposal_has_begun_is_not_waited_for_with_a_turn() -> None:
    play = drifted()
    play.run("hold model c\nsend c A")
    seen = play.run("""
        dispose c
        send c B
    """)
    assert any(event.endswith("inbox/inserted next-turn B") for event in seen)
    assert seen[-3:] == ["agent/disposed a#1", "session/disposed a#1", "settled dispose returned"]
    assert not any("turn=2" in event for event in seen)


def test_a38_a_prompt_that_comes_after_the_abort_starts_the_driver_again_once_it_is_idle() -> None:
    """What is parked is only what came then: a cancel that keeps the inbox is not in the alphabet."""
    play = drifted()
    play.run("hold model c deaf\nsend c A")
    play.run("cancel c")
    assert play.run("""
        send c B
        send c C
    """) == lines("""
        log a#1 5 inbox/inserted next-turn B
        settled B returned
        log a#1 6 inbox/inserted next-turn C
        settled C returned
    """)
    seen = play.run("open model c")
    end = seen.index("log a#1 9 turn/end turn=1 aborted user")
    assert seen[end : end + 3] == ["log a#1 9 turn/end turn=1 aborted user", IDLE, RUNNING]
    ran = [event for event in seen if "turn/start" in event or "user/message" in event]
    assert ran == lines("""
        log a#1 10 turn/start turn=2 trigger=message
        log a#1 13 user/message B
        log a#1 17 turn/start turn=3 trigger=message
        log a#1 20 user/message C
    """)
    assert seen[-1] == IDLE
