"""The numbered cases D of the contract: dispose and teardown."""

from __future__ import annotations

from itertools import permutations

import pytest

from probate_model.alphabet.editions import EDITION_2026_08
from tests.model.helpers import Play, lines, playing, turn
from tests.model.test_cases_cancel import IDLE, IN_MODEL, RUNNING, in_model
from tests.model.test_cases_creation import NOTHING
from tests.model.test_cases_turns import ENDED, sent

DISPOSED = "agent/status a#1 disposed"
CUT = [
    "signal a#1 turn=1 disposed",
    DISPOSED,
    "log a#1 3 step/end turn=1 step=1",
    "log a#1 4 turn/end turn=1 disposed",
    "session/flush a#1 upto=5",
]
"""What is seen of a turn in the model that is ended by disposal."""


def test_d1_the_owners_unload_ends_the_turn_then_the_agent_then_the_session() -> None:
    play = in_model()
    assert play.run("""
        react agent/disposed do look
        react session/disposed do look
        unload host
    """) == [
        *CUT,
        "agent/disposed a#1",
        "settled r1.0 returned agents= roots= sessions=a#1",
        "session/disposed a#1",
        "settled r2.0 returned agents= roots= sessions=",
        "settled unload returned",
    ]


def test_d3_two_disposes_share_one_boundary() -> None:
    play = in_model()
    assert (
        play.run("""
        hold flush c
        dispose c
        dispose c
    """)
        == CUT
    )
    assert play.run("dispose c") == []
    assert play.run("release flush c ok") == [
        *ENDED,
        "settled dispose returned",
        "settled dispose2 returned",
        "settled dispose3 returned",
    ]


def test_d5_an_unload_waits_for_the_cleanup_of_what_was_disposed_before() -> None:
    play = playing("create c a cleanup")
    assert play.run("""
        hold cleanup c
        dispose c
    """) == [DISPOSED, *ENDED, "scope/cleanup c"]
    assert play.run("unload host") == []
    assert sorted(play.run("release cleanup c ok")) == ["settled dispose returned", "settled unload returned"]


def test_d6_a_disposed_agent_leaves_nothing_to_its_owner() -> None:
    play = playing()
    play.run("dispose c")
    assert play.run("unload host") == ["settled unload returned"]


def test_d7_the_providers_unload_ends_every_agent_newest_first() -> None:
    play = Play("host", "side")
    play.run("""
        create c a by=host
        create d b by=side
    """)
    seen = play.run("unload provider")
    assert seen == lines("""
        agent/status b#1 disposed
        agent/status a#1 disposed
        agent/disposed b#1
        session/disposed b#1
        agent/disposed a#1
        session/disposed a#1
        settled unload returned
    """)
    assert play.look == NOTHING
    assert play.run("dispose c") == ["settled dispose returned"]


@pytest.mark.parametrize("failure", ["throw", "reject"])
def test_d9_a_failing_listener_of_session_disposed_is_contained(failure: str) -> None:
    play = playing()
    assert play.run(f"""
        react session/disposed do {failure} V
        react session/disposed do look
        dispose c
    """) == [
        DISPOSED,
        *ENDED,
        "settled r2.0 returned agents= roots= sessions=",
        "settled dispose returned",
    ]


def test_d10_a_failing_listener_of_the_disposed_status_is_contained() -> None:
    play = playing()
    assert play.run("""
        react agent/status status=disposed do throw V
        dispose c
    """) == [DISPOSED, *ENDED, "settled dispose returned"]
    assert play.look == NOTHING


def test_d11_two_disposes_at_once_announce_one_end() -> None:
    play = playing()
    assert play.run("""
        dispose c
        dispose c
    """) == [DISPOSED, *ENDED, "settled dispose returned", "settled dispose2 returned"]


def test_d13_a_sibling_is_untouched() -> None:
    play = playing("""
        create c a
        create d b
    """)
    assert play.run("dispose c") == [DISPOSED, *ENDED, "settled dispose returned"]
    assert play.look == "agents=b#1:idle roots=b#1 sessions=b#1"
    assert play.run("send d B") == [
        "agent/queued b#1 B",
        "settled B returned",
        "agent/status b#1 running",
        *turn(1, 0, "B", "d:1", "b#1"),
        "agent/status b#1 idle",
    ]


