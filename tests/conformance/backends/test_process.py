from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from probate_conformance.backends import child as child_module
from probate_conformance.backends.base import Backend
from probate_conformance.backends.model import ModelBackend
from probate_conformance.backends.process import ProcessBackend
from probate_conformance.environment import child_environment
from probate_conformance.errors import BackendBroke, BackendSilent
from probate_conformance.generation import generate
from probate_conformance.lockstep import Exchange, Verdict, examine
from probate_conformance.wire import Burst, Close, Closed, Opened, Quiet
from probate_model.alphabet.names import Label
from probate_model.alphabet.ops import Look
from probate_model.worlds import EVERYTHING
from tests.conformance.backends.children import (
    BURST,
    OPEN,
    Fifo,
    child,
    is_running,
    note_of,
    one_burst,
    talk,
)

MODEL = (sys.executable, "-m", "probate_conformance.backends.serve", "model")


def exchanges(backend: Backend, numbers: Sequence[int]) -> list[list[Exchange]]:
    seen = []
    for number in numbers:
        examined = backend.converse(examine(generate(3, number), EVERYTHING))
        assert examined.verdict is Verdict.PASS
        seen.append(examined.exchanges)
    return seen


class TestWellBehaved:
    def test_model_answers_the_same_from_another_process(self) -> None:
        numbers = range(8)
        with ProcessBackend(MODEL) as outside, ModelBackend() as inside:
            assert outside.manifest == inside.manifest
            assert exchanges(outside, numbers) == exchanges(inside, numbers)

    def test_many_conversations_with_one_child(self) -> None:
        with child("greet()\nbehave(str(os.getpid()))") as backend:
            notes = {note_of(backend.converse(one_burst())) for _ in range(3)}
        assert notes == {backend.manifest.version}

    def test_manifest_is_asked_for_too_early(self) -> None:
        backend = child("greet()")
        with pytest.raises(RuntimeError, match="enter the backend first"):
            _ = backend.manifest

    def test_partial_lines(self) -> None:
        script = """
greet()
hear()
for letter in json.dumps({"message": "opened"}) + "\\n":
    os.write(1, letter.encode())
behave()
"""
        with child(script) as backend:
            assert note_of(backend.converse(one_burst())) == "well"

    def test_flood_on_standard_error(self) -> None:
        script = """
flood = b"lorem ipsum\\n" * 300_000
os.write(2, flood) and greet()
sys.stderr.buffer.write(flood)
hear(); say(message="opened")
sys.stderr.buffer.write(flood)
behave()
"""
        with child(script) as backend:
            assert note_of(backend.converse(one_burst())) == "well"

    def test_long_messages_both_ways(self) -> None:
        script = """
greet()
hear(); say(message="opened")
many = len(hear()["items"])
say(message="quiet", events=[], unknown=["x" * 1_000_000, str(many)])
behave()
"""
        items = tuple(Look(Label(f"k{number}")) for number in range(20_000))
        with child(script) as backend:
            _, quiet, *_ = backend.converse(talk(OPEN, Burst(items=items), Close()))
        assert isinstance(quiet, Quiet)
        assert [len(name) for name in quiet.unknown] == [1_000_000, 5]
        assert quiet.unknown[1] == "20000"


