"""Tell a standard output that cannot be written to from one that nobody reads any more.

That a reader goes is his right, and a way to end. That a disk is full is not: what was to be read is lost, and whoever
started the program is to know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .jsonrpc import DescriptorSendStream

__all__ = ("OutputError", "require_written")


class OutputError(Exception):
    """Standard output cannot be written to, and somebody may still wait for what was to be there."""


def require_written(stream: DescriptorSendStream) -> None:
    """See that nothing but the reader's leave kept the stream from being written.

    :raises OutputError: if something did
    """
    if stream.failure is not None:
        raise OutputError(
            f"standard output cannot be written to: {stream.failure.strerror}; what was to be said there is lost"
        ) from stream.failure
