"""The model as a backend: the kit's own null test.

With a seed it fires a random enabled step each time instead of the canonical one. Every run of it must be accepted,
because every firing order is one that the contract allows: a rejection shows that the acceptor is deaf.

It can be made to follow an edition of its own, whichever it is asked for. That is a runtime which differs from the
contract in nothing but known choices, and each of them must be found and named.
"""

from __future__ import annotations

import random
from types import TracebackType
from typing import Self, TypeVar

from probate_conformance.errors import BackendBroke
from probate_conformance.manifest import Manifest
from probate_conformance.wire import Burst, Close, Closed, Command, Conversation, Open, Opened, Quiet, Reply
from probate_model.alphabet.editions import EDITIONS, Edition
from probate_model.machine import apply, bind, enabled, fire, settle
from probate_model.registry import snapshot
from probate_model.run import Expected, Silence
from probate_model.world import World, new_world

T = TypeVar("T")


class ModelBackend:
    """The model, carried out as if it were somebody's runtime.

    :param edition: the edition that it follows; the one that it is asked for if none is given
    """

    def __init__(self, edition: Edition | None = None) -> None:
        self.manifest = Manifest(
            name="model",
            version="1",
            language="python",
            edition="2026-06" if edition is None else edition.name,
        )
        self._edition = edition
        self._world: World | None = None
        self._random: random.Random | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._world = None

    def converse(self, conversation: Conversation[T]) -> T:
        """Carry out every command of the conversation and send it the reply."""
        try:
            command = next(conversation)
            while True:
                try:
                    reply = self.answer(command)
                except BackendBroke as broke:
                    command = conversation.throw(broke)
                else:
                    command = conversation.send(reply)
        except StopIteration as stop:
            result: T = stop.value
            return result

    def answer(self, command: Command) -> Reply:
        """Carry out one command.

        :raises BackendBroke: if no world is open
        """
        match command:
            case Open():
                self._world = new_world(command.world, self._edition or EDITIONS[command.edition], command.profile)
                self._random = None if command.schedule is None else random.Random(command.schedule)
                return Opened()
            case Burst():
                return self._burst(command)
            case Close():
                self._world = None
                return Closed()

    def _burst(self, command: Burst) -> Quiet:
        if self._world is None:
            raise BackendBroke("a burst came before any world was opened", mend="open a world first")
        world = self._world
        expected: list[Expected] = []
        silences: list[Silence] = []
        for item in command.items:
            outcome = apply(world, item)
            world = outcome.world
            expected += outcome.expected
            silences += outcome.silences
        if self._random is None:
            outcome = settle(world)
            world = outcome.world
            expected += outcome.expected
            silences += outcome.silences
        else:
            while steps := enabled(world):
                outcome = fire(world, self._random.choice(steps))
                world = outcome.world
                expected += outcome.expected
                silences += outcome.silences
            world = bind(world)
        self._world = world
        quiet = Quiet(events=tuple(entry.event for entry in expected), snapshot=snapshot(world))
        return self.told(quiet, expected, silences)

    def told(self, quiet: Quiet, expected: list[Expected], silences: list[Silence]) -> Quiet:
        """Give what is told of a burst: the truth.

        :param expected: why everything was due
        :param silences: where nothing was, on purpose
        """
        del expected, silences
        return quiet
