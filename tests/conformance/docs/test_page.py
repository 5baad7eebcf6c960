"""The page: what is committed is what the generator gives, it tells all clauses, and its traces can be run."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from probate_conformance.backends.registry import make_backend
from probate_conformance.docs import tables
from probate_conformance.docs.__main__ import write
from probate_conformance.docs.page import EDITIONS as EDITIONS_PAGE
from probate_conformance.docs.page import PICTURES, TRACES, all_shown, chapters, files, group_of
from probate_conformance.docs.traces import Shown
from probate_conformance.interrupts import Interrupt
from probate_conformance.lockstep import Verdict
from probate_conformance.manifest import OP_NAMES
from probate_conformance.running import replay
from probate_conformance.trace import dangling, load
from probate_model.alphabet.editions import EDITION_2026_06
from probate_model.alphabet.events import EVENT_KINDS
from probate_model.alphabet.gates import GateKind
from probate_model.alphabet.refusals import Refusal
from probate_model.clauses import CLAUSES

DOCS = Path(__file__).parents[3] / "docs"
SHOWN = {shown.name: shown for shown in all_shown()}


def committed() -> dict[str, str]:
    paths = [DOCS / tables.PAGE, DOCS / EDITIONS_PAGE, *(DOCS / PICTURES).iterdir(), *(DOCS / TRACES).iterdir()]
    return {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def test_what_is_committed_is_what_the_generator_gives() -> None:
    now, before = files(), committed()
    stale = sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))
    assert not stale, f"`make docs` writes these anew: {', '.join(stale)}"


def test_another_process_with_another_hash_seed_gives_the_same_bytes() -> None:
    digest = "import hashlib; from probate_conformance.docs.page import files; print(hashlib.sha256(repr(files()).encode()).hexdigest())"  # noqa: E501
    run = subprocess.run(
        [sys.executable, "-c", digest],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == hashlib.sha256(repr(files()).encode()).hexdigest()


def test_writing_removes_what_an_earlier_run_wrote(tmp_path: Path) -> None:
    (tmp_path / PICTURES).mkdir()
    (tmp_path / PICTURES / "gone.svg").write_text("old")
    (tmp_path / PICTURES / "notes.txt").write_text("not ours")
    write(tmp_path)
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert made == {*files(), f"{PICTURES}/notes.txt"}


def test_each_clause_is_told_once_in_a_chapter_of_its_own() -> None:
    told = [clause.id for _, clauses in chapters() for clause in clauses]
    assert sorted(told) == sorted(CLAUSES)
    page = files()[tables.PAGE]
    for clause in CLAUSES:
        assert page.count(f'id="{clause.lower()}"') == 1


def test_what_the_default_edition_does_not_ask_comes_last_in_its_table_and_says_so() -> None:
    told = "\n".join(tables.clauses([CLAUSES["FLUSH-05"], CLAUSES["FLUSH-01"], CLAUSES["EFFECT-09"]]))
    marks = [
        "flush-01",
        "only in edition 2026-08",
        "flush-05",
        "only with choices that no",
        "effect-09",
    ]
    places = [told.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "only" not in "\n".join(tables.clauses([CLAUSES["FLUSH-01"]]))


def test_the_page_says_which_chapters_every_runtime_is_held_to() -> None:
    opening = files()[tables.PAGE].partition("## In short")[0]
    core = [clause for clause in CLAUSES.values() if clause.profile == "core"]
    asked = sum(clause.holds_in(EDITION_2026_06) for clause in core)
    assert f"{asked} clauses" in opening
    of_core = [all(clause in core for clause in clauses) for _, clauses in chapters()]
    assert of_core == sorted(of_core, reverse=True)
    last = [chapter.title for (chapter, _), every in zip(chapters(), of_core, strict=True) if every][-1]
    assert f"*{last}*" in opening


def test_every_group_of_clauses_has_a_chapter() -> None:
    assert [chapter.title for chapter, _ in chapters() if not chapter.groups] == []


def test_a_clause_of_a_group_that_no_chapter_names_is_told_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = replace(CLAUSES["CALL-01"], id="ODD-01", choice="wake", sentence="All <odd> things are even.")
    monkeypatch.setitem(CLAUSES, "ODD-01", odd)
    chapter, clauses = list(chapters())[-1]
    assert (chapter.title, clauses) == ("More", [odd])
    page = files()[tables.PAGE]
    assert "All &lt;odd&gt; things are even. ◇\N{NO-BREAK SPACE}<code>wake</code>" in page
    wake = next(line for line in page.splitlines() if line.startswith("| `wake` |"))
    assert wake.startswith(
        "| `wake` | When input that wakes an idle agent opens its turn. | `deferred` | `within-send` |"
    )
    assert wake.endswith(", [ODD-01](#odd-01) |")


def test_the_alphabet_of_the_page_is_whole() -> None:
    page = files()[tables.PAGE]
    alphabet = page[page.index("## The alphabet") : page.index("## Where the contract has two readings")]
    words = [*OP_NAMES, *EVENT_KINDS, *GateKind, *Refusal]
    assert [str(word) for word in words if f"\n| `{word}` |" not in alphabet] == []


def test_every_link_leads_somewhere() -> None:
    page, made = files()[tables.PAGE], files()
    for target in {part.partition(")")[0] for part in page.split("](")[1:]}:
        assert (f'id="{target[1:]}"' in page) if target.startswith("#") else target in made, target


def test_the_editions_stand_side_by_side_with_each_clause_named_once_and_linked_to_its_row() -> None:
    page, contract = files()[EDITIONS_PAGE], files()[tables.PAGE]
    _, _, below = page.partition("## How many clauses")
    for clause in CLAUSES:
        assert below.count(f"[{clause}](") == 1, clause
    for target in {part.partition(")")[0] for part in page.split("](")[1:]}:
        file, _, anchor = target.partition("#")
        assert file == tables.PAGE
        assert not anchor or f'id="{anchor}"' in contract
    (row,) = (line for line in below.splitlines() if line.startswith("| [CANCEL-16]"))
    assert row.endswith("|  | ✓ | `partial_text_on_abort` is `yes` |")


def test_each_picture_speaks_for_its_chapter() -> None:
    for chapter, _ in chapters():
        for shown in chapter.pictures:
            assert {group_of(clause) for clause in shown.scene.demanded} & set(chapter.groups), shown.name


@pytest.mark.parametrize("name", SHOWN)
def test_a_trace_of_the_page_is_a_trace_file(name: str) -> None:
    trace = load(DOCS / TRACES / f"{name}.json")
    assert trace == SHOWN[name].trace
    assert not list(dangling(trace))


@pytest.mark.parametrize("backend", ["model", "reference", "reference-trio"])
@pytest.mark.parametrize("shown", SHOWN.values(), ids=SHOWN)
def test_a_trace_of_the_page_holds(shown: Shown, backend: str) -> None:
    replayed = replay(backend, make_backend(backend), shown.trace, Interrupt())
    assert replayed.verdict is Verdict.PASS, replayed.story


def test_what_is_said_of_members_is_read_from_the_source() -> None:
    assert set(tables.members_of(GateKind)) == set(GateKind.__members__)
    assert set(tables.members_of(Refusal)) == set(Refusal.__members__)
    assert tables.members_of(GateKind)["TOOL"] == "A tool's body."


def test_a_row_tells_of_a_gate() -> None:
    assert "| `tool` | `ok`, `error` | A tool's body. |" in list(tables.gates())
