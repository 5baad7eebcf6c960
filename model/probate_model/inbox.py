"""The inbox: two queues, one for prompts and one for steering.

``send`` and ``steer`` are synchronous and never wait for the turn that they cause. A prompt waits in ``queued`` until
the driver claims it, one prompt per turn, so that a prompt accepted after a cancel is a turn of its own and shares
nothing with what was cancelled. Steering joins the turn that runs; when nothing runs there is nothing to join, and it
is a prompt.

``send`` only schedules the driver's wake-up. Between its return and the claim lies a real window in which anything can
happen, and half of the known races live there.
"""

from __future__ import annotations

from probate_model.alphabet.events import Queued, Raised, Status
from probate_model.alphabet.events import Returned as CallReturned
from probate_model.alphabet.names import BAD_TEXT, Label, Text
from probate_model.alphabet.ops import Send, Steer
from probate_model.alphabet.refusals import Refusal, code
from probate_model.clauses import demand
from probate_model.references import on_agent
from probate_model.run import Run
from probate_model.windows import Window

_QUEUED = demand("INBOX-01", steering="INBOX-04")
_STEERED = demand("INBOX-05", steering="INBOX-05")
_ACCEPTED = demand("CALL-02")
_DISPOSED = demand("INBOX-02", outcome="INBOX-02")
_INVALID = demand("INBOX-03", outcome="INBOX-03")


def send(run: Run, op: Send) -> bool:
    """Carry out the op: refuse, or queue a prompt and announce it."""
    agent = on_agent(run, op.agent)
    if agent is None:
        return False
    if not refused(run, op.label, agent.label, op.text):
        queue(run, agent.label, op.text)
        run.settled(op.label, CallReturned(), _ACCEPTED)
    return True


def steer(run: Run, op: Steer) -> bool:
    """Carry out the op: refuse, or join the running turn, or queue a prompt when nothing runs."""
    agent = on_agent(run, op.agent)
    if agent is None:
        return False
    if not refused(run, op.label, agent.label, op.text):
        if agent.status is Status.RUNNING:
            run.update(agent.label, steering=(*agent.steering, op.text))
            run.emit(agent.label, Queued(agent.ref, op.text, steering=True), _STEERED)
        else:
            queue(run, agent.label, op.text)
        run.settled(op.label, CallReturned(), _ACCEPTED)
    return True


def queue(run: Run, label: Label, text: Text) -> None:
    """Put a prompt at the tail and announce it."""
    agent = run[label]
    if agent.fired is not None:
        run.mark("window", Window.SEND_AFTER_ABORT)
    run.update(label, queued=(*agent.queued, text))
    if agent.turn_open:
        run.silence("INBOX-06", agent, "log", broad=True, text=text)
    run.emit(label, Queued(agent.ref, text, steering=False), _QUEUED)


def refused(run: Run, call: Label, label: Label, text: Text) -> bool:
    """Refuse input to a disposed agent, or of invalid content."""
    agent = run[label]
    if agent.status is Status.DISPOSED:
        run.settled(call, Raised(code(Refusal.DISPOSED)), _DISPOSED)
        run.silence("INBOX-02", agent, "agent/queued", text=text)
        return True
    if text == BAD_TEXT:
        run.settled(call, Raised(code(Refusal.INVALID_CONTENT)), _INVALID)
        run.silence("INBOX-03", agent, "agent/queued", text=text)
        return True
    return False
