"""A child process that is asked for one line at a time.

The difficulty is that the child may be anything. It may flood its standard error, write half a line, read nothing,
close its pipes and live on, die and leave a grandchild that holds them open, or take no notice of any signal but the
last. So all its pipes are watched at once, without blocking on any; every wait has a deadline; what it says on
standard error is drained all the time and only its beginning and its end are kept; and its own end is noticed as such,
not concluded from a closed pipe.

The child leads a session and process group of its own: a signal meant for the kit does not reach it by accident, and
what it started is ended with it. It is reaped last, after its group was told to end, so that the group's number is
not somebody else's by then.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from probate_conformance.errors import BackendBroke, BackendSilent

LONGEST_LINE: Final = 16 * 1024 * 1024
"""The most bytes that one line of a child may have."""

ONE_LINE: Final = "answer each message with one line, and write nothing else to standard output"
"""What a child is told that breaks the protocol."""

_CHUNK: Final = 64 * 1024
_WORDS: Final = 8 * 1024
_FIRST_LINES: Final = 5
_LAST_LINES: Final = 8
_SHOWN: Final = 200


class Child:
    """A running child process, and the three pipes to it.

    :param command: the program and its arguments
    :param name: how errors call it
    :param environment: its whole environment
    :param directory: its working directory; the kit's own if none is given
    :param grace: for how many seconds each politer way of ending it is tried
    :param longest_line: the most bytes that one line may have
    :raises BackendBroke: if the command can't be started
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str,
        environment: Mapping[str, str],
        directory: Path | None = None,
        grace: float = 2.0,
        longest_line: int = LONGEST_LINE,
    ) -> None:
        self.name = name
        self._grace = grace
        self._longest_line = longest_line
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=dict(environment),
                cwd=directory,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise BackendBroke(f"can't be started: {error}", where=name, mend="check the command") from error
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self._unsent = memoryview(b"")
        self._received = bytearray()
        self._searched = 0
        self._words = b""
        self._mute = False
        self._closed_output = False
        self._exited = False
        self._selector = selectors.DefaultSelector()
        for pipe in (stdin, stdout, stderr):
            os.set_blocking(pipe.fileno(), False)
        self._selector.register(stdout, selectors.EVENT_READ, self._hear)
        self._selector.register(stderr, selectors.EVENT_READ, self._hear_words)
        self._pidfd = _open_pidfd(self._process.pid)
        if self._pidfd is not None:
            self._selector.register(self._pidfd, selectors.EVENT_READ, self._note_exit)

    @property
    def pid(self) -> int:
        """The number of the process, and of the group that it leads."""
        return self._process.pid

    # Asking.

    def ask(self, line: bytes, *, what: str, seconds: float) -> bytes:
        """Send a line and wait for the one that answers it.

        :param line: what to send, without its line feed
        :param what: what errors call the question
        :param seconds: the deadline, for the whole of the answer
        :return: the answer, without its line feed
        :raises BackendSilent: if the answer is not complete by the deadline. It may still come, and would then be taken
            for the answer to the next question: end the child
        :raises BackendBroke: if the child ended, closed its output, sent an over-long line, or spoke unasked
        """
        self._pump(0)
        if self._received:
            raise self._broke(f"spoke without being asked: {show(bytes(self._received))}", mend=ONE_LINE)
        self._unsent = memoryview(line + b"\n")
        self._selector.register(self._stdin, selectors.EVENT_WRITE, self._send)
        until = time.monotonic() + seconds
        while self._unsent or (answer := self._take_line()) is None:
            if self._exited or self._closed_output:
                raise self._gone(what)
            remaining = until - time.monotonic()
            if remaining <= 0:
                if self._pidfd is None and self._process.poll() is not None:
                    raise self._gone(what)
                raise self._silent(what, seconds)
            self._pump(remaining)
        return answer

    def _pump(self, seconds: float) -> None:
        """Wait until something can be read, written or noted, and do that."""
        for key, _ in self._selector.select(seconds):
            key.data()

    def _send(self) -> None:
        try:
            sent = os.write(self._stdin.fileno(), self._unsent[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:  # nobody reads any more; whether anybody still answers is seen on the other pipes
            sent = len(self._unsent)
        self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._selector.unregister(self._stdin)

    def _hear(self) -> bool:
        """Read some of what the child answers; tells whether there may be more at once."""
        chunk = _read(self._stdout)
        if not chunk:
            if chunk is not None:
                self._selector.unregister(self._stdout)
                self._closed_output = True
            return False
        if not self._mute:
            self._received += chunk
        return True

    def _hear_words(self) -> bool:
        """Read some of what the child says on standard error; tells whether there may be more at once."""
        chunk = _read(self._stderr)
        if not chunk:
            if chunk is not None:
                self._selector.unregister(self._stderr)
            return False
        self._words += chunk
        if len(self._words) > 2 * _WORDS:
            self._words = self._words[:_WORDS] + b"\n" + self._words[-_WORDS:]
        return True

    def _note_exit(self) -> None:
        """Note that the child has ended, after reading what it left in its pipes. It is not reaped here."""
        assert self._pidfd is not None
        self._selector.unregister(self._pidfd)
        for pipe, read in ((self._stdout, self._hear), (self._stderr, self._hear_words)):
            # Somebody else may hold the pipe and fill it for ever, so no more is read than fits in one.
            for _ in range(_CHUNK // 1024):
                if pipe not in self._selector.get_map() or not read():
                    break
        self._exited = True

    def _take_line(self) -> bytes | None:
        end = self._received.find(b"\n", self._searched)
        if (len(self._received) if end < 0 else end) > self._longest_line:
            start = show(bytes(self._received[:_SHOWN]))
            raise self._broke(
                f"sent a line of more than {self._longest_line} bytes, that begins with {start}", mend=ONE_LINE
            )
        if end < 0:
            self._searched = len(self._received)
            return None
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        self._searched = 0
        return line

    def rest(self) -> bytes:
        """Let its input end, and give what it says before it ends too, or the grace is over.

        For whoever has given up on an answer, and wants to know why there was none.
        """
        self._stdin_ends()
        self._exits_within(self._grace)
        return bytes(self._received)

    # What went wrong.

    def _broke(self, what: str, *, mend: str | None = None) -> BackendBroke:
        return BackendBroke(what + self._last_words(), where=self.name, mend=mend)

    def _silent(self, what: str, seconds: float) -> BackendSilent:
        begun, mend = "", "give it a longer deadline if it is only slow"
        if self._received:
            begun = f", but for {show(bytes(self._received))} without the line feed that ends a line"
            mend = f"end each answer with a line feed and flush it; {mend}"
        return BackendSilent(
            f"did not answer {what} within {seconds:g} s{begun}{self._last_words()}", where=self.name, mend=mend
        )

    def _gone(self, what: str) -> BackendBroke:
        rest = f", after {show(bytes(self._received))}" if self._received else ""
        if not self._exits_within(self._grace):
            return self._broke(f"closed its standard output instead of answering {what}{rest}, and is still running")
        self._end_group(signal.SIGKILL)
        status = self._process.wait()
        how = f"was ended by {_signal_name(-status)}" if status < 0 else f"ended with exit code {status}"
        return self._broke(f"{how} instead of answering {what}{rest}")

    def _last_words(self) -> str:
        """Give the first and the last lines of standard error, as a postscript to an error.

        Some say at first what went wrong and then where, others the other way round.
        """
        lines = [line for line in self._words.decode("utf-8", "replace").splitlines() if line.strip()]
        if not lines:
            return ""
        if len(lines) > _FIRST_LINES + _LAST_LINES:
            lines[_FIRST_LINES:-_LAST_LINES] = ["..."]
        return "\n  its standard error:" + "".join(f"\n    {_printable(line)}" for line in lines)

    # Ending.

    def end(self) -> None:
        """End the child, politely at first: its input ends; then its group is told to, and at last made to."""
        self._mute = True
        self._stdin_ends()
        if not self._exits_within(self._grace):
            self._end_group(signal.SIGTERM)
            self._exits_within(self._grace)
        self.kill()

    def _stdin_ends(self) -> None:
        if self._unsent:
            self._selector.unregister(self._stdin)
            self._unsent = memoryview(b"")
        self._stdin.close()

    def kill(self) -> None:
        """End the child and all that is left of its group at once, and reap it."""
        self._mute = True
        self._end_group(signal.SIGKILL)
        self._process.wait()
        self._selector.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        for pipe in (self._stdin, self._stdout, self._stderr):
            pipe.close()

    def _exits_within(self, seconds: float) -> bool:
        """Wait for the child's end, reading on meanwhile so that no full pipe keeps it from ending."""
        until = time.monotonic() + seconds
        while not self._exited:
            if self._pidfd is None and self._closed_output:
                break
            remaining = until - time.monotonic()
            if remaining <= 0:
                break
            self._pump(remaining)
        if self._pidfd is None and not self._exited:
            # This reaps it before its group is told to end. Only a system without pidfd has that gap.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(max(0.0, until - time.monotonic()))
                self._exited = True
        return self._exited

    def _end_group(self, number: signal.Signals) -> None:
        if self._pidfd is not None and self._process.returncode is not None:
            return  # reaped, which happens only after its group was ended: the number may be somebody else's by now
        # Gone already; or, as some systems say it, nobody is left in it who could be signalled.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def show(line: bytes) -> str:
    """Give a line from a child as errors quote it: cut, and with nothing in it that a terminal would obey."""
    text = line[:_SHOWN].decode("utf-8", "replace")
    return repr(text) if len(line) <= _SHOWN else f"{text!r}... ({len(line)} bytes)"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def _read(pipe: IO[bytes]) -> bytes | None:
    """Read what is there: nothing at the end of the stream, None if nothing is there yet."""
    try:
        return os.read(pipe.fileno(), _CHUNK)
    except BlockingIOError:
        return None


def _open_pidfd(pid: int) -> int | None:
    """Give a descriptor that becomes readable when the process ends, where the system has such a thing.

    Elsewhere an end is concluded from the closed output, or noticed at the deadline.
    """
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
