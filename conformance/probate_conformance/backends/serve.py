"""The other end of the line protocol, for any backend that lives in Python.

``python -m probate_conformance.backends.serve NAME`` is a child process that carries out what it is asked. It shows
that a backend behaves the same on either side of a process boundary, and what a well-behaved child looks like.

Standard output belongs to the protocol. Whatever else writes there is sent to standard error instead, at the level of
the file descriptor, so that not even a library in C can put a stray line between two messages.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import BinaryIO, Final

from pydantic import ValidationError

from probate_conformance.backends.base import Backend
from probate_conformance.backends.model import ModelBackend
from probate_conformance.codec import said_of
from probate_conformance.errors import BackendBroke, Exit, ReportError, UsageError
from probate_conformance.manifest import Manifest
from probate_conformance.wire import FROM_KIT, PROTOCOL, Broke, Conversation, Hello, HelloReply, Reply

SERVED: Final[dict[str, Callable[[], Backend]]] = {"model": ModelBackend}
"""What can be served, by name."""


def serve(backend: Backend, stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Carry out what is asked on ``stdin`` until it ends, and answer on ``stdout``.

    :param backend: who carries it out; it is entered and left here
    :param stdin: one message of the kit on each line
    :param stdout: gets one reply on each line, and nothing else
    :raises ReportError: if a reply can't be written
    """
    with backend:
        manifest = backend.manifest
        while True:
            try:
                return backend.converse(_dialogue(manifest, stdin, stdout))
            except BackendBroke as error:  # from a backend that does not throw it into the conversation
                _write(stdout, Broke(reason=str(error)))
            except ReportError:
                raise
            except Exception as error:
                _write(stdout, Broke(reason=f"{type(error).__name__}: {error}"))
                raise


def _dialogue(manifest: Manifest, stdin: BinaryIO, stdout: BinaryIO) -> Conversation[None]:
    """Turn lines into commands, and replies into lines."""
    for line in stdin:
        try:
            message = FROM_KIT.validate_json(line)
        except ValidationError as error:
            _write(stdout, Broke(reason=f"not a message of the kit: {said_of(error)}"))
            continue
        if isinstance(message, Hello) and message.protocol != PROTOCOL:
            reason = f"asked for version {message.protocol} of the protocol, and this is version {PROTOCOL}"
            _write(stdout, Broke(reason=reason))
            continue
        if isinstance(message, Hello):
            _write(stdout, HelloReply(manifest=manifest))
            continue
        try:
            reply = yield message
        except BackendBroke as error:
            _write(stdout, Broke(reason=str(error)))
        else:
            _write(stdout, reply)


def _write(stdout: BinaryIO, reply: HelloReply | Reply | Broke) -> None:
    rest = memoryview(reply.model_dump_json().encode() + b"\n")
    try:
        while rest:
            rest = rest[stdout.write(rest) :]
    except OSError as error:
        raise ReportError(f"can't be written to: {error.strerror}", where="standard output") from error


def serve_standard_streams(backend: Backend) -> None:
    """Serve on the standard streams; from then on, what else writes to standard output writes to standard error.

    It ends with the input, or when nobody reads the answers any more.

    :raises UsageError: if one of them is closed
    :raises ReportError: if standard output can't be written to
    """
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        raise UsageError("a standard stream is closed", mend="the line protocol needs all three")
    # Without a buffer, for what could not be written would be tried again when it is closed.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0) as stdout:
        sys.stdout.flush()
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        try:
            serve(backend, sys.stdin.buffer, stdout)
        except ReportError as error:
            if not isinstance(error.__cause__, BrokenPipeError):
                raise


def main(arguments: Sequence[str]) -> int:
    """Serve the backend that is named, on the standard streams."""
    if len(arguments) != 1 or arguments[0] not in SERVED:
        sys.stderr.write(f"usage: python -m {__spec__.name} {{{','.join(SERVED)}}}\n")
        return Exit.USAGE
    serve_standard_streams(SERVED[arguments[0]]())
    return Exit.PASS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
