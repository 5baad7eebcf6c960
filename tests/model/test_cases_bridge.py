"""The numbered cases J of the contract, and traces T20 to T22: the bridge."""

from __future__ import annotations

from probate_model.machine import enabled
from tests.model.helpers import Play, lines


def served(text: str = "connect k\nnew n k") -> Play:
    """Give a play with a client and a session."""
    play = Play(profile="bridge")
    play.run(text)
    return play


def settled(shown: list[str]) -> list[str]:
    """Keep how calls settled."""
    return [one.removeprefix("settled ") for one in shown if one.startswith("settled ")]


def test_j1_a_client_that_disconnects_mid_prompt_leaves_nothing() -> None:
    play = served("connect k\nnew n k\nsettle\nhold model n deaf\nprompt n A")
    shown = play.run("leave k")
    assert settled(shown) == ["A returned cancelled"]
    assert "agent/status n#1 disposed" in shown
    assert settled(play.run("open model n")) == ["leave-k returned"]
    assert play.look == Play(profile="bridge").look


def test_j3_a_disconnect_and_the_close_of_the_bridge_wait_for_one_teardown() -> None:
    play = served("connect k\nnew n k\nsettle\nhold flush n\nprompt n A")
    assert settled(play.run("leave k\nsettle\nend_bridge")) == []
    assert settled(play.run("release flush n ok")) == ["leave-k returned", "bridge returned"]


def test_j4_a_session_that_is_asked_for_after_the_end_is_never_made() -> None:
    play = served("connect k\nnew n k\nsettle\nhold flush n\nprompt n A\nsettle\nend_bridge")
    assert play.run("new late k") == []
    shown = play.run("release flush n ok")
    assert settled(shown) == ["late raised connection-closed", "bridge returned"]
    assert not [one for one in shown if "late#" in one]


def test_j5_a_session_that_loses_against_the_close_is_disposed() -> None:
    play = served("connect k\nhold setup n\nnew n k")
    assert settled(play.run("leave k")) == ["leave-k returned"]
    shown = play.run("release setup n ok")
    assert shown[-4:] == [
        "agent/status n#1 disposed",
        "agent/disposed n#1",
        "session/disposed n#1",
        "settled n raised connection-closed",
    ]
    assert play.look == Play(profile="bridge").look


def test_j7_a_second_prompt_is_refused_and_another_session_may_prompt() -> None:
    play = served("connect k\nnew n k\nnew m k\nsettle\nhold model n\nprompt n A")
    assert settled(play.run("prompt n B\nprompt m C")) == ["B raised in-flight", "C returned end_turn"]
    assert settled(play.run("open model n")) == ["A returned end_turn"]


def test_j8_a_cancel_answers_the_prompt_and_the_session_stays_usable() -> None:
    play = served("connect k\nnew n k\nsettle\nhold model n\nprompt n A")
    shown = play.run("stop n")
    assert shown.index("agent/cancel-requested n#1 user") < shown.index("settled A returned cancelled")
    assert "agent/status n#1 idle" in shown
    assert settled(play.run("open model n\nprompt n B")) == ["B returned end_turn"]


def test_j9_a_cancel_before_the_turn_answers_and_no_turn_leaks() -> None:
    play = served()
    shown = play.run("prompt n A\nstop n")
    assert settled(shown) == ["stop-n returned", "A returned cancelled"]
    assert not [one for one in shown if "turn/start" in one]


def test_j11_a_prompt_right_after_a_cancel_is_settled_by_its_own_turn() -> None:
    play = served("connect k\nnew n k\nsettle\nhold model n\nprompt n A")
    shown = play.run("stop n\nprompt n B")
    assert settled(shown) == ["stop-n returned", "A returned cancelled"]
    assert settled(play.run("open model n")) == ["B returned end_turn"]


def test_j12_a_late_end_does_not_settle_the_next_prompt() -> None:
    play = served("connect k\nnew n k\nsettle\nhold model n deaf\nprompt n A")
    assert settled(play.run("stop n\nprompt n B")) == ["stop-n returned", "A returned cancelled"]
    assert settled(play.run("release model n text")) == []
    assert settled(play.run("open model n")) == ["B returned end_turn"]


