"""The session log: an append is a commit, and then an announcement.

``append`` counts the record and then dispatches it. Observers can't undo it: a listener that throws is contained.
They can do anything else, except append to the same log from inside the dispatch. An injection made there is accepted
at once and committed when the dispatch has unwound, so that the order in which observers hear of records is the order
of the log.
"""

from __future__ import annotations

from probate_model.alphabet.events import Logged, Record
from probate_model.alphabet.names import Label
from probate_model.clauses import Demand
from probate_model.run import Run


def append(run: Run, label: Label, record: Record, demand: Demand) -> None:
    """Commit a record to the log of the agent and announce it."""
    agent = run[label]
    run.update(label, records=agent.records + 1)
    run.appending.add(label)
    run.emit(label, Logged(agent.ref, agent.records, record), demand)
    run.appending.discard(label)
    late = [commit for owner, commit in run.late_injections if owner == label]
    run.late_injections = [entry for entry in run.late_injections if entry[0] != label]
    for commit in late:
        commit()
