"""What every backend is to the kit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Protocol, Self, TypeVar, runtime_checkable

from probate_conformance.errors import BackendBroke
from probate_conformance.manifest import Manifest
from probate_conformance.wire import Command, Conversation, Reply

T = TypeVar("T")


@runtime_checkable
class Backend(Protocol):
    """Something that carries out conversations.

    Use it as a context manager: leaving it ends whatever it started, child processes included.
    """

    @property
    def manifest(self) -> Manifest:
        """What the backend says of itself."""
        ...

    def converse(self, conversation: Conversation[T]) -> T:
        """Carry out every command of the conversation and send it the reply.

        A failure of the backend itself (``BackendBroke`` and its kin) is thrown into the conversation, which decides
        whether to go on; the next ``open`` must then find the backend in order again.

        :return: what the conversation returns
        """
        ...

    def __enter__(self) -> Self:
        """Start what the backend needs."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End it."""
        ...


async def converse_in_loop(conversation: Conversation[T], answer: Callable[[Command], Awaitable[Reply]]) -> T:
    """Carry out a conversation from inside of an event loop: have every command answered, and send the reply."""
    try:
        command = next(conversation)
        while True:
            try:
                reply = await answer(command)
            except BackendBroke as broke:
                command = conversation.throw(broke)
            else:
                command = conversation.send(reply)
    except StopIteration as stop:
        result: T = stop.value
        return result