def test_j13_a_cancel_of_one_session_leaves_the_other_alone() -> None:
    play = served("connect k\nnew n k\nnew m k\nsettle\nhold model n\nhold model m\nprompt n A\nprompt m B")
    shown = play.run("stop n")
    assert settled(shown) == ["stop-n returned", "A returned cancelled"]
    assert not [one for one in shown if "m#1" in one]
    assert settled(play.run("open model m")) == ["B returned end_turn"]


def test_j15_a_turn_that_fails_is_an_error() -> None:
    assert settled(served().run("plan model n error\nprompt n A")) == ["A raised turn-failed"]


def test_j16_a_listener_that_throws_changes_nothing() -> None:
    play = served()
    shown = play.run("react log record=turn/end do throw V\nplan model n error\nprompt n A")
    assert settled(shown) == ["A raised turn-failed"]


def test_j17_a_turn_of_an_injection_settles_nothing() -> None:
    play = served()
    play("react agent/queued do inject this C")
    play.run("hold model n")
    shown = play.run("prompt n A")
    assert [one for one in shown if "turn/end" in one]
    assert "A returned end_turn" not in settled(shown)
    assert settled(play.run("open model n")) == ["A returned end_turn"]


def test_j21_what_can_not_be_a_prompt_is_refused_and_takes_no_slot() -> None:
    play = served()
    assert settled(play.run("prompt n !bad -> bad")) == ["bad raised invalid-content"]
    assert settled(play.run("prompt n A")) == ["A returned end_turn"]
    assert settled(play.run("close n")) == ["close-n returned"]
    assert settled(play.run("prompt n B")) == ["B raised unknown-session"]


def test_j24_the_records_that_close_a_turn_come_before_the_end() -> None:
    play = served("connect k\nnew n k\nsettle\nhold model n\nprompt n A")
    shown = play.run("leave k")
    closing = [one for one in shown if "turn/end" in one or "session/flush" in one or "agent/disposed" in one]
    assert [one.split()[0] for one in closing] == ["log", "session/flush", "agent/disposed"]
    assert "disposed" in closing[0]


def test_j28_a_prompt_that_the_agent_refuses_frees_the_slot() -> None:
    play = served("connect k\nnew n k\nsettle\ndispose n")
    assert settled(play.run("prompt n A")) == ["A raised disposed"]
    assert settled(play.run("prompt n B")) == ["B raised disposed"]


def test_j31_a_bridge_without_sessions_is_closed_at_once_and_twice() -> None:
    play = Play(profile="bridge")
    assert settled(play.run("end_bridge")) == ["bridge returned"]
    assert settled(play.run("end_bridge -> again")) == ["again returned"]


def test_t20_a_prompt_is_answered_at_its_turns_end_and_before_the_flush() -> None:
    play = served("connect k\nnew n k\nsettle\nhold flush n")
    shown = play.run("prompt n A")
    assert shown == lines("""
        agent/queued n#1 A
        agent/status n#1 running
        log n#1 0 turn/start turn=1 trigger=message
        log n#1 1 user/message A
        log n#1 2 step/start turn=1 step=1
        log n#1 3 assistant/message n:1
        log n#1 4 step/end turn=1 step=1
        log n#1 5 turn/end turn=1 completed
        session/flush n#1 upto=6
        settled A returned end_turn
    """)


def test_t21_after_a_cancel_before_the_turn_the_next_prompt_is_as_any_other() -> None:
    play = served()
    assert settled(play.run("prompt n A\nstop n\nprompt n B")) == [
        "stop-n returned",
        "A returned cancelled",
        "B returned end_turn",
    ]


def test_t22_the_prompt_is_answered_before_its_turn_has_unwound() -> None:
    play = served("connect k\nnew n k\nnew m k\nsettle\nhold model n deaf\nhold model m deaf\nprompt n A\nprompt m B")
    shown = play.run("leave k")
    assert settled(shown) == ["A returned cancelled", "B returned cancelled"]
    assert settled(play.run("open model n")) == []
    assert settled(play.run("open model m")) == ["leave-k returned"]


# Beside the cases.


def test_a_prompt_that_others_have_swept_is_answered_at_rest() -> None:
    play = served()
    play.run("react agent/queued do cancel this")
    assert settled(play.run("prompt n A"))[-1] == "A returned cancelled"


def test_lines_that_are_written_together_may_be_read_apart() -> None:
    play = served()
    play("prompt n A\nstop n")
    assert len([step for step in enabled(play.world) if step.activity == "room"]) == 2