# What a child does instead of answering a burst, and what is said of it.
FAULTS = {
    "garbage": ('print("lorem", flush=True)', "answered `burst` with 'lorem': is no JSON"),
    "empty line": ("print(flush=True)", "answered `burst` with '': is no JSON"),
    "no text": ('os.write(1, b"\\xff\\xfe\\n")', "answered `burst` with"),
    "escapes": ('print("\\x1b[2J", flush=True)', "'\\x1b[2J'"),
    "no object": ("print([], flush=True)", "answered `burst` with '[]'"),
    "no message": ('say(answer="quiet")', "answered `burst` with"),
    "unknown message": ('say(message="calm")', "'calm'"),
    "wrong kind": ('say(message="opened")', "answered `burst` with `opened`"),
    "hello again": (
        "say(message='hello', protocol=1, manifest={'name': 'n', 'version': '1', 'language': 'x'})",
        "answered `burst` with `hello`",
    ),
    "unknown event": (
        'say(message="quiet", events=[{"event": "agent/exploded", "agent": "x#1"}])',
        "quiet.events[0]: unknown event 'agent/exploded'",
    ),
    "unknown field": ('say(message="quiet", events=[], mood="good")', "quiet.mood"),
    "wrong type": (
        'say(message="quiet", events=[{"event": "session/flush", "agent": "x#1", "upto": "1"}])',
        "upto: must be a valid integer",
    ),
    "missing field": ('say(message="quiet")', "quiet.events: is missing"),
    "refusal": ('say(message="broke", reason="out of paper")', "can't go on after `burst`: out of paper"),
    "long line": ('print("x" * 200_000, flush=True)', "sent a line of more than 100000 bytes"),
    "endless line": ('while True: os.write(1, b"x" * 4096)', "sent a line of more than 100000 bytes"),
    "exit": ("sys.exit(7)", "ended with exit code 7 instead of answering `burst`"),
    "exit at a good time": ("sys.exit(0)", "ended with exit code 0 instead of answering `burst`"),
    "traceback": ("1 / 0", "ZeroDivisionError: division by zero"),
    "signal": ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL instead of answering `burst`"),
    "half an answer": ("os.write(1, b'{'); sys.exit(1)", "exit code 1 instead of answering `burst`, after '{'"),
    "closed output": ("os.close(1); signal.pause()", "closed its standard output instead of answering `burst`"),
}


class TestFaults:
    @pytest.fixture(params=FAULTS)
    def fault(self, request: pytest.FixtureRequest) -> tuple[str, str]:
        return FAULTS[request.param]

    def test_is_thrown_into_the_conversation(self, fault: tuple[str, str], tmp_path: Path) -> None:
        script = f"""
greet(version="1")
if first_life({str(tmp_path / "mark")!r}):
    hear(); say(message="opened")
    hear()
    {fault[0]}
behave("second life")
"""
        with child(script, longest_line=100_000, grace=1) as backend:
            came = backend.converse(talk(OPEN, BURST, BURST, Close(), OPEN, BURST, Close()))
        opened, broke, gone, closed, opened_again, quiet, _ = came
        assert isinstance(opened, Opened)
        assert isinstance(broke, BackendBroke)
        assert not isinstance(broke, BackendSilent)
        assert fault[1] in str(broke)
        assert str(broke).startswith("odd: ")
        assert len(str(broke)) < 2000
        assert str(broke).replace("\n", "").isprintable()
        assert "open a world first" in str(gone)
        assert isinstance(closed, Closed)
        assert isinstance(opened_again, Opened)
        assert note_of(quiet) == "second life"

    def test_leaves_nothing_behind(self, fault: tuple[str, str]) -> None:
        script = f"greet()\nhear(); say(message='opened')\nhear()\n{fault[0]}"
        with child(script, longest_line=100_000, grace=1) as backend:
            with pytest.raises(BackendBroke):
                backend.converse(one_burst())
            assert not is_running(int(backend.manifest.version))

    def test_two_answers_to_one_question(self) -> None:
        script = """
greet()
hear()
os.write(1, b'{"message": "opened"}\\n{"message": "quiet", "events": []}\\n')
behave()
"""
        with child(script) as backend:
            _, broke = backend.converse(talk(OPEN, BURST))
        assert "spoke without being asked: '{" in str(broke)

    def test_first_and_last_words(self) -> None:
        """Given a child that says a lot, Then what it said first is kept as well as what it said last."""
        script = """
greet()
sys.stderr.write("out of\\n\\nink\\n" + "lorem\\n" * 100_000 + "\\x1b[31mno paper\\n\\nleft")
sys.exit(3)
"""
        with child(script) as backend:
            (broke,) = backend.converse(talk(OPEN))
        said = str(broke).partition("its standard error:\n    ")[2].split("\n    ")
        assert said == ["out of", "ink", *3 * ["lorem"], "...", *6 * ["lorem"], "\\x1b[31mno paper", "left"]

    @pytest.mark.parametrize("count", [1, 13])
    def test_few_words_are_kept_whole(self, count: int) -> None:
        with child(f"greet()\nsys.stderr.write('ipsum\\n' * {count})\nsys.exit(3)") as backend:
            (broke,) = backend.converse(talk(OPEN))
        assert str(broke).partition("its standard error:")[2] == count * "\n    ipsum"

    def test_interrupted_kit_drops_the_child(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*_: object, **__: object) -> bytes:
            raise KeyboardInterrupt

        with child("greet()\nbehave()") as backend:
            pid = int(backend.manifest.version)
            with monkeypatch.context() as patch:
                patch.setattr(child_module.Child, "ask", interrupt)
                with pytest.raises(KeyboardInterrupt):
                    backend.converse(one_burst())
            assert not is_running(pid)

    def test_grandchild_holds_the_output(self, fifo: Fifo, tmp_path: Path) -> None:
        fifo.watch()
        go = Fifo(tmp_path / "go")
        ready = threading.Thread(target=lambda: (fifo.read(), go.path.write_text("go")))
        ready.start()
        script = """
greet()
hear(); say(message="opened")
hear()
inner = "import signal, sys; file = open(sys.argv[1], 'w'); print('up', file=file, flush=True); signal.pause()"
subprocess.Popen([sys.executable, "-c", inner, sys.argv[1]])
open(sys.argv[2]).read()
sys.exit(4)
"""
        with child(script, fifo.path, go.path) as backend:
            _, broke = backend.converse(talk(OPEN, BURST))
            assert not isinstance(broke, BackendSilent)
            assert "exit code 4" in str(broke)
            assert fifo.read() == b""
        ready.join()


