"""musil, which needs Python 3.12 or newer: run by one, as ``python musil_child.py QUEUES``, with it on the path.

It writes the numbers of states and transitions, and the seconds of processor time, as JSON. The moves of a state are
given to it as actions, which is its way to say that what can happen depends on the state.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import musil  # type: ignore[import-not-found]

from bench.agents import State, holds, successors


def _always(state: State) -> bool:
    del state
    return True


def _to(after: State) -> Callable[[State], State]:
    return lambda _: after


def main() -> None:
    """Search the model with queues of so many prompts."""
    most = int(sys.argv[1])
    transitions = 0

    def actions(state: State) -> list[Any]:
        nonlocal transitions
        following = [musil.Action(name, _always, _to(after)) for name, after in successors(state, most)]
        transitions += len(following)
        return following

    model = musil.Model(init=State(), actions_fn=actions, invariants={"all": holds}, terminal=lambda _: True)
    began = time.process_time()
    found = musil.check(model, max_states=10_000_000)
    seconds = time.process_time() - began
    whole = found.ok and not found.truncated
    told = {"states": found.states_explored, "transitions": transitions, "seconds": seconds, "whole": whole}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
