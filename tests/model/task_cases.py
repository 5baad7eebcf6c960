"""The numbered cases I of the contract, and its traces T18 and T19: what is done, and what is to be seen of tasks.

Of what is seen, the cases say the ends of tasks, the settlements of ops on tasks, notices and the results of tools;
the rest is core, and is tested there. They are played on the model, and run on the reference on both loops.
"""

from __future__ import annotations

BOTH = """
    create c a
    create d b
    settle
"""
"""Two agents."""

HELD = f"""{BOTH}
    hold exit t
    start t by=c
    settle
"""
"""A task of the one, which waits to be told how to end."""

CASES: dict[str, tuple[str, str]] = {
    "i1_another_session_can_neither_read_nor_kill": (
        f"""{HELD}
        read t by=d
        kill t by=d
        settle
        tasks
        kill t by=c
        settle
        """,
        """
        settled t returned bash-1
        settled read raised access-denied
        settled kill raised access-denied
        settled tasks returned bash-1:running
        settled kill2 returned True
        task/done bash-1 killed signal:15
        notice a#1 bash-1
        """,
    ),
    "i2_a_caller_without_an_agent_is_denied": (
        f"""{HELD}
        read t
        kill t
        settle
        """,
        """
        settled t returned bash-1
        settled read raised access-denied
        settled kill raised access-denied
        """,
    ),
    "i4_an_agent_of_the_same_id_may_access": (
        f"""{HELD}
        dispose c
        settle
        create e a
        settle
        read t by=e
        kill t by=e
        settle
        """,
        """
        settled t returned bash-1
        settled read returned running
        settled kill returned True
        task/done bash-1 killed signal:15
        notice a#2 bash-1
        """,
    ),
    "i5_what_has_ended_is_still_whose_it_was": (
        f"""{HELD}
        release exit t ok
        settle
        read t by=d
        read t by=c
        settle
        """,
        """
        settled t returned bash-1
        task/done bash-1 completed code:0
        notice a#1 bash-1
        settled read raised access-denied
        settled read2 returned completed
        """,
    ),
    "i6_a_reload_of_the_tool_touches_nothing": (
        f"""{HELD}
        untool
        read t by=c
        settle
        retool
        owner t
        tasks
        read t by=d
        read t by=c
        settle
        """,
        """
        settled t returned bash-1
        settled untool returned
        settled read raised unknown-tool
        settled retool returned
        settled owner returned owner=a
        settled tasks returned bash-1:running
        settled read2 raised access-denied
        settled read3 returned running
        """,
    ),
    "i8_the_empty_token_is_an_owner": (
        f"""{BOTH}
        hold exit t
        launch t owner=
        settle
        owner t
        read t by=c
        read t
        settle
        """,
        """
        settled t returned bash-1
        settled owner returned owner=
        settled read raised access-denied
        settled read2 raised access-denied
        """,
    ),
    "i9_an_unknown_id_is_unknown": (
        f"""{BOTH}
        read unknown-task by=c
        kill unknown-task by=c
        read empty-task by=c
        owner unknown-task
        kill unknown-task directly
        settle
        """,
        """
        settled owner returned nobody
        settled kill2 raised unknown-task
        settled read raised unknown-task
        settled kill raised unknown-task
        settled read2 raised invalid-task-id
        """,
    ),
    "i10_the_owner_gets_one_notice": (
        f"""{HELD}
        release exit t fail
        settle
        """,
        """
        settled t returned bash-1
        task/done bash-1 completed code:1
        notice a#1 bash-1
        """,
    ),
    "i12_a_notice_to_who_is_ending_is_dropped_and_any_other_failure_is_contained": (
        f"""{HELD}
        hold flush c
        inject c X
        settle
        dispose c
        await t
        release exit t ok
        settle
        hold exit u
        start u by=d
        settle
        registry broken
        await u
        release exit u ok
        settle
        """,
        """
        settled t returned bash-1
        task/done bash-1 completed code:0
        settled await returned
        settled u returned bash-2
        settled registry returned
        task/done bash-2 completed code:0
        settled await2 returned
        """,
    ),
    "i13_without_a_registry_there_is_no_notice": (
        f"""{HELD}
        registry absent
        release exit t ok
        settle
        """,
        """
        settled t returned bash-1
        settled registry returned
        task/done bash-1 completed code:0
        """,
    ),
    "i14_nobody_is_told_of_what_nobody_owns": (
        f"""{BOTH}
        launch t
        settle
        """,
        """
        settled t returned bash-1
        task/done bash-1 completed code:0
        """,
    ),
    "i16_a_tool_that_was_unloaded_hears_nothing": (
        f"""{HELD}
        untool
        release exit t ok
        settle
        retool
        read t by=c
        settle
        """,
        """
        settled t returned bash-1
        settled untool returned
        task/done bash-1 completed code:0
        settled retool returned
        settled read returned completed
        """,
    ),
    "i17_disposal_tells_nobody_and_waits_for_every_exit": (
        f"""{BOTH}
        hold exit t deaf
        hold exit u
        start t by=c
        start u by=c
        settle
        await t
        await u
        stop_executor
        tasks
        owner t
        read t directly
        settle
        launch v
        release exit t ok
        settle
        """,
        """
        settled t returned bash-1
        settled u returned bash-2
        settled tasks returned no tasks
        settled owner returned nobody
        settled read raised unknown-task
        settled await2 returned
        settled v raised executor-inactive
        settled await returned
        settled stop_executor returned
        """,
    ),
    "i18_with_finished_tasks_only_disposal_returns": (
        f"""{BOTH}
        launch t
        settle
        stop_executor
        settle
        stop_executor
        settle
        """,
        """
        settled t returned bash-1
        task/done bash-1 completed code:0
        settled stop_executor returned
        settled stop_executor2 returned
        """,
    ),
    "i20_a_signal_that_fires_later_kills": (
        """
        hold exit t
        launch t armed
        settle
        fire t
        tasks
        settle
        """,
        """
        settled t returned bash-1
        settled fire returned
        settled tasks returned bash-1:killed
        task/done bash-1 killed signal:15
        """,
    ),
    "i21_a_signal_that_has_fired_starts_nothing": (
        """
        launch t pre-aborted
        tasks
        launch u
        settle
        """,
        """
        settled t raised aborted
        settled tasks returned no tasks
        settled u returned bash-1
        task/done bash-1 completed code:0
        """,
    ),
    "i22_a_command_that_cannot_be_run_is_a_killed_task": (
        """
        launch t broken
        tasks
        settle
        read t directly
        """,
        """
        settled t returned bash-1
        settled tasks returned bash-1:running
        task/done bash-1 killed none
        settled read returned !stderr killed
        """,
    ),
    "i25_a_second_read_has_only_what_is_new": (
        f"""{HELD}
        say t one
        say t two
        settle
        read t by=d
        read t by=c
        settle
        say t three
        release exit t ok
        settle
        read t by=c
        settle
        read t by=c
        settle
        """,
        """
        settled t returned bash-1
        settled say returned
        settled say2 returned
        settled read raised access-denied
        settled read2 returned one two running
        settled say3 returned
        task/done bash-1 completed code:0
        notice a#1 bash-1
        settled read3 returned three completed
        settled read4 returned completed
        """,
    ),
    "t18_facts_listeners_notice_done": (
        f"""{HELD}
        react task/done do tasks; throw V
        await t
        release exit t ok
        settle
        """,
        """
        settled t returned bash-1
        task/done bash-1 completed code:0
        settled r1.0 returned bash-1:completed
        notice a#1 bash-1
        settled await returned
        """,
    ),
    "t19_a_reload_with_a_task_that_runs": (
        f"""{HELD}
        untool
        settle
        retool
        settle
        owner t
        read t by=d
        read t by=c
        settle
        release exit t ok
        settle
        """,
        """
        settled t returned bash-1
        settled untool returned
        settled retool returned
        settled owner returned owner=a
        settled read raised access-denied
        settled read2 returned running
        task/done bash-1 completed code:0
        notice a#1 bash-1
        """,
    ),
    "in_a_turn_a_tool_call_starts_and_another_one_is_denied": (
        f"""{BOTH}
        hold exit t
        start t by=c turn
        plan model c tools:1
        send c A
        settle
        read t by=d turn
        plan model d tools:1
        send d B
        settle
        """,
        """
        settled t returned bash-1
        tool/result n=1 ok
        settled read raised access-denied
        tool/result n=1 error
        """,
    ),
    "a_cancel_of_the_turn_ends_what_the_turn_has_started": (
        f"""{BOTH}
        hold exit t
        hold tool c
        start t by=c turn
        plan model c tools:2
        send c A
        settle
        cancel c
        tasks
        settle
        """,
        """
        settled t returned bash-1
        tool/result n=1 ok
        settled tasks returned bash-1:killed
        tool/result n=2 aborted
        task/done bash-1 killed signal:15
        notice a#1 bash-1
        """,
    ),
    "a_kill_that_comes_when_the_process_was_told_to_end": (
        """
        hold exit t deaf
        launch t
        settle
        release exit t ok
        kill t directly
        settle
        """,
        """
        settled t returned bash-1
        settled kill returned True
        task/done bash-1 killed code:0
        """,
    ),
    "an_executor_that_is_loaded_again_uses_no_name_twice": (
        f"""{HELD}
        stop_executor
        new_executor
        owner t
        settle
        read t by=c
        start u by=c
        settle
        """,
        """
        settled t returned bash-1
        settled new_executor returned
        settled owner returned nobody
        settled stop_executor returned
        settled read raised unknown-task
        settled u returned bash-2
        task/done bash-2 completed code:0
        notice a#1 bash-2
        """,
    ),
}
"""By name, the items, and what is to be seen of tasks."""


def of_tasks(shown: list[str]) -> list[str]:
    """Give what lines of events say of tasks."""
    kept = []
    for line in shown:
        words = line.split()
        if line.startswith("task/done"):
            kept.append(line)
        elif "context/message done:" in line:
            kept.append(f"notice {words[1]} {words[-1].removeprefix('done:')}")
        elif "tool/result" in line:
            kept.append(" ".join(words[3:]))
        elif words[0] == "settled" and words[1] not in OF_CORE:
            kept.append(line)
    return kept


OF_CORE = {"c", "d", "e", "A", "B", "X", "dispose", "cancel"}
"""The calls that are not about tasks."""