class TestSilence:
    def silent(self, script: str, *arguments: object) -> BackendSilent:
        with child(script, *arguments) as backend:

            def hurry() -> None:
                backend.deadline = 0.1

            _, silent = backend.converse(talk(OPEN, hurry, BURST))
            assert not is_running(int(backend.manifest.version))
        assert isinstance(silent, BackendSilent)
        return silent

    def test_no_answer(self) -> None:
        silent = self.silent("greet()\nhear(); say(message='opened')\nhear()\nsignal.pause()")
        assert "did not answer `burst` within 0.1 s" in str(silent)

    def test_half_an_answer(self) -> None:
        self.silent("greet()\nhear(); say(message='opened')\nhear()\nos.write(1, b'{')\nsignal.pause()")

    def test_endless_words(self) -> None:
        script = "greet()\nhear(); say(message='opened')\nhear()\nwhile True: os.write(2, b'lorem\\n' * 1000)"
        assert "    lorem\n" in str(self.silent(script))

    def test_reads_nothing(self) -> None:
        items = tuple(Look(Label(f"k{number}")) for number in range(20_000))
        with child("greet()\nhear(); say(message='opened')\nsignal.pause()") as backend:

            def hurry() -> None:
                backend.deadline = 0.1

            _, silent = backend.converse(talk(OPEN, hurry, Burst(items=items)))
        assert isinstance(silent, BackendSilent)

    def test_late_answer_is_never_taken(self, tmp_path: Path, fifo: Fifo) -> None:
        # In its first life the child answers once it is told to. Told to it can be only while it lives.
        script = """
greet(version="1")
if first_life(sys.argv[1]):
    hear(); say(message="opened")
    hear()
    open(sys.argv[2]).read()
    behave("late")
behave("in time")
"""
        with child(script, tmp_path / "mark", fifo.path) as backend:

            def set_deadline(seconds: float) -> None:
                backend.deadline = seconds

            alive = []
            came = backend.converse(
                talk(
                    OPEN,
                    lambda: set_deadline(0.1),
                    BURST,
                    lambda: set_deadline(30),
                    lambda: alive.append(fifo.has_reader()),
                    OPEN,
                    BURST,
                )
            )
        _, silent, opened, quiet = came
        assert isinstance(silent, BackendSilent)
        assert alive == [False]
        assert isinstance(opened, Opened)
        assert note_of(quiet) == "in time"


