"""A backend in a child process, in any language, over one line of JSON for each message.

The child is trusted with nothing. What it says is validated before anybody looks at it, and whatever goes wrong becomes
one error that says what, where and how to mend it. After any failure the child is gone, and the next world starts a new
one: a child that was silent may still answer, and its late answer must never be taken for the answer to the next
question; one that broke the protocol once is in a state that nobody knows.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from pydantic import ValidationError

from probate_conformance.backends.child import LONGEST_LINE, ONE_LINE, Child, show
from probate_conformance.codec import said_of
from probate_conformance.environment import child_environment
from probate_conformance.errors import BackendBroke
from probate_conformance.manifest import Manifest
from probate_conformance.wire import (
    FROM_BACKEND,
    PROTOCOL,
    Broke,
    Burst,
    Close,
    Closed,
    Command,
    Conversation,
    Hello,
    HelloReply,
    Open,
    Opened,
    Quiet,
    Reply,
)

T = TypeVar("T")
R = TypeVar("R", HelloReply, Opened, Quiet, Closed)

DEADLINE: Final = 20.0
"""How many seconds a child may take for one answer, unless it is told otherwise."""


class ProcessBackend:
    """A backend that a child process carries out.

    :param command: the program and its arguments
    :param name: how errors call it; the command line if none is given
    :param overlay: what is laid over the environment after all that looks like a credential was dropped from it; a
        value of None removes the name
    :param directory: the child's working directory; the kit's own if none is given
    :param deadline: how many seconds one answer may take; can be changed at any time
    :param grace: for how many seconds each politer way of ending the child is tried
    :param longest_line: the most bytes that one answer may have
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str | None = None,
        overlay: Mapping[str, str | None] | None = None,
        directory: Path | None = None,
        deadline: float = DEADLINE,
        grace: float = 2.0,
        longest_line: int = LONGEST_LINE,
    ) -> None:
        self._command = tuple(command)
        self._name = name or shlex.join(self._command)
        self._overlay = dict(overlay or {})
        self._directory = directory
        self.deadline = deadline
        self._grace = grace
        self._longest_line = longest_line
        self._child: Child | None = None
        self._manifest: Manifest | None = None

    @property
    def name(self) -> str:
        """How errors call it."""
        return self._name

    @property
    def manifest(self) -> Manifest:
        """What the backend said of itself when it was greeted.

        :raises RuntimeError: if it was never started
        """
        if self._manifest is None:
            raise RuntimeError(f"{self._name} says what it is once it is started: enter the backend first")
        return self._manifest

    def __enter__(self) -> Self:
        """Start the child and greet it.

        :raises BackendBroke: if it can't be started, or answers the greeting with anything but a manifest
        """
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the child and all that it started."""
        child, self._child = self._child, None
        if child is not None:
            child.end()

    def converse(self, conversation: Conversation[T]) -> T:
        """Carry out every command of the conversation and send it the reply.

        What goes wrong is thrown into the conversation. The child is gone then: the next ``open`` starts a new one, a
        ``close`` has nothing left to do, and a ``burst`` goes wrong again.

        :return: what the conversation returns
        """
        try:
            command = next(conversation)
            while True:
                try:
                    reply = self._carry_out(command)
                except BackendBroke as error:
                    command = conversation.throw(error)
                else:
                    command = conversation.send(reply)
        except StopIteration as stop:
            result: T = stop.value
            return result

    def _carry_out(self, command: Command) -> Reply:
        match command:
            case Open():
                if self._child is None:
                    self._start()
                return self._ask(command, Opened)
            case Burst():
                return self._ask(command, Quiet)
            case Close():
                return Closed() if self._child is None else self._ask(command, Closed)

    def _start(self) -> None:
        self._child = Child(
            self._command,
            name=self._name,
            environment=child_environment(os.environ, self._overlay),
            directory=self._directory,
            grace=self._grace,
            longest_line=self._longest_line,
        )
        manifest = self._ask(Hello(), HelloReply).manifest
        if self._manifest not in (None, manifest):
            self._drop()
            raise BackendBroke("says something else of itself than before", where=self._name)
        self._manifest = manifest

    def _ask(self, message: Hello | Command, expected: type[R]) -> R:
        """Send a message and give the reply, if it is of the expected kind; otherwise the child is gone."""
        if self._child is None:
            raise BackendBroke("is gone", where=self._name, mend="open a world first: that starts it again")
        what = f"`{message.message}`"
        try:
            line = self._exchange(self._child, message.model_dump_json().encode(), what)
            return self._understand(line, what, expected)
        except BaseException:  # also if the kit is interrupted here: the answer would still come
            self._drop()
            raise

    def _exchange(self, child: Child, line: bytes, what: str) -> bytes:
        """Send a line to the child, and give the line that answers it."""
        return child.ask(line, what=what, seconds=self.deadline)

    def _understand(self, line: bytes, what: str, expected: type[R]) -> R:
        if expected is HelloReply:
            self._check_version(line)
        try:
            reply = FROM_BACKEND.validate_json(line)
        except ValidationError as error:
            is_json = error.errors(include_url=False)[0]["type"] != "json_invalid"
            raise BackendBroke(
                f"answered {what} with {show(line)}: {said_of(error)}",
                where=self._name,
                mend="`probate schema wire` prints what each message looks like" if is_json else ONE_LINE,
            ) from error
        if isinstance(reply, Broke):
            raise BackendBroke(f"can't go on after {what}: {reply.reason}", where=self._name)
        if not isinstance(reply, expected):
            raise BackendBroke(f"answered {what} with `{reply.message}`: {show(line)}", where=self._name, mend=ONE_LINE)
        return reply

    def _check_version(self, line: bytes) -> None:
        """Tell a child of another version as such, before its manifest is found to be strange."""
        try:
            version = json.loads(line).get("protocol")
        except (ValueError, AttributeError):
            return
        if isinstance(version, int) and version != PROTOCOL:
            raise BackendBroke(
                f"speaks version {version} of the protocol, and this is version {PROTOCOL}",
                where=self._name,
                mend="use the version of the adapter that goes with this version of probate",
            )

    def _drop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
