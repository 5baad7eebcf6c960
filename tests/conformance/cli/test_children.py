"""Backends in other processes that do not behave, checked through the real command line. Nothing hangs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.backends.children import PRELUDE

from .conftest import Probate

Name = Callable[..., str]


@pytest.fixture
def child(tmp_path: Path) -> Name:
    """Give the name of a backend that runs a script."""

    def name(script: str, *arguments: object) -> str:
        file = tmp_path / "child.py"
        file.write_text(PRELUDE + script)
        return "cmd:" + shlex.join([sys.executable, str(file), *map(str, arguments)])

    return name


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("print('good morning', flush=True); hear()", "'good morning'"),
        ("hear(); sys.stdout.buffer.write(b'\\xff\\xfe\\x00\\n'); sys.stdout.flush(); hear()", "answered `hello` with"),
        ("sys.exit(3)", "ended with exit code 3 instead of answering `hello`"),
        ("greet(); hear(); say(message='opened'); hear(); os._exit(9)", "ended with exit code 9"),
        ("greet(); hear(); say(message='opened'); hear(); print('{', flush=True); hear()", "answered `burst` with '{'"),
        ("greet(); hear(); say(message='closed'); hear()", "answered `open` with `closed`"),
        ("greet(); hear(); say(message='broke', reason='no more'); hear()", "can't go on after `open`: no more"),
        ("greet(profiles=['cores']); hear()", "unknown profile 'cores'"),
        ("greet(unclaimed={'fields': ['agent/status:mood']}); hear()", "unknown field 'agent/status:mood'"),
        ("hear(); say(message='hello', protocol=99, manifest={}); hear()", "speaks version 99 of the protocol"),
    ],
)
def test_a_child_that_misbehaves(here: Probate, child: Name, script: str, says: str) -> None:
    ran = here("check", child(script), "--cases", "50")
    assert ran.code == 4
    assert says in " ".join(ran.out.split())
    assert ran.out.endswith("harness error: the backend broke (exit code 4)\n")


@pytest.mark.parametrize("script", ["sys.exit(3)", "print('?', flush=True); hear()"])
def test_it_is_so_in_a_process_of_its_own(probate: Probate, child: Name, script: str) -> None:
    assert probate("check", child(script)).code == 4


@pytest.mark.parametrize("script", ["hear(); hear()", "greet(); hear(); say(message='opened'); hear(); hear()"])
def test_a_child_that_is_silent_is_given_up(probate: Probate, child: Name, script: str) -> None:
    ran = probate("check", child(script), "--cases", "5000", "--deadline", "0.3")
    assert ran.code == 4
    assert "within 0.3 s" in ran.out


def test_a_child_that_answers_late_once(probate: Probate, child: Name, tmp_path: Path) -> None:
    """The trace is inconclusive, the others are judged, and the late answer is never taken for another's."""
    script = """
if first_life(sys.argv[1]):
    greet(name="model", version="1")
    hear()
    say(message="opened")
    hear()
    hear()  # the kit ends it here
os.execv(sys.executable, [sys.executable, "-m", "probate_conformance", "serve", "model"])
"""
    name = child(script, tmp_path / "mark")
    ran = probate("check", name, "--cases", "20", "--deadline", "6")
    assert ran.code == 3
    assert "? inconclusive · trace 0" in ran.out
    assert "did not answer `burst` within 6 s" in " ".join(ran.out.split())
    assert "\n  20 traces · " in ran.out


def test_a_child_that_lies_about_what_it_shows(here: Probate, child: Name) -> None:
    ran = here("check", child("greet(); behave()"), "--cases", "3")
    assert ran.code == 1
    assert "seen     nothing more" in ran.out


def test_an_interrupt_does_not_wait_for_a_silent_child(probate: Probate, child: Name) -> None:
    script = """
greet()
hear()
say(message="opened")
hear()
os.kill(os.getppid(), signal.SIGINT)
hear()
"""
    ran = probate("check", child(script), "--deadline", "3600")
    assert ran.code == 3
    assert "not all was run: interrupted" in ran.out


def test_replay_on_a_child_that_dies(here: Probate, child: Name, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"items": [{"item": "look", "label": "l"}]}')
    name = child("greet(); hear(); say(message='opened'); hear(); os._exit(9)")
    ran = here("replay", "t.json", "--backend", name)
    assert ran.code == 4
    assert "ended with exit code 9 instead of answering `burst`" in " ".join(ran.out.split())
    absent = here("replay", "t.json", "--backend", "cmd:/nowhere/at/all")
    assert absent.code == 4
    assert absent.err.startswith("probate: /nowhere/at/all: can't be started")
