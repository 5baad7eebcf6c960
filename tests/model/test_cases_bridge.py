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


def stored() -> Play:
    """Give a play with a client, and a session that is stored and not live."""
    play = served()
    play.run("prompt n A")
    play.run("close n")
    return play


def test_j19_a_load_from_elsewhere_makes_no_agent_and_the_id_is_not_wedged() -> None:
    play = stored()
    for folder in ("other", "relative"):
        shown = play.run(f"load_session {folder} k n {folder}")
        assert shown == [f"settled {folder} raised invalid-params"]
    assert settled(play.run("load_session l k n")) == ["l returned n#2"]
    assert settled(play.run("prompt l B")) == ["B returned end_turn"]


def test_j19_a_session_that_was_stored_without_a_folder_is_not_loaded() -> None:
    play = served("connect k\ncreate c a")
    play.run("send c A")
    play.run("dispose c")
    assert play.run("load_session l k a") == ["settled l raised invalid-params"]


def test_j20_a_load_that_fails_lets_go_of_its_reservation() -> None:
    play = stored()
    assert settled(play.run("load_session l k nobody")) == ["l raised unknown-session"]
    play("plan load m throw")
    assert settled(play.run("load_session m k n")) == ["m raised internal-error"]
    assert settled(play.run("load_session o k n")) == ["o returned n#2"]


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


def test_j25_only_one_answer_of_all_is_a_yes() -> None:
    for answer, result in (
        ("allow", "ok"),
        ("reject", "error"),
        ("cancelled", "error"),
        ("unknown", "error"),
        ("error", "error"),
    ):
        play = served()
        play(f"plan permission n {answer}\nplan model n tools:1")
        shown = play.run("prompt n A")
        assert [one for one in shown if "tool/result" in one] == [f"log n#1 5 tool/result n=1 {result}"]
        assert settled(shown) == ["A returned end_turn"]


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


def test_a_prompt_that_waits_for_permission_is_settled_by_a_cancel() -> None:
    play = served("connect k\nnew n k\nsettle\nhold permission n deaf\nplan model n tools:1\nprompt n A")
    shown = play.run("stop n")
    assert settled(shown) == ["stop-n returned", "A returned cancelled"]
    assert [one for one in shown if "tool/result" in one] == ["log n#1 5 tool/result n=1 aborted"]
    assert not [one for one in shown if one.startswith("signal")]
    assert play.run("release permission n allow") == []


def test_a_prompt_that_waits_for_permission_is_settled_by_the_end_of_its_connection() -> None:
    play = served("connect k\nnew n k\nsettle\nhold permission n\nplan model n tools:1\nprompt n A")
    assert settled(play.run("leave k")) == ["A returned cancelled", "leave-k returned"]
    assert play.look == Play(profile="bridge").look


def test_a_tool_of_a_session_that_nobody_holds_any_more_is_not_called() -> None:
    play = served("connect k\nnew n k\nsettle\nreact agent/created do send this A\nplan model m tools:1")
    shown = play.run("hold setup m\nnew m k\nleave k\nsettle\nrelease setup m ok")
    assert "settled m raised connection-closed" in shown


def test_a_load_that_loses_against_the_close_is_disposed_and_the_id_is_free() -> None:
    play = stored()
    play.run("connect h\nhold setup l\nload_session l k n")
    assert settled(play.run("leave k")) == ["leave-k returned"]
    assert settled(play.run("release setup l ok"))[-1] == "l raised connection-closed"
    assert settled(play.run("load_session m h n")) == ["m returned n#3"]


def test_a_session_is_not_loaded_twice_by_two_clients() -> None:
    play = stored()
    play.run("connect h\nhold load l\nload_session l k n")
    assert settled(play.run("load_session m h n")) == ["m raised id-exists"]
    assert settled(play.run("open load l")) == ["l returned n#2"]
    assert settled(play.run("resume_session o h n")) == ["o raised id-exists"]


def test_a_load_that_is_called_off_is_answered_once_and_leaves_no_agent() -> None:
    play = stored()
    play.run("hold load l\nload_session l k n")
    assert settled(play.run("off k l")) == ["off-l returned", "l raised request-cancelled"]
    assert play.run("open load l") == []
    assert settled(play.run("load_session m k n")) == ["m returned n#2"]


def test_a_prompt_that_is_called_off_is_cancelled_and_a_new_session_ends() -> None:
    play = served("connect k\nnew n k\nsettle\nhold model n\nprompt n A")
    shown = play.run("off k A")
    assert shown.index("agent/cancel-requested n#1 user") < shown.index("settled A raised request-cancelled")
    play.run("hold setup m\nnew m k")
    assert settled(play.run("off k m")) == ["off-m returned", "m raised request-cancelled"]
    assert play.run("open setup m") == []


def test_a_close_that_is_called_off_ends_the_session_all_the_same() -> None:
    play = served("connect k\nnew n k\nsettle\nhold flush n\nprompt n A\nsettle\nclose n")
    assert settled(play.run("off k close-n")) == ["off-close-n returned", "close-n raised request-cancelled"]
    assert "session/disposed n#1" in play.run("open flush n")
    assert settled(play.run("off k close-n -> again")) == ["again returned"]


def test_a_prompt_that_others_have_swept_is_answered_at_rest() -> None:
    play = served()
    play.run("react agent/queued do cancel this")
    assert settled(play.run("prompt n A"))[-1] == "A returned cancelled"


def test_lines_that_are_written_together_may_be_read_apart() -> None:
    play = served()
    play("prompt n A\nstop n")
    assert len([step for step in enabled(play.world) if step.activity == "room"]) == 2
