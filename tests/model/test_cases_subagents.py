"""The numbered cases K of the contract, and traces T23 to T25: subagents."""

from __future__ import annotations

from probate_model.machine import enabled
from probate_model.reduction import timeless
from probate_model.subagents.programs import ENVIRONMENT
from tests.model.helpers import Play, lines


def playing(text: str = "") -> Play:
    """Give a play of the profile in which these items have settled."""
    play = Play(profile="subagents")
    play.run(text)
    return play


def about(shown: list[str], *kinds: str) -> list[str]:
    """Keep the lines of these kinds, without the environment of a program."""
    return [one.partition(" CHILD_")[0] for one in shown if one.startswith(kinds)]


def ended(shown: list[str]) -> list[str]:
    """Keep the ends of runs, without the word that they share."""
    return [one.removeprefix("subagent/end ") for one in about(shown, "subagent/end")]


def heard(shown: list[str]) -> list[str]:
    """Keep what programs hear, with who hears it."""
    return [one.removeprefix("child/hears ") for one in about(shown, "child/hears")]


AT_PROMPT = "hold answer r\nrun r acp T"
"""A run whose program works at its prompt, and heeds a cancel."""


def test_k2_a_program_that_is_cancelled_answers_so_and_the_run_is_aborted() -> None:
    play = playing(AT_PROMPT)
    shown = play.run("cancel_run r")
    assert heard(shown) == ["r session/cancel"]
    assert ended(shown) == ["r aborted"]


def test_k3_a_run_that_nobody_wants_any_more_is_never_driven() -> None:
    shown = playing().run("run r acp T signal=pre-aborted")
    assert about(shown, "child/spawned", "child/hears") == ["child/spawned r in="]
    assert ended(shown) == ["r aborted"]


def test_k4_a_cancel_before_the_session_prompts_nobody() -> None:
    play = playing("hold new-session r\nrun r acp T")
    assert heard(play.run("cancel_run r")) == []
    shown = play.run("open new-session r")
    assert heard(shown) == []
    assert ended(shown) == ["r aborted"]


def test_k6_a_program_that_dies_is_an_error_with_what_it_has_said() -> None:
    play = playing(AT_PROMPT)
    play.run("says r message half.")
    shown = play.run("release answer r dies")
    assert about(shown, "child/gone", "subagent/end") == ["child/gone r", "subagent/end r error half."]


def test_k7_a_program_that_does_not_exist_is_an_error_and_its_parent_lives() -> None:
    play = playing("create c a")
    shown = play.run("run r missing T by=c")
    assert about(shown, "child", "subagent") == ["subagent/start r missing parent=a#1 seeded=0", "subagent/end r error"]
    assert play.run("dispose_run r") == ["settled dispose_run-r returned"]
    assert "agent/status a#1 running" in play.run("send c A")


def test_k8_by_default_a_question_is_cancelled_and_who_stops_on_that_is_aborted() -> None:
    play = playing(AT_PROMPT)
    assert play.run("asks r allow-once") == ["settled ask-r returned cancelled"]
    assert ended(play.run("release answer r cancelled")) == ["r aborted"]


def test_k10_a_question_without_an_option_that_allows_is_cancelled() -> None:
    play = playing("hold answer r\nrun r trusting T")
    assert play.run("asks r reject-once reject-always") == ["settled ask-r returned cancelled"]
    assert play.run("asks r reject-once allow-always allow-once -> q") == ["settled q returned allow-always"]


def test_k11_thoughts_are_no_part_of_the_output() -> None:
    play = playing(AT_PROMPT)
    play.run("says r thought hm.\nsays r message yes.\nsays r tool-call no.\nsays r image no\nsays r message really.")
    assert ended(play.run("open answer r")) == ["r completed yes.really."]


def test_k12_what_is_configured_wins_over_what_is_dropped() -> None:
    found = dict(one.split("=", 1) for one in ENVIRONMENT)
    assert found["DB_PASSWORD"] == "given"
    assert found["EDITOR"] == "overlaid"
    assert found["PATH"] == "/bin"
    assert found["LANG"] == "my-secret-token-key"
    assert not {"KEYBOARD", "monkey_business", "tokenizer", "AWS_SECRET_ACCESS_ID", "PAGER"} & found.keys()


def test_k14_the_signal_of_a_run_is_a_cancel() -> None:
    play = playing("hold answer r\nrun r acp T signal=armed")
    shown = play.run("abort_run r")
    assert heard(shown) == ["r session/cancel"]
    assert ended(shown) == ["r aborted"]


def test_k15_a_provider_that_is_taken_out_leaves_its_runs_alone() -> None:
    play = playing(AT_PROMPT)
    assert play.run("remove acp") == ["settled remove-acp returned"]
    assert play.run("run s acp U") == ["settled s raised no-provider"]
    assert play.run("add acp") == ["settled add-acp returned"]
    assert play.run("add acp -> again") == ["settled again raised duplicate-provider"]
    assert ended(play.run("open answer r")) == ["r completed"]


