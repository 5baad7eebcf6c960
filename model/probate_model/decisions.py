"""Decisions: what the rules decide, on plain values.

A rule looks at a run, decides, and acts. Looking and acting are its own; what it decides is here, wherever an agent's
order hangs on it. A decision is a function of a few plain values and of nothing else: no run, no world, no events. So
it can be shown to be right for *all* values within small bounds, and not only for those that some trace happened to
come by. ``docs/proof.md`` says what is shown of which, and within which bounds.

There is no second writing of them: the rules call these functions, and so do the proofs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from probate_model.alphabet.events import StopCause, TurnOutcome
from probate_model.world import Stage, Teardown

Message = TypeVar("Message")
Entry = TypeVar("Entry")
Id = TypeVar("Id")


# The inbox.


def claim(queued: tuple[Message, ...]) -> tuple[Message, tuple[Message, ...]]:
    """Give the prompt that the next turn takes in, and those that wait on.

    :param queued: what waits for a turn, the oldest first; at least one
    """
    return queued[0], queued[1:]


def requeue(queued: tuple[Message, ...], steering: tuple[Message, ...]) -> tuple[Message, ...]:
    """Give what waits for a turn, once steering has no turn left to join."""
    return queued + steering


class Cancelled(NamedTuple):
    """What a cancel does."""

    announces: bool
    """It stops something, and says so."""
    marks: bool
    """It leaves the marker: what it stops was about to be claimed."""
    sweeps: bool
    """It drops all that is pending."""


def cancel(*, active: bool, parked: bool, pending: bool, spares: bool) -> Cancelled:
    """Decide what a cancel does.

    :param active: whether a signal is armed, so that there is a turn to stop
    :param parked: whether what may be pending waits for somebody to wake the agent
    :param pending: whether anything waits in the inbox
    :param spares: whether the edition has a cancel leave what is parked
    """
    spared = parked and spares
    stops = pending and not active and not spared
    return Cancelled(announces=active or stops, marks=stops and not parked, sweeps=not spared)


# The end of a turn.


def outcome(due: TurnOutcome, fired: StopCause | None, *, disposed: bool, first_wins: bool) -> TurnOutcome:
    """Decide how a turn ends.

    :param due: how it would end if nothing had stopped it
    :param fired: what fired its signal; none if nothing has
    :param disposed: whether its agent is disposed by now
    :param first_wins: whether the edition has the first cause win, and not disposal over a cancel over an error
    """
    if first_wins:
        if due is TurnOutcome.ERROR or fired is None:
            return due
        return TurnOutcome.DISPOSED if disposed and fired is StopCause.DISPOSED else TurnOutcome.ABORTED
    if disposed:
        return TurnOutcome.DISPOSED
    return due if fired is None else TurnOutcome.ABORTED


# The teardown.


def teardown_begun(stage: Stage, *, is_status: bool) -> Teardown:
    """Decide how far a teardown comes by being begun; a creation that is pending has none, it rolls itself back.

    :param is_status: whether the edition knows disposal as a status, so that a publication on the stack unwinds first
    """
    if stage is Stage.PUBLISHING and is_status:
        return Teardown.ASKED
    return Teardown.STOPPED if stage in (Stage.PUBLISHING, Stage.LIVE) else Teardown.NONE


def teardown_after(stage: Teardown, *, scope_last: bool, unwound: bool) -> Teardown:
    """Decide how far a teardown comes next.

    :param scope_last: whether the edition has the entries go before the scope unwinds, and not after
    :param unwound: whether nothing of the scope is left to begin
    """
    match stage:
        case Teardown.ASKED:
            return Teardown.STOPPED
        case Teardown.STOPPED if scope_last:
            return Teardown.DETACHED
        case Teardown.STOPPED | Teardown.DETACHED:
            return Teardown.SCOPE
        case Teardown.SCOPE if unwound:
            return Teardown.DONE
        case _:
            return stage


# The registries.


def enter(entries: tuple[Entry, ...], entry: Entry) -> tuple[Entry, ...]:
    """Give a registry with one more entry, which comes last."""
    return (*entries, entry)


def detach(entries: tuple[Entry, ...], entry: Entry) -> tuple[Entry, ...]:
    """Give a registry without this very entry; another one under the same id stays."""
    return tuple([other for other in entries if other != entry])


def holds(pairs: Iterable[tuple[Entry, Id]], name: Id) -> bool:
    """Tell whether an id is taken.

    :param pairs: the entries of a registry, each with its id
    """
    return any(other == name for _, other in pairs)
