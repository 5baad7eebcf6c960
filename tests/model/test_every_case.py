"""Every numbered case of the chapters A to K is a test, or stands on the list of those that can't be one."""

from __future__ import annotations

import re
from types import ModuleType

from tests.model import (
    test_cases_bridge,
    test_cases_cancel,
    test_cases_creation,
    test_cases_fibers,
    test_cases_registry,
    test_cases_sessions,
    test_cases_subagents,
    test_cases_teardown,
    test_cases_turns,
)
from tests.model.excluded import CASES, EXCLUDED
from tests.model.task_cases import CASES as TASKS

MODULES: dict[str, ModuleType] = {
    "A": test_cases_cancel,
    "B": test_cases_turns,
    "C": test_cases_creation,
    "D": test_cases_teardown,
    "E": test_cases_registry,
    "F": test_cases_sessions,
    "G": test_cases_sessions,
    "H": test_cases_fibers,
    "J": test_cases_bridge,
    "K": test_cases_subagents,
}

KNOWN = {f"{chapter}{number}" for chapter, numbers in CASES.items() for number in numbers}


def carried(chapter: str) -> set[str]:
    """Give the cases that a module of tests names."""
    names = [f"test_{name}" for name in TASKS] if chapter == "I" else [*vars(MODULES[chapter])]
    named = (re.match(rf"test_({chapter.lower()}\d+)_", name) for name in (*names, *vars(test_cases_sessions)))
    return {match[1].upper() for match in named if match}


def test_the_list_of_cases_is_whole() -> None:
    assert {chapter: len(numbers) for chapter, numbers in CASES.items()} == {
        "A": 33,
        "B": 26,
        "C": 24,
        "D": 16,
        "E": 8,
        "F": 24,
        "G": 9,
        "H": 16,
        "I": 23,
        "J": 24,
        "K": 24,
    }
    assert all(list(numbers) == sorted(set(numbers)) for numbers in CASES.values())


def test_every_case_is_tested_or_excluded_and_none_is_both() -> None:
    for chapter in CASES:
        cases = {case for case in KNOWN if case.startswith(chapter)}
        excluded = {case for case in EXCLUDED if case.startswith(chapter)}
        assert carried(chapter) | excluded == cases
        assert carried(chapter) & excluded == set()


def test_every_exclusion_has_its_reason() -> None:
    assert all(len(reason) > 20 for reason in EXCLUDED.values())