def test_k16_what_a_provider_can_not_do_is_refused_before_anything_exists() -> None:
    play = playing()
    assert play.run("run r acp T depth=3") == ["settled r raised unsupported-capability"]
    assert play.run("run s spawn U needs=tool-filter") == ["settled s raised unsupported-capability"]
    assert play.run("run t missing V needs=output-schema") == ["settled t raised unsupported-capability"]


def test_k19_a_cancel_before_the_turn_of_a_child_is_no_error() -> None:
    play = playing()
    play("react agent/queued do cancel_run r")
    shown = play.run("run r spawn T")
    assert not [one for one in shown if "turn/start" in one]
    assert "agent/cancel-requested r#1 parent" in shown
    assert ended(shown) == ["r aborted"]
    assert ended(playing().run("run q spawn U\ncancel_run q")) == ["q aborted"]


def test_k20_a_child_that_is_disposed_goes_and_nobody_else() -> None:
    play = playing("create c a\nsettle\nrun r spawn T by=c\nrun s spawn U by=c")
    assert play.look == "agents=a#1:idle,r#1:idle:a#1,s#1:idle:a#1 roots=a#1 sessions=a#1,r#1,s#1"
    assert play.run("dispose_run r")[-1] == "settled dispose_run-r returned"
    assert play.look == "agents=a#1:idle,s#1:idle:a#1 roots=a#1 sessions=a#1,s#1"
    assert play.run("dispose_run r -> again") == ["settled again returned"]


def test_k22_a_fork_that_says_nothing_has_no_output() -> None:
    play = playing("create c a\nsettle\nsend c A\nsettle\nplan model r error")
    shown = play.run("run r fork T by=c")
    assert about(shown, "subagent/start") == ["subagent/start r fork parent=a#1 seeded=6"]
    assert ended(shown) == ["r error"]


def test_k23_a_child_that_would_be_too_deep_is_refused() -> None:
    play = playing("create c a\nsettle\nrun r spawn T by=c depth=1")
    assert play.run("run s spawn U by=r depth=1") == ["settled s raised depth-exceeded"]
    assert play.run("run t fork V depth=0") == ["settled t raised depth-exceeded"]
    assert ended(play.run("run u spawn W by=r depth=2")) == ["u completed u:1"]


def test_k24_a_parent_works_on_beside_its_children() -> None:
    play = playing("create c a\nsettle\nsend c A\nsettle\nhold model c\nsend c B")
    shown = play.run("run r spawn T by=c\nrun s fork U by=c")
    assert ended(shown) == ["r completed r:1", "s completed s:1"]
    assert "log s#1 6 turn/start turn=2 trigger=message" in shown
    assert "log a#1 11 turn/end turn=2 completed" in play.run("open model c")


def test_k26_a_program_that_does_not_go_is_told_again_and_then_made_to() -> None:
    play = playing("hold leave r deaf\nrun r acp T")
    assert heard(play.run("dispose_run r")) == ["r eof"]
    assert heard(play.run("grace r")) == ["r term"]
    assert play.run("grace r -> late") == [
        "settled late returned",
        "child/hears r kill",
        "child/gone r",
        "settled dispose_run-r returned",
    ]
    kind = playing("hold leave s\nrun s acp U\nsettle\ndispose_run s\nsettle")
    assert about(kind.run("grace s"), "child") == ["child/hears s term", "child/gone s"]


def test_k31_the_tool_disposes_its_run_on_every_path() -> None:
    play = playing("create c a\nsettle\nhold answer r\nplan answer s error\ndelegate r acp T by=c signal=armed")
    shown = play.run("delegate s acp U by=c")
    assert about(shown, "child/gone", "settled") == ["child/gone s", "settled s returned error"]
    shown = play.run("abort_run r")
    assert about(shown, "child/gone", "settled r") == ["child/gone r", "settled r returned aborted"]
    shown = play.run("delegate q spawn V by=c")
    assert about(shown, "agent/disposed", "settled q") == ["agent/disposed q#1", "settled q returned completed q:1"]
    assert play.run("delegate p acp W by=c signal=pre-aborted")[-1] == "settled p returned aborted"
    play.run("remove acp")
    assert play.run("delegate o acp X by=c") == ["settled o raised no-provider"]


def test_t23_a_run_of_a_program_from_its_start_to_its_end() -> None:
    play = playing("create c a")
    shown = play.run("run r acp T by=c")
    assert about(shown, "child", "subagent", "settled") == lines("""
        child/spawned r in=/a
        subagent/start r acp parent=a#1 seeded=0
        settled r returned r
        child/hears r initialize
        child/hears r session/new
        child/hears r session/prompt
        subagent/end r completed
    """)
    assert play.run("await_run r") == ["settled await_run-r returned completed"]
    assert play.run("dispose_run r") == lines("""
        child/hears r eof
        child/gone r
        settled dispose_run-r returned
    """)


