"""The session log: an append is a commit, and then an announcement.

``append`` counts the record and then dispatches it. Observers can't undo it: a listener that throws is contained.
They can do anything else, except append to the same log from inside the dispatch. An injection made there is accepted
at once and committed when the dispatch has unwound, so that the order in which observers hear of records is the order
of the log.

A log outlives its session's entry. What is committed after the detach is announced to nobody: only an edition in which
an agent takes input after its end comes to that.
"""

from __future__ import annotations

from collections.abc import Callable

from probate_model.alphabet.editions import DisposedStatus
from probate_model.alphabet.events import Logged, Record
from probate_model.alphabet.names import Label
from probate_model.clauses import Demand
from probate_model.rooms import NO_ROOMS
from probate_model.run import Run
from probate_model.sessions import keeping


def append(run: Run, label: Label, record: Record, demand: Demand, **fields: object) -> None:
    """Commit a record to the log of the agent and announce it.

    :param fields: what else of the agent changes with the commit
    """
    agent = run.agents[label]
    if run.rooms is not NO_ROOMS:
        demand = keeping.logged(run, label, record, demand)
    run.update(label, records=agent.records + 1, **fields)
    if run.edition.disposed_status is DisposedStatus.NO and label not in run.sessions:
        return
    run.appending.add(label)
    run.emit(label, Logged(agent.ref, agent.records, record), demand)
    run.appending.discard(label)
    if run.late:
        late = [commit for owner, commit in run.late if owner == label]
        run.late = [entry for entry in run.late if entry[0] != label]
        for commit in late:
            commit()


def when_free(run: Run, label: Label, commit: Callable[[], None]) -> None:
    """Do something that appends to a log: now, or once the announcement of its record has unwound."""
    if label in run.appending:
        run.late.append((label, commit))
    else:
        commit()
