"""A report as text, for a person at a terminal: short when all is well, a story where it is not.

Only the first line differs between two runs of the same thing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from probate_conformance.errors import Exit
from probate_conformance.lockstep import Verdict
from probate_conformance.printable import printable
from probate_conformance.render.layout import wrapped
from probate_conformance.render.style import Ink, Style
from probate_conformance.report import (
    TIME_UP,
    ClauseResult,
    Driven,
    Failure,
    Header,
    Reached,
    Replayed,
    Report,
    Run,
    Setting,
    Share,
    Totals,
    Trouble,
)
from probate_model.alphabet.editions import EDITIONS
from probate_model.clauses import CLAUSES

MOST_TROUBLES: Final = 5
"""How many troubles are told; the others are counted."""

MEANINGS: Final = {
    Exit.PASS: "all that was asked for was carried out and held",
    Exit.FAIL: "the contract does not hold",
    Exit.USAGE: "the command is wrong",
    Exit.INCONCLUSIVE: "not all was shown to hold or to fail",
    Exit.BROKEN: "the backend broke",
    Exit.NOT_RUN: "nothing was shown; that is not a success",
    Exit.DEFECT: "probate itself is at fault; please report it",
}
"""What each exit code means, at the end of a report."""

_WORDS: Final = {
    Verdict.FAIL: "failed",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.BROKEN: "broken",
    Verdict.NOT_CLAIMED: "not claimed",
    Verdict.BLOCKED: "blocked",
    Verdict.NOT_REACHED: "not reached",
}
_REMARKS: Final = {
    Verdict.NOT_CLAIMED: "the backend does not show what these are seen by",
    Verdict.BLOCKED: "traces ended before they could be judged; never demanded elsewhere",
    Verdict.NOT_REACHED: "never demanded; more traces may reach them: --cases",
}


def render(run: Run, style: Style, *, verbose: bool = False) -> str:
    """Give a run as text.

    :param verbose: tell how often each clause was demanded, instead of the least of each group
    """
    return "".join(f"{line}\n" for line in _run(run, style, verbose))


def _run(run: Run, style: Style, verbose: bool) -> Iterator[str]:
    yield from _header(run, style)
    for report in run.reports:
        yield ""
        yield from _report(report, style, verbose)
    yield ""
    yield _end(run, style)


def _header(run: Run, style: Style) -> Iterator[str]:
    header: Header = run.header
    parts = (f"probate {header.version}", header.started, f"{header.seconds:.1f} s", header.python, header.platform)
    yield from (style.ink(line, Ink.DIM) for line in wrapped(style.separator.join(parts), 0))


def _report(report: Report, style: Style, verbose: bool) -> Iterator[str]:
    yield from _setting(report, style)
    if report.totals.steps:
        yield ""
        yield from _clauses(report.clauses, style, verbose)
    if report.drifts:
        yield ""
        yield from _drifts(report, style)
    results = {result.id: result for result in report.clauses}
    for failure in report.failures:
        if results[failure.clause].expected is None:
            yield ""
            yield from _failure(failure, report, style)
    if report.troubles:
        yield ""
        yield from _troubles(report.troubles, report.setting.backend, style)
    yield from _expected(report, style)
    if report.totals.steps:
        yield from _others(report, style)
        if report.reached is not None:
            yield ""
            yield from _reached(report.reached, style, verbose)
    if report.driven is not None:
        yield from _driven(report.driven, report.setting, style)
    yield ""
    yield from _totals(report, style)


def _setting(report: Report, style: Style) -> Iterator[str]:
    setting = report.setting
    manifest = setting.manifest
    is_called = manifest is not None and manifest.name != setting.backend
    called = f" ({printable(manifest.name)} {printable(manifest.version)})" if manifest and is_called else ""
    asked = [f"edition {setting.edition}", f"profile {setting.profile}", f"seed {setting.seed}"]
    tour = f" and the tour {setting.tour}" if setting.tour else ""
    many = _many(setting.cases, "trace") + tour + (f" x {setting.schedules} schedules" if setting.schedules > 1 else "")
    if setting.seconds is not None:
        many = f"{_many(report.totals.traces, 'trace')} in {setting.seconds:g} s"
    asked.append(many)
    if setting.only:
        asked.append(f"only {', '.join(setting.only)}")
    yield style.ink(printable(setting.backend), Ink.BOLD) + called
    yield f"  {style.ink(style.separator.join(asked), Ink.DIM)}"
    if manifest and manifest.edition != setting.edition:
        yield from wrapped(f"note: by its own word it follows edition {manifest.edition}", 2)
    for note in manifest.notes if manifest else ():
        yield from wrapped(f"note: {printable(note)}", 2)


def _clauses(results: tuple[ClauseResult, ...], style: Style, verbose: bool) -> Iterator[str]:
    if not verbose:
        yield style.ink(f"    {'clauses':<10}{'held':>8}{'fewest demands':>28}{'most':>28}", Ink.DIM)
    tell = _every if verbose else _least
    for group, members in groupby(results, key=_group):
        yield from tell(group, list(members), style)


def _group(result: ClauseResult) -> str:
    return result.id.partition("-")[0]


def _least(group: str, members: list[ClauseResult], style: Style) -> Iterator[str]:
    """Tell of a group how many held, and how often they were demanded: the fewest and the most."""
    worst = _worst(members)
    held = sorted((member for member in members if member.verdict is Verdict.PASS), key=_demanded)
    line = f"{group:<10}" + style.verdict(f"{len(held):>2} of {len(members):>2}", worst)
    for member in (held[:1] + held[-1:]) if len(held) > 1 else held:
        line += f"{member.demanded:>14,}  {member.id:<12}"
    yield f"  {style.mark(worst)} {line}".rstrip()


def _every(group: str, members: list[ClauseResult], style: Style) -> Iterator[str]:
    """Tell of each clause of a group how often it was demanded."""
    cells = []
    for member in members:
        count = f"{member.demanded:,}" if member.verdict is Verdict.PASS else _WORDS[member.verdict]
        cells.append(f"{style.mark(_shown(member))} {member.id.partition('-')[2]} {count:>12}")
    for place in range(0, len(cells), 4):
        yield f"  {group if not place else '':<12}" + "   ".join(cells[place : place + 4])


def _demanded(result: ClauseResult) -> int:
    return result.demanded


_WORST_FIRST: Final = (
    Verdict.FAIL,
    Verdict.BROKEN,
    Verdict.INCONCLUSIVE,
    Verdict.BLOCKED,
    Verdict.NOT_REACHED,
    Verdict.PASS,
    Verdict.NOT_CLAIMED,
)


def _worst(members: Iterable[ClauseResult]) -> Verdict:
    return min((_shown(member) for member in members), key=_WORST_FIRST.index)


def _shown(result: ClauseResult) -> Verdict:
    """Give the verdict that a clause is marked by: a failure that was expected alarms nobody, and a stale one does."""
    if result.stale:
        return Verdict.FAIL
    return Verdict.NOT_CLAIMED if result.verdict is Verdict.FAIL and not result.fails else result.verdict


def _drifts(report: Report, style: Style) -> Iterator[str]:
    """Tell in which choices the backend differs from the edition."""
    count = sum(len(drift.choices) for drift in report.drifts)
    edition = report.setting.edition
    head = f"differs from edition {edition} in {_many(count, 'choice')}; what lies behind was judged with them"
    yield f"{style.mark(Verdict.FAIL)} {style.verdict(head, Verdict.FAIL, Ink.BOLD)}"
    usual = EDITIONS[edition].choices()
    for drift in report.drifts:
        for place, (name, value) in enumerate(drift.choices.items()):
            said = f"{name:<22} {value:<14} instead of {usual[name]}"
            where = f"{drift.clause}, trace {drift.number}"
            yield f"  {said:<52} {style.ink(where if not place else 'with the one above', Ink.DIM)}"


def _failure(failure: Failure, report: Report, style: Style) -> Iterator[str]:
    clause = CLAUSES.get(failure.clause)
    count = next((result.failed for result in report.clauses if result.id == failure.clause), 0)
    level = f" {clause.level}" if clause else ""
    many = f"failed in {_many(count, 'trace')}, first in number {failure.number}"
    size = f"shrunk to {_many(failure.case.length, 'item')}"
    name = style.verdict(failure.clause, Verdict.FAIL, Ink.BOLD)
    yield f"{style.mark(Verdict.FAIL)} {name}{level}{style.dot}{many}{style.dot}{size}"
    yield from _sentence(failure.clause, style, named=False)
    yield ""
    yield from (f"  {_told(line, style)}" for line in failure.story.splitlines())
    if failure.file:
        yield ""
        yield _again(style, failure.file)


def _sentence(name: str, style: Style, *, named: bool = True) -> Iterator[str]:
    clause = CLAUSES.get(name)
    if clause is None:
        yield "  the model can't name the clause: a defect of its annotations"
    else:
        yield from (
            style.ink(line, Ink.BOLD) for line in wrapped(f"{f'{name}: ' if named else ''}{clause.sentence}", 2)
        )
        yield from (style.ink(line, Ink.DIM) for line in wrapped(clause.why, 2))


def _told(line: str, style: Style) -> str:
    """Give a line of a story with its words in colour."""
    word = line.strip().partition(" ")[0]
    before = line[: len(line) - len(line.lstrip())]
    match word:
        case "seen":
            return before + style.verdict(line.strip(), Verdict.FAIL)
        case "allowed" | "or":
            return before + style.verdict(line.strip(), Verdict.PASS)
        case ".":
            return style.ink(line, Ink.DIM)
        case _:
            return line


def _again(style: Style, *arguments: str) -> str:
    return f"  again: {style.ink(shlex.join(('probate', 'replay', *arguments)), Ink.CYAN)}"


def _troubles(troubles: tuple[Trouble, ...], backend: str, style: Style) -> Iterator[str]:
    for trouble in troubles[:MOST_TROUBLES]:
        where = "before any trace" if trouble.number is None else f"trace {trouble.number}"
        yield f"{style.mark(trouble.verdict)} {style.verdict(str(trouble.verdict), trouble.verdict)}{style.dot}{where}"
        for line in map(printable, trouble.reason.splitlines()):
            yield from wrapped(line, 2)
        if trouble.file:
            yield _again(style, trouble.file, "--backend", backend)
    more = len(troubles) - MOST_TROUBLES
    if more > 0:
        yield f"  and {_many(more, 'trace')} more that neither passed nor failed"


def _others(report: Report, style: Style) -> Iterator[str]:
    """Tell of what did not pass and did not fail."""
    for verdict, remark in _REMARKS.items():
        names = [result.id for result in report.clauses if result.verdict is verdict]
        if names:
            yield ""
            head = f"{_WORDS[verdict]} ({len(names)}): {remark}"
            yield f"{style.mark(verdict)} {style.verdict(head, verdict)}"
            yield from _named(names, style)
    if report.totals.aside:
        yield ""
        aside = sum(report.totals.aside.values())
        yield f"? {_many(aside, 'trace')} ended at clauses that are not judged here; what lies behind was not judged"
        yield from wrapped(", ".join(f"{name} x {count}" for name, count in report.totals.aside.items()), 2)
    if report.totals.unknown:
        yield ""
        yield f"? events that are not of the alphabet ({len(report.totals.unknown)}): ignored"
        yield from wrapped(
            ", ".join(f"{printable(name)} x {count}" for name, count in report.totals.unknown.items()), 2
        )


def _expected(report: Report, style: Style) -> Iterator[str]:
    """Tell of what was expected to fail: that it did, or that it did not."""
    files = {failure.clause: failure.file for failure in report.failures}
    expected = [result for result in report.clauses if result.expected is not None]
    for result in expected:
        reason = printable(str(result.expected))
        if result.verdict is Verdict.FAIL:
            yield ""
            said = f"failed in {_many(result.failed, 'trace')}, as expected"
            yield f"{style.mark(Verdict.NOT_CLAIMED)} {style.ink(result.id, Ink.BOLD)}{style.dot}{said}"
            yield from wrapped(reason, 2)
            if file := files.get(result.id):
                yield _again(style, file)
        elif result.stale:
            yield ""
            word = "held" if result.verdict is Verdict.PASS else _WORDS[result.verdict]
            said = f"expected to fail, but {word}: take it off the list of expected failures"
            yield f"{style.mark(Verdict.FAIL)} {style.verdict(result.id, Verdict.FAIL, Ink.BOLD)}{style.dot}{said}"
            yield from wrapped(reason, 2)


def _reached(reached: Reached, style: Style, verbose: bool) -> Iterator[str]:
    """Tell what the traces came to: loudly of the windows that they missed, the rest in two lines or on request."""
    missed = [name for name, count in reached.windows.items() if not count]
    if missed:
        head = f"windows that no trace fell into ({len(missed)}): what is special there was not put to the test"
        yield f"{style.mark(Verdict.NOT_REACHED)} {style.verdict(head, Verdict.NOT_REACHED, Ink.BOLD)}"
        yield from (f"  {line}" for line in missed)
    if verbose:
        yield from _counts("windows", {name: f"{count:,}" for name, count in reached.windows.items()}, style)
        yield from _counts("held gates", {name: f"{count:,}" for name, count in reached.holds.items()}, style)
        yield from _counts("reactions", {name: f"{count:,}" for name, count in reached.reactions.items()}, style)
        yield from _counts("items carried out", {name: _share(share) for name, share in reached.items.items()}, style)
        yield from _counts("refusals", {name: f"{count:,}" for name, count in reached.refusals.items()}, style)
        return
    parts = [f"{len(reached.windows) - len(missed)} of {len(reached.windows)} windows reached"]
    if reached.items:
        done, void = (sum(getattr(share, name) for share in reached.items.values()) for name in ("done", "void"))
        parts.append(f"{_share(Share(done=done, void=void))} items carried out")
    yield f"  {style.ink(style.separator.join(parts), Ink.DIM)}"


def _driven(driven: Driven, setting: Setting, style: Style) -> Iterator[str]:
    items = "one item" if driven.burst == 1 else f"up to {driven.burst} items"
    under = f", under {setting.schedules} schedules each" if setting.schedules > 1 else ""
    said = (
        f"{driven.driven:,} of {driven.transitions:,} transitions of the settled model driven "
        f"(tour {driven.tour}: {driven.states:,} states at rest, bursts of {items}){under}"
    )
    if driven.unclaimed:
        said += f"; {driven.unclaimed:,} not driven, since the walks to them need what is not claimed"
    yield from (f"  {style.ink(line.strip(), Ink.DIM)}" for line in wrapped(said, 2))


def _share(share: Share) -> str:
    return f"{100 * share.done // (share.done + share.void)} % of {share.done + share.void:,}"


def _counts(title: str, counts: dict[str, str], style: Style) -> Iterator[str]:
    if counts:
        yield f"  {style.ink(title, Ink.DIM)}"
        yield from (f"    {name:<44}{count:>16}" for name, count in counts.items())


def _named(names: list[str], style: Style) -> Iterator[str]:
    """Give the ids of clauses, group by group; a whole group as one."""
    words = []
    for group, members in groupby(names, key=lambda name: name.partition("-")[0]):
        these = list(members)
        whole = len(these) > 1 and len(these) == sum(name.startswith(f"{group}-") for name in CLAUSES)
        words += [f"{group}-*"] if whole else these
    yield from (style.ink(line, Ink.DIM) for line in wrapped(" ".join(words), 2))


def _totals(report: Report, style: Style) -> Iterator[str]:
    totals: Totals = report.totals
    if totals.ended and totals.ended != TIME_UP:
        yield style.ink(f"  not all was run: {totals.ended}", Ink.YELLOW)
    yield f"{style.mark(totals.verdict)} {style.verdict(_said(report), totals.verdict, Ink.BOLD)}"
    if totals.steps:
        counts = [
            _many(totals.traces, "trace"),
            f"{totals.steps:,} steps compared, {totals.voids:,} void",
            f"{_many(totals.bursts, 'burst')}, {totals.searched:,} searched",
        ]
        yield f"  {style.ink(style.separator.join(counts), Ink.DIM)}"


def _said(report: Report) -> str:
    totals = report.totals
    counts = dict(totals.clauses)
    total = sum(counts.values())
    if not totals.steps:
        return "nothing was run"
    if totals.verdict is Verdict.PASS and counts.get(Verdict.PASS) == total:
        return f"all {total} clauses held" if total > 1 else "the clause held"
    expected = sum(result.verdict is Verdict.FAIL and not result.fails for result in report.clauses)
    counts[Verdict.FAIL] = counts.get(Verdict.FAIL, 0) - expected
    others = [f"{counts[verdict]} {word}" for verdict, word in _WORDS.items() if counts.get(verdict)]
    if expected:
        others.append(f"{expected} failed as expected")
    stale = sum(result.stale for result in report.clauses)
    if stale:
        others.append(f"{stale} expected to fail did not")
    return ", ".join([f"{counts.get(Verdict.PASS, 0)} of {total} clauses held", *others])


def _end(run: Run, style: Style) -> str:
    end = run.end
    meaning = MEANINGS[end.exit]
    if end.exit is Exit.PASS and any(Verdict.FAIL in report.totals.clauses for report in run.reports):
        meaning = "all that was asked for was carried out and held, but for what is expected to fail"
    code = f"exit code {end.code}{f': ended by {end.signal}' if end.signal else ''}"
    return style.verdict(f"{end.verdict}: {meaning} ({code})", end.verdict, Ink.BOLD)


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def render_replay(replayed: Replayed, style: Style) -> str:
    """Give what one run of one case showed as text."""
    return "".join(f"{line}\n" for line in _replay(replayed, style))


def _replay(replayed: Replayed, style: Style) -> Iterator[str]:
    yield style.ink(printable(replayed.backend), Ink.BOLD)
    yield ""
    yield from (f"  {_told(line, style)}" for line in replayed.story.splitlines())
    yield ""
    verdict = replayed.verdict
    if replayed.clause:
        yield from _sentence(replayed.clause, style)
    for line in map(printable, replayed.reason.splitlines()):
        yield from wrapped(line, 2)
    expectation = _EXPECTATIONS[replayed.as_expected, verdict is Verdict.FAIL]
    word = "fails" if verdict is Verdict.FAIL else "holds" if verdict is Verdict.PASS else str(verdict)
    said = f"{word}{f': {expectation}' if expectation else ''} (exit code {int(replayed.exit)})"
    yield f"{style.mark(verdict)} {style.verdict(said, verdict, Ink.BOLD)}"


_EXPECTATIONS: Final = {
    (True, True): "this is the expected divergence",
    (False, True): "but this is not the divergence that the case expects",
    (False, False): "the divergence that the case expects did not show",
    (None, True): "",
    (None, False): "",
}
