"""Monitors of two runs: that what changes nothing changed nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from probate_model.alphabet.events import (
    Event,
    Settled,
)
from probate_model.alphabet.names import Label
from probate_model.monitors.recording import Recording


def l5_idle_cancel(recording: Recording, without: Recording, cancel: Label) -> Iterator[str]:
    """L5 forbids a cancel that found nothing to cancel and changes a later outcome.

    :param recording: a run with the cancel, which announced nothing
    :param without: the same run without it
    """
    kept = tuple(event for event in recording.events if not (isinstance(event, Settled) and event.call == cancel))
    yield from _differences("L5", f"the cancel {cancel}", kept, without.events)


def _differences(number: str, what: str, one: Sequence[Event], other: Sequence[Event]) -> Iterator[str]:
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            yield f"{number}: {what} changes event {place}: {left} instead of {right}"
            return
    if len(one) != len(other):
        yield f"{number}: {what} changes how many events there are: {len(one)} instead of {len(other)}"


def l22_contained(recording: Recording, without: Recording) -> Iterator[str]:
    """L22 forbids that a failure of a listener which is contained changes anything.

    :param recording: a run with failing listeners, none of them a veto
    :param without: the same run with listeners that do not fail
    """
    yield from _differences("L22", "a contained failure", recording.events, without.events)
