"""What a name in an op refers to.

References resolve at the last settle: an op can name an agent only if its creation had returned by then. ``this`` names
the agent of the event being dispatched, whether its creation has returned or not; only ``dispose``, and a create on the
agent's behalf, need the handle always.
"""

from __future__ import annotations

from probate_model.alphabet.names import THIS, Label
from probate_model.run import Run
from probate_model.world import Agent, Returned


def on_agent(run: Run, name: Label) -> Agent | None:
    """Give the agent that an op speaks to; none if the reference is not bound."""
    if name == THIS:
        return None if run.this is None else run.agents[run.this]
    return with_handle(run, name)


def with_handle(run: Run, name: Label) -> Agent | None:
    """Give the agent if its creation had returned at the last settle."""
    if name == THIS and run.this is not None:
        name = run.this
    agent = run.agents.get(name)
    return agent if agent is not None and agent.returned is Returned.BOUND else None


def on_creation(run: Run, name: Label) -> Agent | None:
    """Give the creation that an op speaks to: bound from its own item on."""
    if name == THIS:
        return None if run.this is None else run.agents[run.this]
    return run.agents.get(name)