def test_t24_an_early_cancel_is_only_a_flag() -> None:
    play = playing("hold new-session r\nrun r acp T")
    assert play.run("await_run r\ncancel_run r") == ["settled cancel_run-r returned"]
    assert sorted(play.run("open new-session r")) == ["settled await_run-r returned aborted", "subagent/end r aborted"]


def test_t25_a_pipe_that_is_torn_after_a_cancel_is_an_abort() -> None:
    play = playing("hold answer r deaf\nrun r acp T")
    play.run("says r message half.")
    assert play.run("cancel_run r") == ["settled cancel_run-r returned", "child/hears r session/cancel"]
    shown = play.run("release answer r dies")
    assert shown == ["child/gone r", "subagent/end r aborted half."]


# Beside the cases.


def test_the_reason_of_the_program_counts_also_after_a_cancel() -> None:
    play = playing("hold answer r deaf\nrun r acp T\nsettle\ncancel_run r")
    assert ended(play.run("release answer r end-turn")) == ["r completed"]


def test_every_reason_to_stop_has_its_word() -> None:
    for reason, stop in (
        ("end-turn", "completed"),
        ("max-tokens", "max-tokens"),
        ("refusal", "refusal"),
        ("cancelled", "aborted"),
        ("max-turn-requests", "error"),
        ("unknown", "error"),
        ("error", "error"),
    ):
        assert ended(playing(f"plan answer r {reason}").run("run r acp T")) == [f"r {stop}"]


def test_a_program_that_fails_before_its_prompt_is_an_error() -> None:
    for gate in ("initialize", "new-session"):
        for outcome in ("error", "dies"):
            assert ended(playing(f"plan {gate} r {outcome}").run("run r acp T")) == ["r error"]


def test_a_parent_that_ends_takes_its_children_along_but_no_program() -> None:
    play = playing("create c a\nsettle\nhold model r\nhold answer s\nrun r spawn T by=c\nrun s acp U by=c")
    shown = play.run("dispose c")
    assert ended(shown) == ["r error"]
    assert heard(shown) == []
    assert play.look == "agents= roots= sessions="
    assert ended(play.run("open answer s")) == ["s completed"]


def test_a_question_that_can_not_be_answered_any_more_ends_with_the_program() -> None:
    play = playing("hold leave r\nhold answer r\nrun r acp T\nsettle\ndispose_run r")
    assert play.run("asks r allow-once") == []
    shown = play.run("open leave r")
    assert "settled ask-r raised connection-closed" in shown
    assert ended(shown) == ["r error"]


def test_a_cancel_that_can_not_be_told_any_more_waits_for_the_answer_like_any_other() -> None:
    for released, stop in (("answer r end-turn", "completed"), ("answer r dies", "aborted"), ("leave r", "aborted")):
        play = playing("hold leave r\nhold answer r deaf\nrun r acp T\nsettle\ndispose_run r")
        assert play.run("cancel_run r") == ["settled cancel_run-r returned"]
        assert ended(play.run(f"release {released}")) == [f"r {stop}"]


def test_a_signal_is_not_heard_any_more_when_somebody_disposes_the_run() -> None:
    play = playing("hold leave r\nhold answer r\nrun r acp T signal=armed\nsettle\ndispose_run r")
    assert play.run("abort_run r") == ["settled abort_run-r returned"]
    assert ended(play.run("open leave r")) == ["r error"]
    inside = playing("hold model r\nrun r spawn T signal=armed")
    assert ended(inside.run("dispose_run r\nabort_run r")) == ["r error"]


def test_a_question_after_a_cancel_is_cancelled_also_where_it_would_be_allowed() -> None:
    play = playing("hold answer r deaf\nrun r trusting T\nsettle\ncancel_run r")
    assert play.run("asks r allow-once") == ["settled ask-r returned cancelled"]


def test_a_program_that_is_told_to_go_may_still_answer() -> None:
    play = playing("hold leave r\nhold answer r\nrun r acp T\nsettle\ndispose_run r")
    assert ended(play.run("open answer r")) == ["r completed"]
    assert about(play.run("open leave r"), "settled dispose") == ["settled dispose_run-r returned"]


def test_an_op_on_what_is_not_there_is_void() -> None:
    play = playing("run r spawn T\nrun s acp U")
    for op in ("says r message w.", "asks s allow-once", "grace s", "cancel_run q", "await_run q", "abort_run s"):
        assert play.run(op) == []
    assert play.run("run t spawn V by=q") == []
    assert Play().run("run r spawn T") == []


def test_an_answer_that_may_be_lost_is_no_step_that_can_be_hurried() -> None:
    play = playing("hold answer r\nrun r acp T")
    play("dispose_run r\nopen answer r")
    waiting = [step for step in enabled(play.world) if step.activity == "room"]
    assert len(waiting) == 2
    assert not [step for step in waiting if timeless(play.world.agents, step, play.world.edition, play.world.rooms)]
