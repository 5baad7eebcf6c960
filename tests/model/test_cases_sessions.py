"""The numbered cases F of the contract, what of C and D speaks of resume, and the trace T16: durable sessions."""

from __future__ import annotations

import pytest

from probate_model.worlds import Divergence, Reason, Worlds
from tests.model.helpers import Play, burst, event, turn
from tests.model.judging import judge
from tests.model.test_cases_turns import ENDED

RESUMED = ["session/created a#2", "agent/created a#2", "agent/session-start a#2 resume", "settled r returned a#2"]
ERROR = "agent/error a#2 step=0 flush"


def keeping(text: str = "create c a", *owners: str) -> Play:
    """Give a play with a durable store, in which these items have been carried out and have settled."""
    play = Play(*owners, profile="sessions")
    play.run(text)
    return play


def stored(play: Play, agent_id: str = "a") -> str:
    """Give what a look at a log shows."""
    (seen,) = play.run(f"stored {agent_id}")
    return seen.split(" ", 2)[2]


def ended() -> Play:
    """Give a play in which an agent has had a turn and has ended; its log has 6 records."""
    play = keeping()
    play.run("send c A")
    play.run("dispose c")
    assert stored(play) == "returned 6"
    return play


def test_t16_a_resume_loads_and_publishes_and_logs_nothing() -> None:
    play = ended()
    assert play.run("hold load r\nresume r a") == []
    assert play.run("release load r ok") == RESUMED
    assert stored(play) == "returned 6"


def test_c22_a_setup_that_rejects_publishes_nothing_and_frees_the_id() -> None:
    play = ended()
    assert play.run("plan setup r throw\nresume r a setup") == ["settled r raised thrown:setup"]
    assert play.run("resume r a -> r") == RESUMED


@pytest.mark.parametrize(
    ("end", "code"),
    [("unload host", "owner-disposed"), ("withdraw r", "lifecycle-disposed"), ("abort r", "aborted")],
)
def test_c23_a_load_that_never_returns_does_not_hold_up_the_end(end: str, code: str) -> None:
    play = ended()
    assert play.run("hold load r\nresume r a signal") == []
    assert f"settled r raised {code}" in play.run(end)
    assert play("release load r ok") == []
    play.run("load host")
    assert "settled n returned a#2" in play.run("create n a")


@pytest.mark.parametrize(("held", "options"), [("load", ""), ("setup", " setup")])
def test_a_resume_that_is_published_before_its_load_and_its_setup_is_put_down_to_its_return(
    held: str, options: str
) -> None:
    play = ended()
    found = judge(Worlds.of(play.world), burst(f"hold {held} r\nresume r a{options}"), [event("session/created a#2")])
    assert isinstance(found, Divergence)
    assert (found.reason, found.clause) == (Reason.EARLY, "RESUME-01")


def test_c24_the_providers_unload_ends_a_load_too() -> None:
    play = ended()
    play.run("hold load r\nresume r a")
    assert play.run("unload provider") == ["settled r raised provider-inactive", "settled unload returned"]


def test_c28_seqs_and_turns_go_on() -> None:
    play = ended()
    play.run("resume r a")
    logged = [seen for seen in play.run("send r B") if seen.startswith("log")]
    assert logged == [seen for seen in turn(2, 6, "B", "r:1", "a#2") if seen.startswith("log")]
    play.run("dispose r")
    assert stored(play) == "returned 12"


def test_a_resume_of_what_is_live_or_absent_is_refused() -> None:
    play = keeping()
    assert play.run("resume r a") == ["settled r raised id-exists"]
    assert play.run("resume q b") == ["settled q raised not-found"]
    assert play.run("crash lost bare\nsettle\nresume p a") == [
        "settled crash returned",
        "settled p raised no-persistence",
    ]


def test_a_resume_that_was_overtaken_by_a_create_raises_id_exists() -> None:
    play = ended()
    play.run("hold load r\nresume r a")
    play.run("create n a")
    assert play.run("release load r ok") == ["settled r raised id-exists"]


def test_of_two_resumes_one_wins() -> None:
    play = ended()
    play.run("hold load r\nhold load q\nresume r a\nresume q a")
    assert play.run("release load r ok") == RESUMED
    assert play.run("release load q ok") == ["settled q raised id-exists"]


def test_a_resume_that_has_gone_stale_writes_nothing() -> None:
    play = ended()
    play.run("hold setup r\nresume r a setup")
    play.run("resume q a")
    play.run("send q B")
    play.run("dispose q")
    assert stored(play) == "returned 12"
    play.run("release setup r ok")
    assert "agent/error a#3 step=0 flush" in play.run("send r C")
    assert stored(play) == "returned 12"