def test_d14_a_dispose_in_the_running_announcement_opens_no_turn() -> None:
    play = playing()
    assert play.run("""
        react agent/status status=running do dispose this
        send c A
        send c B
    """) == [*sent("A"), *sent("B"), RUNNING, DISPOSED, *ENDED, "settled r1.0 returned"]
    assert play.world.agents[0].answers == 0


def test_d15_a_dispose_at_step_start_closes_the_step() -> None:
    assert playing().run("""
        react log record=step/start do dispose this
        send c A
    """) == [*lines(IN_MODEL), *CUT[1:], *ENDED, "settled r1.0 returned"]


def test_d17_an_agent_that_ended_before_its_driver_started_never_runs() -> None:
    assert Play().run("""
        react agent/session-start do send this A; withdraw this
        create c a
    """) == lines("""
        session/created a#1
        agent/created a#1
        agent/session-start a#1 startup
        agent/queued a#1 A
        settled r1.0 returned
        settled r1.1 returned
        agent/status a#1 disposed
        agent/disposed a#1
        session/disposed a#1
        settled c raised lifecycle-disposed
    """)


def test_d21_an_agent_whose_handle_nobody_kept_ends_with_its_owner() -> None:
    assert playing().run("unload host") == [DISPOSED, *ENDED, "settled unload returned"]


# What the rules say beside the numbered cases.

ENDS = {"dispose c": "dispose", "unload host": "unload", "unload provider": "unload", "withdraw c": ""}


@pytest.mark.parametrize("ends", list(permutations(ENDS, 2)), ids=" then ".join)
def test_whoever_asks_second_joins_the_one_teardown(ends: tuple[str, str]) -> None:
    """D.2: dispose, withdraw and both unloads reach the same memo, in every pair and order."""
    play = in_model("deaf")
    begun: list[str] = []
    for end in ends:
        begun += play.run(f"{end} -> {end.replace(' ', '-')}")
    withdrawn = ["settled withdraw-c returned"] if "withdraw c" in ends else []
    assert sorted(begun) == sorted([*CUT[:2], *withdrawn])
    seen = play.run("release model c text")
    settled = [f"settled {end.replace(' ', '-')} returned" for end in ends if ENDS[end]]
    assert seen[:5] == [*CUT[2:], *ENDED]
    assert sorted(seen[5:]) == sorted(settled)


@pytest.mark.parametrize("ends", list(permutations(ENDS, 2)), ids=" then ".join)
def test_whoever_asks_in_the_same_burst_joins_too(ends: tuple[str, str]) -> None:
    play = playing()
    seen = play.run("\n".join(f"{end} -> {end.replace(' ', '-')}" for end in ends))
    told = [one for one in seen if not one.startswith("settled")]
    assert told == [DISPOSED, *ENDED]
    assert sorted(set(seen) - set(told)) == sorted(f"settled {end.replace(' ', '-')} returned" for end in ends)


def test_an_unload_is_joined_when_it_is_repeated() -> None:
    play = in_model("deaf")
    assert play.run("unload host") == CUT[:2]
    assert play.run("unload host") == []
    assert play.run("release model c text") == [
        *CUT[2:],
        *ENDED,
        "settled unload returned",
        "settled unload2 returned",
    ]
    assert play.run("unload host") == ["settled unload3 returned"]


def test_the_begin_of_an_unload_only_marks_it_inactive() -> None:
    """Decision 9: teardowns begin in a later step, so what comes in the same burst still finds the agent."""
    play = playing()
    assert play("unload host") == []
    assert play("send c A") == sent("A")
    # The driver's wake-up comes before the unload's step, in the canonical order.
    assert play("settle")[0] == RUNNING


def test_a_load_starts_a_new_incarnation_while_the_old_one_unloads() -> None:
    play = in_model("deaf")
    play.run("unload host")
    assert play.run("load host") == ["settled load returned"]
    assert play.run("create d b") == lines("""
        session/created b#1
        agent/created b#1
        agent/session-start b#1 startup
        settled d returned b#1
    """)
    assert play.run("open model c") == [*CUT[2:], *ENDED, "settled unload returned"]
    assert play.look == "agents=b#1:idle roots=b#1 sessions=b#1"


@pytest.mark.parametrize("owner", ["host", "provider"])
def test_a_load_of_what_is_active_is_void(owner: str) -> None:
    play = playing()
    assert play.run(f"load {owner}") == []
    assert len(play.void) == 1


