"""Which listener acts at which event of a stretch.

The model's outcome of a stretch is the list of its events, and says nothing of the listeners between them. So this
calls them once more, by the model's own rule (in order of installation, each once, at its match), and holds the
outcome to the model: whoever acted is no longer installed afterwards, and nobody else is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from probate_conformance.docs.recording import Stretch
from probate_model.alphabet.events import Event, ScopeCleanup, Settled
from probate_model.alphabet.items import Action, Reject, Throw
from probate_model.alphabet.names import Label
from probate_model.alphabet.ops import AwaitIdle, Create, Dispose, Resume, UnloadOwner, UnloadProvider
from probate_model.run import matches

_NOT_AWAITED: Final = (Throw, Reject, Create, Resume, AwaitIdle, Dispose, UnloadOwner, UnloadProvider)
"""The actions that a dispatch only begins: what comes next in it need not wait for a return."""


class Dispatches:
    """Follows which listeners act on which event of a stretch, as the model calls them: in order of installation."""

    def __init__(self, stretch: Stretch) -> None:
        self._listeners = {listener.react.label: listener for listener in stretch.before.listeners}
        left = {listener.react.label for listener in stretch.after.listeners}
        self._to_act = {label for label in self._listeners if label not in left}
        self._acting: list[list[tuple[Action, Label, int]]] = []

    def after(self, event: Event) -> Iterator[tuple[Action, Label, int]]:
        """Give the actions that begin next, once an event was seen."""
        if isinstance(event, Settled):
            while self._acting and not self._acting[-1]:
                self._acting.pop()
            if self._acting:
                yield from self._go_on()
            return
        if isinstance(event, ScopeCleanup):
            return
        actions: list[tuple[Action, Label, int]] = []
        for label, listener in list(self._listeners.items()):
            if listener.react.on.event == event.event and matches(listener.react.on, event):
                if listener.skip:
                    self._listeners[label] = listener._replace(skip=listener.skip - 1)
                else:
                    del self._listeners[label]
                    self._to_act.remove(label)
                    actions += [(action, label, place) for place, action in enumerate(listener.react.do)]
        if actions:
            self._acting.append(actions)
            yield from self._go_on()

    def _go_on(self) -> Iterator[tuple[Action, Label, int]]:
        """Give the next action, and those after it that need not wait for its return."""
        actions = self._acting[-1]
        while actions:
            action, *rest = actions
            actions[:] = rest
            yield action
            if not isinstance(action[0], _NOT_AWAITED):
                return

    def check(self) -> None:
        """Hold what was followed to the model: whoever acted is no longer installed."""
        assert not self._to_act, "a listener acted on an event that is not known"
        assert not any(self._acting), "a listener did not act to its end"