@pytest.mark.parametrize("flush", ["", "hold flush c\n", "plan flush c fail\n"])
@pytest.mark.parametrize("end", ["dispose c", "unload host", "unload provider"])
def test_d2_the_closing_turn_end_is_stored(flush: str, end: str) -> None:
    play = keeping()
    play.run(f"{flush}hold model c\nsend c A")
    play.run(end)
    if flush.startswith("hold"):
        assert stored(play) == "raised not-found"
        assert ENDED[0] in play.run("release flush c fail")
    assert stored(play) == "returned 5"


def test_f12_a_fresh_agent_under_a_stored_id_is_told_at_its_first_flush_and_the_log_stays() -> None:
    play = ended()
    assert play.run("create n a")[-1] == "settled n returned a#2"
    assert play.run("send n B")[-2:] == [ERROR, "agent/status a#2 idle"]
    assert play.run("send n C")[-2:] == [ERROR, "agent/status a#2 idle"]
    play.run("dispose n")
    assert stored(play) == "returned 6"


@pytest.mark.parametrize(
    ("gate", "left", "loaded"),
    [("model", 3, 5), ("tool", 5, 8)],
    ids=["a step", "a call"],
)
def test_f13_what_a_crash_left_open_is_closed_once(gate: str, left: int, loaded: int) -> None:
    play = keeping()
    play.run(f"plan model c tools:1\nhold {gate} c\nsend c A" if gate == "tool" else "hold model c\nsend c A")
    play.run("crash written")
    assert stored(play) == f"returned {left} open"
    play.run("resume r a")
    assert stored(play) == f"returned {loaded}"
    play.run("crash lost")
    play.run("resume q a")
    assert stored(play) == f"returned {loaded}"


def test_f15_a_call_that_was_answered_gets_no_other_result() -> None:
    play = keeping()
    play.run("hold model c\nsend c A")
    play.run("release model c tools:1")
    play.run("crash written")
    assert stored(play) == "returned 8 open"
    play.run("resume r a")
    assert stored(play) == "returned 10"


def test_f16_a_torn_last_line_is_dropped_and_what_stands_before_it_is_kept() -> None:
    play = keeping()
    play.run("send c A")
    play.run("hold model c\nsend c B")
    play.run("crash torn")
    assert stored(play) == "returned 8 open"
    play.run("resume r a")
    assert stored(play) == "returned 9"


def test_f19_two_flushes_at_once_write_each_record_once() -> None:
    play = keeping()
    play.run("hold flush c\nsend c A")
    play.run("inject c B")
    play.run("release flush c ok\nrelease flush c ok")
    assert stored(play) == "returned 9"


def test_f21_a_reload_in_a_turn_keeps_it_open() -> None:
    play = keeping()
    play.run("hold model c\nsend c A")
    assert play.run("reload") == ["settled reload returned"]
    assert stored(play) == "returned 3 open"
    assert "log a#1 3 assistant/message c:1" in play.run("release model c text")
    assert stored(play) == "returned 6"


def test_f24_a_session_that_wrote_nothing_leaves_its_id_to_the_next() -> None:
    play = keeping()
    play.run("dispose c")
    assert stored(play) == "raised not-found"
    play.run("create n a")
    play.run("send n A")
    assert stored(play) == "returned 6"


def test_f25_what_no_flush_has_written_is_written_when_the_store_is_closed() -> None:
    play = keeping()
    play.run("plan flush c fail\nsend c A")
    assert stored(play) == "raised not-found"
    play.run("reload")
    assert stored(play) == "returned 6"


def test_f27_an_injection_alone_survives() -> None:
    play = keeping()
    play.run("inject c A")
    play.run("crash lost")
    assert play.run("resume r a") == RESUMED
    assert stored(play) == "returned 3"


def test_what_was_not_acknowledged_may_be_lost_and_what_was_is_not() -> None:
    play = keeping()
    play.run("send c A")
    play.run("hold flush c\nsend c B")
    assert play.run("crash lost\nsend c C") == ["settled crash returned"]
    assert stored(play) == "returned 6"
    assert play.look == "agents= roots= sessions="


def test_a_process_that_is_down_does_nothing_until_the_next_settle() -> None:
    play = keeping()
    assert play("crash lost\ncreate n b\nlook") == ["settled crash returned"]
    assert len(play.void) == 2
    play("settle")
    assert play.run("create n b")[-1] == "settled n returned b#1"
