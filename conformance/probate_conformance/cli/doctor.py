"""``probate doctor``: walk a new adapter through the protocol, up to the first line that is wrong."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from typing import Final

from probate_conformance.backends.registry import COMMAND
from probate_conformance.cli.options import add_color, add_deadline, require_edition
from probate_conformance.cli.output import emit
from probate_conformance.doctor.diagnosis import Finding, of_break, of_divergence
from probate_conformance.doctor.lessons import LESSONS, Lesson
from probate_conformance.doctor.patient import Patient
from probate_conformance.errors import BackendBroke, Exit, UsageError
from probate_conformance.interrupts import Interrupt
from probate_conformance.lockstep import Examined, Verdict, examine
from probate_conformance.manifest import Manifest
from probate_conformance.plan import apart
from probate_conformance.printable import printable
from probate_conformance.render.layout import wrapped
from probate_conformance.render.style import Ink, Style, style_for
from probate_conformance.running import carry_out, entered
from probate_conformance.view import view_of
from probate_conformance.wire import PROTOCOL

NAME: Final = "doctor"
SUMMARY: Final = "walk a new adapter through the protocol, up to the first line that is wrong"
DESCRIPTION: Final = """\
Start an adapter, greet it, and ask it for one thing after the other, each in a world of its own.
At the first line that is not as it should be, show the line, what was expected there, and why.
What its manifest does not claim is left out, and so are all profiles but core. Options stand before
the command.
"""
PROFILE: Final = "core"
"""The profile that the lessons are of."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("--edition", default="2026-06", metavar="E", help="of the contract (default: %(default)s)")
    add_deadline(parser)
    add_color(parser)
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="CMD...", help="what starts the adapter, as in: node adapter.ts"
    )


def run(arguments: argparse.Namespace) -> Exit:
    """Examine the adapter, and tell.

    :raises UsageError: if no command is given
    """
    require_edition(arguments.edition)
    command = _command(arguments.command)
    style = style_for(sys.stdout, os.environ, no_color=arguments.no_color)
    patient = Patient(command, deadline=arguments.deadline)
    interrupt = Interrupt()
    with interrupt.taken():
        try:
            with entered(patient, interrupt, patient.name):
                return _walk(patient, arguments.edition, interrupt, style, shlex.join(command))
        except BackendBroke as broke:  # it never came to the first lesson
            emit(_line(style, Verdict.BROKEN, "hello", "it is greeted, and says what it is"))
            emit(_told(of_break(patient, broke), style))
            return broke.exit


def _command(words: list[str]) -> list[str]:
    """Give the words of the command; one that is quoted whole, or as `check` wants it, will do."""
    if words[:1] == ["--"]:
        words = words[1:]
    if len(words) == 1:
        try:
            words = shlex.split(words[0].removeprefix(COMMAND))
        except ValueError as error:
            raise UsageError(f"can't be split into words: {error}", where=words[0]) from None
    if not words:
        raise UsageError("no command is given", mend="as in: probate doctor node adapter.ts")
    return words


def _walk(patient: Patient, edition: str, interrupt: Interrupt, style: Style, command: str) -> Exit:
    manifest = patient.manifest
    said = f"{manifest.name} {manifest.version}, {manifest.language}; protocol {PROTOCOL}"
    emit(_line(style, Verdict.PASS, "hello", printable(said)))
    others = [profile for profile in manifest.profiles if profile != PROFILE]
    if len(others) == len(manifest.profiles):
        emit("".join(f"{line}\n" for line in _elsewhere(others, command, style)))
        return Exit.NOT_RUN
    held = 0
    unknown: dict[str, None] = {}
    blind = False
    for lesson in LESSONS:
        if lacks := lesson.lacks(manifest.unclaimed):
            emit(_line(style, Verdict.NOT_CLAIMED, lesson.name, f"not claimed: {', '.join(lacks)}"))
            continue
        examined = _examine(patient, lesson, manifest, edition, interrupt)
        emit(_line(style, examined.verdict, lesson.name, lesson.teaches))
        if examined.broke is not None:
            emit(_told(of_break(patient, examined.broke), style))
            return examined.broke.exit
        if examined.divergence is not None:
            emit(_told(of_divergence(patient, examined), style))
            emit(f"\nmore: probate explain {examined.divergence.clause}\n")
            return Exit.FAIL
        held += 1
        unknown |= dict.fromkeys(examined.unknown)
        blind = blind or any(exchange.snapshot is None for exchange in examined.exchanges)
    emit("".join(f"{line}\n" for line in _well(held, list(unknown), blind, command, style)))
    emit("".join(f"also: {line}\n" for line in _checks(others, command)))
    return Exit.PASS


def _examine(patient: Patient, lesson: Lesson, manifest: Manifest, edition: str, interrupt: Interrupt) -> Examined:
    trace = lesson.trace.model_copy(update={"edition": edition})
    if manifest.bursts == "no":
        trace = trace.with_items(tuple(apart(trace.items)))
    return carry_out(patient, examine(trace, view_of(manifest)), interrupt, patient.name)


def _line(style: Style, verdict: Verdict, name: str, said: str) -> str:
    return f"{style.mark(verdict)} {style.ink(f'{name:<9}', Ink.CYAN)} {said}\n"


def _told(finding: Finding, style: Style) -> str:
    lines = [""]
    width = max(len(name) for name, _ in finding.rows) + 2
    for name, said in finding.rows:
        first, *more = wrapped(said, 2 + width)
        lines += [f"  {style.ink(name, Ink.BOLD)}{' ' * (width - len(name))}{first.strip()}", *more]
    return "".join(f"{line}\n" for line in lines)


def _well(held: int, unknown: list[str], blind: bool, command: str, style: Style) -> Iterator[str]:
    yield ""
    yield style.verdict(f"all {held} that it claims were as they should be", Verdict.PASS, Ink.BOLD)
    if unknown:
        yield from wrapped(f"names that are not of the alphabet: {', '.join(map(printable, unknown))}", 2)
    if blind:
        yield from wrapped("its answers lack the snapshot, without which the registries at rest can't be judged", 2)
    yield f"next: probate check {shlex.quote(f'{COMMAND}{command}')} --cases 20"


def _elsewhere(others: list[str], command: str, style: Style) -> Iterator[str]:
    yield ""
    yield style.verdict(f"it does not claim profile {PROFILE}, and the doctor walks no other", Verdict.NOT_REACHED)
    yield from (f"next: {line}" for line in _checks(others, command))


def _checks(profiles: list[str], command: str) -> Iterator[str]:
    """Give the command that checks each of some profiles."""
    for profile in profiles:
        yield f"probate check {shlex.quote(f'{COMMAND}{command}')} --profile {profile} --cases 20"
