"""``probate run`` as a program: on a real terminal, on a pipe, and what its exit code says."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from probate_reference import JsonlStore, TurnEnd, TurnReason
from probate_reference.__main__ import main
from tests.reference.acp.programs import bash, write_config
from tests.reference.terminal.pseudo import CTRL_C, CTRL_D, HUNG_SECONDS, terminal

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
BOTH = pytest.mark.parametrize("loop", ["asyncio", "trio"])

REPLIES = [
    bash("echo ran; printf '\\033[2J'"),
    {"text": "First\nanswer."},
    {"text": "Hm", "hangs": True},
    {"text": "After the cancel."},
    {"text": "Hm again", "hangs": True},
    {"text": "After the restart."},
]


def written(tmp_path: Path, *agents: dict[str, str], replies: object = REPLIES, **settings: object) -> Path:
    settings = {"home": str(tmp_path / "home"), "tools": True, "grace": 0.1, **settings}
    return write_config(
        tmp_path / "c.toml", **settings, agents=list(agents), model={"kind": "scripted", "replies": replies}
    )


def reasons(tmp_path: Path, id: str) -> list[TurnReason]:
    store = JsonlStore(tmp_path / "home")
    store.open()
    try:
        return [record.reason for record in store.read(id).records if isinstance(record, TurnEnd)]
    finally:
        store.close()


@BOTH
def test_a_person_s_day(tmp_path: Path, loop: str) -> None:
    """A tool that is allowed, a cancel, an end in the middle of a turn, and a restart that goes on."""
    config = written(
        tmp_path, {"label": "notes", "session": "s1"}, {"label": "old", "resume": "none"}, {"label": "helper"}
    )
    with terminal(config, loop, NO_COLOR="1") as person:
        before = person.see("notes> ")
        assert "old could not be started as none: no stored session 'none'\n" in before
        assert "notes is ready: s1, new\nhelper is ready: helper-session-" in before
        person.type("look\n")
        assert "notes: I run it.\n  notes calls bash" in person.see("[y/N] ")
        person.type("y\n")
        assert "  | ran\n  | \\x1b[2J" in person.see("notes> ")
        assert "notes: First\nanswer.\n  [completed]\n" in person.shown
        person.type("hang\n")
        person.see("notes: Hm")
        person.type(CTRL_C)
        assert person.see("notes> ").replace("^C", "") == "\n  cancelling; once more to leave\n  [aborted]\nnotes> "
        person.type("again\n")
        person.see("notes: After the cancel.\n  [completed]\nnotes> ")
        person.type("@nobody x\n")
        person.see("there is no agent @nobody; there are @notes, @helper\nnotes> ")
        person.type("@helper hello\n")
        person.see("helper calls bash")
        person.see("[y/N] ")
        person.type("no\n")
        person.see("permission rejected")
        person.see("[completed]\nhelper> ")
        person.type("@notes hang\n")
        person.see("notes: Hm again")
        person.process.send_signal(signal.SIGTERM)
        assert person.gone() == 128 + signal.SIGTERM
        assert person.shown.endswith("\n  [disposed]\n")
        assert "\033" not in person.shown
        assert "Traceback" not in person.shown
    assert reasons(tmp_path, "s1") == ["completed", "aborted", "completed", "disposed"]
    with terminal(config, loop, NO_COLOR="", TERM="xterm") as person:
        assert "notes is ready: s1, resumed after turn 4" in person.see("notes> ")
        person.type("go on\n")
        person.see("\033[1mnotes: \033[0mAfter the restart.\n")
        person.see("notes> ")
        person.type(CTRL_D)
        assert person.gone() == 0
        assert person.shown.endswith("notes> \n")
    assert reasons(tmp_path, "s1")[4:] == ["completed"]


@BOTH
def test_an_interrupt_while_nothing_is_worked_on_leaves(tmp_path: Path, loop: str) -> None:
    with terminal(written(tmp_path, {"label": "a"}, replies=[]), loop) as person:
        person.see("a> ")
        person.type("half a li")
        person.type(CTRL_C)
        assert person.gone() == 128 + signal.SIGINT
        assert "Traceback" not in person.shown


def piped(config: Path, said: str, loop: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "probate_reference", "run", "--loop", loop, str(config)]
    return subprocess.run(command, input=said, capture_output=True, text=True, check=False, timeout=HUNG_SECONDS)


@BOTH
def test_a_pipe_is_worked_off_prompt_by_prompt(tmp_path: Path, loop: str) -> None:
    replies = [bash("true"), {"text": "One."}, {"fails": "overloaded"}]
    ran = piped(written(tmp_path, {"label": "a", "session": "s1"}, replies=replies), "first\n\nsecond", loop)
    assert ran.returncode == 0
    assert ran.stdout.splitlines() == [
        "a is ready: s1, new",
        "a: I run it.",
        '  a calls bash {"command": "true"}',
        "  | 'bash' was not called: permission unavailable",
        "  | [error]",
        "a: One.",
        "  [completed]",
        "  [error]",
    ]
    nobody = "nobody is there to allow bash command='true'; set permission in the configuration, or use a terminal"
    assert ran.stderr.splitlines() == [f"probate run: {nobody}", "probate run: a: overloaded"]


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_its_streams_it_says_so(tmp_path: Path, closed: str) -> None:
    command = ["/bin/sh", "-c", f'exec "$0" -P -m probate_reference run "$1" {closed}', sys.executable]
    command.append(str(written(tmp_path, {"label": "a"})))
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=HUNG_SECONDS)
    assert ran.returncode == 2
    assert ran.stderr == b"error: standard input or output is closed; a conversation needs both\n"


@needs_full
@BOTH
def test_a_full_disk_for_what_is_shown(tmp_path: Path, loop: str) -> None:
    """Its reader has not gone; so it is an error, and the records are on the disk all the same."""
    config = written(tmp_path, {"label": "a", "session": "s1"}, replies=[{"text": "One."}])
    command = [sys.executable, "-P", "-m", "probate_reference", "run", "--loop", loop, str(config)]
    with FULL.open("wb") as full:
        ran = subprocess.run(
            command, input=b"hi\n", stdout=full, stderr=subprocess.PIPE, check=False, timeout=HUNG_SECONDS
        )
    assert ran.returncode == 1
    assert ran.stderr == (
        b"error: standard output cannot be written to: No space left on device; what was to be said there is lost\n"
    )


def test_without_agents_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(written(tmp_path))]) == 2
    assert capsys.readouterr().err == "error: the configuration names no agents; add [[agents]] with a label\n"
