"""Children that misbehave, each a few lines of Python; and the conversations that they are asked to hold."""

from __future__ import annotations

import errno
import os
import select
import sys
from collections.abc import Callable, Generator
from pathlib import Path

from probate_conformance.backends.process import ProcessBackend
from probate_conformance.errors import BackendBroke
from probate_conformance.wire import Burst, Close, Command, Open, Quiet, Reply
from probate_model.alphabet.items import WorldSpec
from probate_model.alphabet.names import AgentId, Label, OwnerName
from probate_model.alphabet.ops import ByOwner, Create

PRELUDE = """
import json, os, signal, subprocess, sys

def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)

def say(**message):
    print(json.dumps(message), flush=True)

def greet(**changes):
    hear()
    # The version tells who it is: the test looks for the process when it should be gone.
    manifest = {"name": "odd", "version": str(os.getpid()), "language": "python", **changes}
    say(message="hello", protocol=1, manifest=manifest)

def behave(note="well"):
    while True:
        match hear()["message"]:
            case "open":
                say(message="opened")
            case "burst":
                say(message="quiet", events=[], unknown=[note])
            case "close":
                say(message="closed")

def first_life(mark):
    new = not os.path.exists(mark)
    open(mark, "w").close()
    return new
"""

BURST = Burst(items=(Create(Label("c"), AgentId("x"), ByOwner(OwnerName("host"))),))
OPEN = Open(world=WorldSpec())

Talk = Generator[Command, Reply, list[Reply | BackendBroke]]


def child(script: str, *arguments: object, **options: object) -> ProcessBackend:
    """Give the backend of a child that runs a script, after the prelude."""
    command = (sys.executable, "-c", PRELUDE + script, *map(str, arguments))
    return ProcessBackend(command, name="odd", **options)  # type: ignore[arg-type]


def talk(*commands: Command | Callable[[], object]) -> Talk:
    """Send commands one after the other, whatever happens, and give what came of each. A callable is only called."""
    came: list[Reply | BackendBroke] = []
    for command in commands:
        if callable(command):
            command()
            continue
        try:
            came.append((yield command))
        except BackendBroke as broke:
            came.append(broke)
    return came


def one_burst() -> Generator[Command, Reply, Reply]:
    """Open, send a burst, close; give what answered the burst. Catches nothing."""
    yield OPEN
    reply = yield BURST
    yield Close()
    return reply


def note_of(reply: Reply | BackendBroke) -> str:
    """Give the note that ``behave`` puts into its answers."""
    assert isinstance(reply, Quiet), reply
    (note,) = reply.unknown
    return note


def is_running(pid: int) -> bool:
    """Tell whether a process exists; a zombie does."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Fifo:
    """A named pipe that tells whether its other end is alive."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._reader: int | None = None

    def watch(self) -> None:
        """Open the reading end, before anybody writes."""
        self._reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def read(self) -> bytes:
        """Wait for what is written, or for the end of the last writer."""
        assert self._reader is not None
        ready, _, _ = select.select([self._reader], [], [], 30)
        assert ready, "the writer is still there, and silent"
        return os.read(self._reader, 1024)

    def has_reader(self) -> bool:
        """Tell whether some process has the reading end open."""
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            if error.errno == errno.ENXIO:
                return False
            raise
        return True

    def close(self) -> None:
        if self._reader is not None:
            os.close(self._reader)
