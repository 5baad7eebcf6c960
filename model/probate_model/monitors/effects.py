"""Monitor of effects: their members are undone in reverse, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from probate_model.alphabet.fibers import (
    AddEffect,
    DisposerCalled,
    DisposerEnded,
    DisposerOutcome,
    FiberChanged,
    FiberState,
)
from probate_model.alphabet.names import Label
from probate_model.monitors.recording import Recording


def l23_effects(recording: Recording) -> Iterator[str]:
    """L23 forbids members of an effect that are not undone in reverse, each completely before the next begins.

    It forbids the end of an unload while a disposer of the fiber still runs, too.
    """
    running: dict[Label, int] = {}
    ended: dict[Label, int] = {}
    for event in recording.events:
        match event:
            case DisposerCalled(effect, member):
                if effect in running:
                    yield f"L23: member {member} of {effect} is undone before member {running[effect]} has been"
                if ended.get(effect, member + 1) != member + 1:
                    yield f"L23: member {member} of {effect} is undone after member {ended[effect]}"
                running[effect] = member
            case DisposerEnded(effect, member, outcome):
                if running.pop(effect, None) != member:
                    yield f"L23: member {member} of {effect} ends, and it did not run"
                ended[effect] = member
                if member == 1 or outcome is DisposerOutcome.FAIL:
                    del ended[effect]
            case FiberChanged(fiber, FiberState.PENDING | FiberState.FAILED | FiberState.DISPOSED as state):
                for effect in running:
                    if _fiber_of(recording, effect) == fiber:
                        yield f"L23: {fiber} is {state.value} while a member of {effect} is undone"
            case _:
                pass


def _fiber_of(recording: Recording, effect: Label) -> Label:
    """Give the fiber of an effect: the one that an op names, or the one whose body has it."""
    call = recording.calls.get(effect)
    return call.op.fiber if call is not None and isinstance(call.op, AddEffect) else Label(effect.rpartition(".")[0])
