"""A child process whose every line is kept, and whose silence is looked into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from probate_conformance.backends.child import Child, show
from probate_conformance.backends.process import ProcessBackend
from probate_conformance.errors import BackendBroke, BackendSilent

_TWICE: Final = "answer each message once, with one line"
_FLUSH: Final = "read line by line, not to the end of the input, and flush standard output after each line"


class Patient(ProcessBackend):
    """A child process under examination.

    :param command: the program and its arguments
    :param deadline: how many seconds one answer may take
    """

    def __init__(self, command: Sequence[str], *, deadline: float) -> None:
        super().__init__(command, deadline=deadline, grace=min(2.0, deadline))
        self.sent = b""
        """The last line that it was sent."""
        self.answered: bytes | None = None
        """The line that answered; none if there was none yet."""
        self.burst = b"", b""
        """The last burst that was answered, and its answer."""

    def _exchange(self, child: Child, line: bytes, what: str) -> bytes:
        before = self.answered
        self.sent, self.answered = line, None
        try:
            answer = super()._exchange(child, line, what)
        except BackendSilent as silent:
            late = child.rest()
            if not late.endswith(b"\n"):
                raise
            self.answered = late.partition(b"\n")[0]
            raise BackendSilent(
                f"answered {what} only when its input ended: {show(self.answered)}", where=silent.where, mend=_FLUSH
            ) from silent
        self.answered = answer
        # What a burst brings names its calls, so no two answers to bursts that did something are the same.
        if answer == before and b'"events":[]' not in answer.replace(b" ", b""):
            raise BackendBroke(f"said twice what it had said once: {show(answer)}", where=self._name, mend=_TWICE)
        if what == "`burst`":
            self.burst = line, answer
        return answer