def test_children_end_in_the_scope_of_their_parent_newest_first() -> None:
    """Decision 11: after the parent's session is gone. All are told, then the cleanup begins; all are awaited."""
    play = playing("""
        create p a cleanup
        settle
        create k b by=agent:p
        create l c by=agent:p
    """)
    assert play.run("dispose p") == lines("""
        agent/status a#1 disposed
        agent/disposed a#1
        session/disposed a#1
        agent/status c#1 disposed
        agent/status b#1 disposed
        scope/cleanup p
        agent/disposed c#1
        session/disposed c#1
        agent/disposed b#1
        session/disposed b#1
        settled dispose returned
    """)


def test_a_failing_cleanup_fails_nothing() -> None:
    play = playing("create c a cleanup")
    assert play.run("""
        plan cleanup c fail
        dispose c
    """) == [DISPOSED, *ENDED, "scope/cleanup c", "settled dispose returned"]


def test_a_failing_closing_flush_delays_nothing_else() -> None:
    play = in_model()
    assert play.run("""
        plan flush c fail
        dispose c
    """) == [*CUT, "agent/error a#1 step=0 flush", *ENDED, "settled dispose returned"]


def test_prompts_that_wait_when_disposal_begins_never_run() -> None:
    play = in_model()
    play.run("send c B")
    assert play.run("dispose c") == [*CUT, *ENDED, "settled dispose returned"]


def test_a_dispose_needs_the_handle_also_in_a_reaction() -> None:
    """Decision 25: inside the announcement of its creation nobody has the handle of an agent."""
    play = Play()
    assert play.run("""
        react agent/session-start do dispose this
        create c a
    """) == lines("""
        session/created a#1
        agent/created a#1
        agent/session-start a#1 startup
        settled c returned a#1
    """)


def test_a_dispose_from_inside_a_turn_is_not_awaited_by_it() -> None:
    play = playing()
    assert play.run("""
        react log record=assistant/message do dispose this
        send c A
    """) == [
        *lines(IN_MODEL),
        "log a#1 3 assistant/message c:1",
        DISPOSED,
        "log a#1 4 step/end turn=1 step=1",
        "log a#1 5 turn/end turn=1 disposed",
        "session/flush a#1 upto=6",
        *ENDED,
        "settled r1.0 returned",
    ]


def test_an_idle_announcement_may_dispose() -> None:
    play = playing()
    assert play.run("""
        react agent/status status=idle do dispose this
        send c A
    """) == [*sent("A"), RUNNING, *turn(1, 0, "A", "c:1"), IDLE, DISPOSED, *ENDED, "settled r1.0 returned"]


def test_d18_a_run_that_disposal_is_answered_with_is_drained_before_the_scope_goes_in_2026_08() -> None:
    play = Play(edition=EDITION_2026_08)
    play.run("create c a cleanup")
    play.run("hold model c\nsend c A")
    play.run("react agent/status status=idle do send this B")
    seen = play.run("dispose c")
    assert any(event.endswith("step/start turn=2 step=1") for event in seen)
    assert "scope/cleanup c" not in seen
    seen = play.run("release model c text")
    assert seen.index("agent/status a#1 idle") < seen.index("scope/cleanup c") < seen.index("agent/disposed a#1")
    assert seen[-1] == "settled dispose returned"


def test_an_id_is_free_inside_session_disposed_and_not_inside_agent_disposed_in_2026_08() -> None:
    play = Play(edition=EDITION_2026_08)
    play.run("create c a cleanup")
    seen = play.run("react agent/disposed do create a\nreact session/disposed do create a\ndispose c")
    assert seen.index("session/disposed a#1") < seen.index("session/created a#2")
    assert {"settled r1.0 raised id-exists", "settled r2.0 returned a#2"} <= set(seen)


def test_d19_context_of_a_tool_that_comes_after_disposal_is_parked_and_opens_no_turn_in_2026_08() -> None:
    play = Play(edition=EDITION_2026_08)
    play.run("create c a")
    play.run("plan model c tools:1\nhold tool c deaf\nsend c A")
    assert play.run("dispose c") == ["signal a#1 turn=1 disposed"]
    assert play.run("inject c X") == ["log a#1 7 inbox/inserted next-step X", "settled X returned"]
    assert play.run("release tool c ok") == lines("""
        log a#1 8 tool/result n=1 aborted
        log a#1 9 step/end turn=1 step=1
        log a#1 10 turn/end turn=1 aborted disposed
        agent/status a#1 idle
        agent/disposed a#1
        session/disposed a#1
        settled dispose returned
    """)