# What a child says when it is greeted, and what is said of it.
LIES = {
    "garbage": (
        'hear(); print("lorem", flush=True)',
        "answered `hello` with 'lorem': is no JSON: expected value at line 1 column 1\n  answer each message with one",
    ),
    "newer protocol": (
        "hear(); say(message='hello', protocol=2, manifest={'name': 'new', 'colour': 'red'})",
        "speaks version 2 of the protocol, and this is version 1",
    ),
    "no version": (
        "hear(); say(message='hello', manifest={'name': 'n'})",
        "hello.manifest.version: is missing\n  `probate schema wire` prints what",
    ),
    "unknown edition": ("greet(edition='1999-12')", "unknown edition '1999-12'; known are 2026-06"),
    "unknown event": ("greet(unclaimed={'events': ['agent/exploded']})", "unknown event 'agent/exploded'"),
    "unknown profile": ("greet(profiles=['cores'])", "unknown profile 'cores'"),
    "unknown field": ("greet(price=3)", "hello.manifest.price"),
    "no name": ("greet(name='')", "hello.manifest.name"),
    "wrong kind": ("hear(); say(message='opened')", "answered `hello` with `opened`"),
    "dead": ("sys.exit(2)", "ended with exit code 2 instead of answering `hello`"),
}


class TestHello:
    @pytest.mark.parametrize("lie", LIES)
    def test_lie(self, lie: str) -> None:
        script, said = LIES[lie]
        with pytest.raises(BackendBroke) as raised, child(script + "\nbehave()"):
            pytest.fail("it was believed")
        assert said in str(raised.value)

    def test_says_something_else_later(self) -> None:
        with child("greet()\nhear()\nsys.exit(1)") as backend:
            _, other = backend.converse(talk(OPEN, OPEN))
        assert "says something else of itself than before" in str(other)

    @pytest.mark.parametrize("command", ["/nowhere/at/all", "", "a\0b"])
    def test_no_such_command(self, command: str) -> None:
        with pytest.raises(BackendBroke, match="can't be started"), ProcessBackend([command], name="none"):
            pytest.fail("it was started")


