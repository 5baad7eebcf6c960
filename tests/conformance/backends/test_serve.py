from __future__ import annotations

import io
import subprocess
import sys

import pytest

from probate_conformance.backends.model import ModelBackend
from probate_conformance.backends.process import ProcessBackend
from probate_conformance.backends.serve import serve
from probate_conformance.wire import (
    FROM_BACKEND,
    Broke,
    Close,
    Closed,
    Command,
    Hello,
    HelloReply,
    Opened,
    Quiet,
    Reply,
)
from tests.conformance.backends.children import BURST, OPEN, note_of, talk


def answers(*lines: bytes) -> list[HelloReply | Reply | Broke]:
    stdin, stdout = io.BytesIO(b"\n".join(lines) + b"\n"), io.BytesIO()
    serve(ModelBackend(), stdin, stdout)
    return [FROM_BACKEND.validate_json(line) for line in stdout.getvalue().splitlines()]


def line(message: Hello | Command) -> bytes:
    return message.model_dump_json().encode()


def test_conversation() -> None:
    hello, opened, quiet, closed = answers(line(Hello()), line(OPEN), line(BURST), line(Close()))
    assert isinstance(hello, HelloReply)
    assert hello.manifest == ModelBackend().manifest
    assert isinstance(opened, Opened)
    assert isinstance(quiet, Quiet)
    assert quiet.events
    assert isinstance(closed, Closed)


def test_what_is_no_message_is_refused_and_passed_over() -> None:
    *broke, opened = answers(b"lorem", b'{"message": "sing"}', b'{"message": "open", "world": 3}', line(OPEN))
    assert [reply.message for reply in broke] == ["broke"] * 3
    assert isinstance(broke[1], Broke)
    assert broke[1].reason.startswith("not a message of the kit: ")
    assert isinstance(opened, Opened)


def test_another_version_of_the_protocol_is_refused() -> None:
    broke, hello = answers(line(Hello(protocol=9)), line(Hello()))
    assert isinstance(broke, Broke)
    assert broke.reason == "asked for version 9 of the protocol, and this is version 1"
    assert isinstance(hello, HelloReply)


def test_burst_without_a_world() -> None:
    broke, opened = answers(line(BURST), line(OPEN))
    assert isinstance(broke, Broke)
    assert "open a world first" in broke.reason
    assert isinstance(opened, Opened)


def test_defect_of_the_backend_is_told_and_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Reply:
        raise ZeroDivisionError("no paper")

    monkeypatch.setattr(ModelBackend, "answer", fail)
    stdout = io.BytesIO()
    with pytest.raises(ZeroDivisionError):
        serve(ModelBackend(), io.BytesIO(line(OPEN) + b"\n"), stdout)
    broke = FROM_BACKEND.validate_json(stdout.getvalue())
    assert isinstance(broke, Broke)
    assert broke.reason == "ZeroDivisionError: no paper"


def test_standard_output_carries_nothing_else() -> None:
    script = """
import os, sys
from probate_conformance.backends import serve
from probate_conformance.backends.model import ModelBackend
from probate_conformance.wire import Quiet

class Noisy(ModelBackend):
    def answer(self, command):
        print("printed", flush=True)
        os.write(1, b"written\\n")
        os.system("echo from a child")
        return Quiet(events=(), unknown=("calm",)) if command.message == "burst" else super().answer(command)

serve.SERVED["noisy"] = Noisy
sys.exit(serve.main(["noisy"]))
"""
    with ProcessBackend((sys.executable, "-c", script), name="noisy") as backend:
        _, quiet, closed = backend.converse(talk(OPEN, BURST, Close()))
    assert note_of(quiet) == "calm"
    assert isinstance(closed, Closed)


@pytest.mark.parametrize("arguments", [[], ["nobody"], ["model", "model"]])
def test_usage(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "probate_conformance.backends.serve", *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("usage: python -m probate_conformance.backends.serve {model")
