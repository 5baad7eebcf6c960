"""Results: a run settles once, whoever waits is told the same, and one event says so.

That a child fails, dies or never existed is a result and no failure of the run. Who waits and who listens are told
independently of each other, in steps of their own.
"""

from __future__ import annotations

from functools import cache

from probate_model.alphabet.events import Returned
from probate_model.alphabet.names import Label, Text
from probate_model.alphabet.subagents import RunEnded, RunStop
from probate_model.clauses import Demand, demand
from probate_model.run import Run as Stretch
from probate_model.subagents.access import get, put


def settle(stretch: Stretch, label: Label, stop: RunStop, output: tuple[Text, ...], clauses: tuple[str, str]) -> None:
    """Settle the result of a run.

    :param clauses: by which it stopped for that reason, and by which that is its output
    """
    waiters = get(stretch, label).waiters
    put(stretch, label, stop=stop, output=output, clauses=clauses, waiters=())
    for waiter in waiters:
        stretch.owe(waiter, Returned(Label(stop)), clauses[0])


def announce(stretch: Stretch, label: Label) -> None:
    """Announce the end of a run."""
    run = put(stretch, label, announced=True)
    assert run.stop is not None
    stretch.emit(None, RunEnded(label, run.stop, run.output), _ended(run.clauses))


@cache
def _ended(clauses: tuple[str, str]) -> Demand:
    return demand("SUBAGENT-06", stop=clauses[0], output=clauses[1])