class TestEnd:
    def end(self, script: str, *arguments: object, grace: float = 30) -> None:
        with child(f"greet(version=str(os.getpid()))\n{script}", *arguments, grace=grace) as backend:
            pid = int(backend.manifest.version)
            assert is_running(pid)
        assert not is_running(pid)

    def test_input_ends(self, tmp_path: Path) -> None:
        self.end("assert not sys.stdin.readline()\nopen(sys.argv[1], 'w').write('done')", tmp_path / "end")
        assert (tmp_path / "end").read_text() == "done"

    def test_says_a_lot_before_it_ends(self, tmp_path: Path) -> None:
        script = (
            "sys.stdin.read()\nfor fd in 1, 2: os.write(fd, b'x' * 1_000_000)\nopen(sys.argv[1], 'w').write('done')"
        )
        self.end(script, tmp_path / "end")
        assert (tmp_path / "end").read_text() == "done"

    def test_ignores_the_end_of_its_input(self, tmp_path: Path) -> None:
        script = """
def leave(*_):
    open(sys.argv[1], "w").write("told")
    sys.exit()
signal.signal(signal.SIGTERM, leave)
sys.stdin.read()
while True: signal.pause()
"""
        # The handler stands before the greeting is over, or the signal may come first.
        greeted_last = script.replace("sys.stdin.read()", "greet()\nsys.stdin.read()")
        with child(greeted_last, tmp_path / "end", grace=1) as backend:
            pid = int(backend.manifest.version)
        assert not is_running(pid)
        assert (tmp_path / "end").read_text() == "told"

    def test_ignores_everything(self) -> None:
        script = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ngreet()\nwhile True: signal.pause()"
        with child(script, grace=0.1) as backend:
            pid = int(backend.manifest.version)
        assert not is_running(pid)

    @pytest.mark.parametrize("stubborn", [False, True])
    def test_grandchild_ends_with_it(self, fifo: Fifo, stubborn: bool) -> None:
        fifo.watch()
        script = """
inner = '''
import signal, sys
if sys.argv[2] == "True": signal.signal(signal.SIGTERM, signal.SIG_IGN)
file = open(sys.argv[1], "w")
print(file.write("up"), file=file, flush=True)
while True: signal.pause()
'''
subprocess.Popen([sys.executable, "-c", inner, *sys.argv[1:]], stdout=subprocess.DEVNULL)
greet()
behave()
"""
        with child(script, fifo.path, stubborn):
            assert fifo.read().startswith(b"up")
        assert fifo.read() == b""

    def test_nothing_to_end(self) -> None:
        backend = child("greet()")
        backend.__exit__(None, None, None)

    def test_without_pidfd(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(child_module, "_open_pidfd", lambda pid: None)
        self.end("behave()")
        with child(
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ngreet()\nwhile True: signal.pause()", grace=0.1
        ) as backend:
            pid = int(backend.manifest.version)
        assert not is_running(pid)
        with child("greet()\nhear()\nsys.exit(5)") as backend:
            (broke,) = backend.converse(talk(OPEN))
        assert "ended with exit code 5" in str(broke)


class TestEnvironment:
    def test_rule(self) -> None:
        kept = {"PATH": "a", "Kelvin_\u212aEY": "b", "\u017fecret": "c", "PASSPHRASE": "d", "": "e"}
        dropped = {"KEY": "1", "api_key_id": "2", "MyTokens": "3", "xSeCrEtx": "4", "PGPASSWORD": "5", "passwd": "6"}
        dropped |= {"GOOGLE_APPLICATION_CREDENTIALS": "7", "KEYBOARD": "8"}
        assert child_environment({**kept, **dropped}) == kept

    def test_overlay_wins(self) -> None:
        overlay = {"API_KEY": "given", "PATH": None, "ABSENT": None, "HOME": "new"}
        assert child_environment({"API_KEY": "kept?", "PATH": "a", "HOME": "old"}, overlay) == {
            "API_KEY": "given",
            "HOME": "new",
        }

    def test_as_a_child_sees_it(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PROBATE_Auth_ToKen", "1")
        monkeypatch.setenv("PROBATE_PLAIN", "1")
        monkeypatch.setenv("PROBATE_UNWANTED", "1")
        script = """
greet(notes=[os.getcwd(), *(name for name in os.environ if name.startswith("PROBATE_"))])
"""
        overlay = {"PROBATE_KEY": "1", "PROBATE_UNWANTED": None}
        with child(script, overlay=overlay, directory=tmp_path) as backend:
            directory, *names = backend.manifest.notes
        assert Path(directory) == tmp_path.resolve()
        assert sorted(names) == ["PROBATE_KEY", "PROBATE_PLAIN"]
        assert "PROBATE_KEY" not in os.environ

    def test_is_a_group_of_its_own(self) -> None:
        with child("greet(notes=[str(os.getpgrp()), str(os.getpid())])") as backend:
            group, pid = backend.manifest.notes
        assert group == pid != str(os.getpgrp())
