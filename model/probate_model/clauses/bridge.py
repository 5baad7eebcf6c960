"""The clauses of profile ``bridge``: what clients are answered, and what becomes of the agents behind it."""

from __future__ import annotations

from functools import partial

from probate_model.alphabet.editions import CancelRequest, ClosingFlush, DisposedStatus
from probate_model.clauses.registry import Level, define

_clause = partial(define, profile="bridge")

# Sessions.
_clause(
    "BRIDGE-01",
    "A session is answered when its agent is published, with the id of both.",
    "The client may use it in its next line.",
    "S1 5; sheet J.2 session/new",
    "settled",
    needs=("new_session",),
)
_clause(
    "BRIDGE-02",
    "A session that can't be created is answered with an error, and the client is not told what somebody threw.",
    "No request stays without its answer.",
    "sheet J.2 session/new",
    "settled",
    needs=("new_session",),
    codes=("owner-inactive", "provider-inactive", "owner-disposed", "lifecycle-disposed", "internal-error"),
)

# Prompts.
_clause(
    "BRIDGE-03",
    "A prompt is answered at the end of its own turn, by the reason why that ended.",
    "Its turn is the first that a message opens after the prompt was taken; any other says nothing about it.",
    "sheet J.2 session/prompt 1; J11, J12, J17; M96; T20",
    "settled",
    needs=("prompt",),
)
_clause(
    "BRIDGE-04",
    "A prompt whose turn fails is answered with an error.",
    "An editor that hears of a normal end shows half an answer as the whole.",
    "sheet J.2 session/prompt 1; J15",
    "settled",
    needs=("prompt",),
    codes=("turn-failed",),
)
_clause(
    "BRIDGE-05",
    "A prompt whose session is cancelled is answered at once, after its agent was cancelled and without its turn.",
    "The turn may take its time to unwind, and before it was claimed there is none.",
    "S1 4; sheet J.2 session/cancel; J8, J9; M94; T21; decision 50",
    "settled",
    needs=("prompt", "cancel_session"),
)
_clause(
    "BRIDGE-06",
    "A second prompt is refused while one of the session is in flight, and the first goes on.",
    "Two prompts could not be told apart by their turns.",
    "sheet J.2 session/prompt; J7; M97; decision 50",
    "settled",
    "agent/queued",
    needs=("prompt",),
    codes=("in-flight",),
)
_clause(
    "BRIDGE-07",
    "A prompt that vanished without a turn is answered as cancelled when its agent is at rest or disposed.",
    "Others than the client may cancel or end an agent.",
    "sheet J.2 session/prompt 3; L29",
    "settled",
    needs=("prompt",),
)
_clause(
    "BRIDGE-08",
    "A close of a session is answered when its agent has ended, and not before.",
    "Closed means gone: the id is free when the client hears of it.",
    "sheet J.2 quiesce; decision 50",
    "settled",
    level=Level.SHOULD,
    needs=("close_session",),
)
_clause(
    "BRIDGE-09",
    "A prompt or a close of a session that the client does not hold is refused.",
    "A session that was closed stays closed.",
    "sheet J.2 session/prompt; J21",
    "settled",
    "agent/queued",
    needs=("prompt", "close_session"),
    codes=("unknown-session",),
)
_clause(
    "BRIDGE-10",
    "A prompt that says nothing, or that the agent does not take, is refused, and no prompt is in flight.",
    "The slot of a prompt that will never have a turn would be taken for ever.",
    "sheet J.2 session/prompt; J21, J28",
    "settled",
    "agent/queued",
    needs=("prompt",),
    codes=("invalid-content", "disposed"),
)

# Stored sessions.
_clause(
    "BRIDGE-17",
    "A stored session is answered when its agent is published with the log that was stored.",
    "From then on the client may go on where it was.",
    "sheet J.2 session/load; decision 50",
    "settled",
    choice="closing_flush",
    needs=("load_session", "resume_session"),
    under=(ClosingFlush.IN_TURN,),
)
_clause(
    "BRIDGE-18",
    "A stored session is refused to a client that means another folder, before there is an agent.",
    "Its tools would work where the user is not looking.",
    "sheet J.2 session/load; J19",
    "settled",
    needs=("load_session",),
    codes=("invalid-params",),
)
_clause(
    "BRIDGE-19",
    "A session that is not stored is not loaded.",
    "An empty session under a known id would look like one that has lost everything.",
    "sheet J.2 session/load; J20",
    "settled",
    needs=("load_session",),
    codes=("unknown-session",),
)
_clause(
    "BRIDGE-20",
    "A session that is live, or being loaded, for whomever, is not loaded.",
    "Two agents would write one log.",
    "sheet J.2 session/load; decision 50",
    "settled",
    needs=("load_session", "load"),
    codes=("id-exists",),
)
_clause(
    "BRIDGE-21",
    "A load after one that has failed is as any other: an id is reserved no longer than its request lasts.",
    "An id that stays reserved is out of reach until the process ends.",
    "sheet J.2 session/load; J19, J20; M101",
    "settled",
    choice="closing_flush",
    needs=("load_session", "load"),
    under=(ClosingFlush.IN_TURN,),
)
_clause(
    "BRIDGE-22",
    "A request that is called off is answered at once, by an error of its own, and what it had begun ends.",
    "Who has called it off does not wait for it; an answer that comes all the same would be the second.",
    "sheet L18; decision 50",
    "settled",
    level=Level.SHOULD,
    needs=("call_off",),
    codes=("request-cancelled",),
)

# Permission.
_clause(
    "BRIDGE-23",
    "A tool of a session is called only if its client allows it; any other answer, or none to be had, is a no.",
    "What an answer that nobody understands allows, nobody has allowed.",
    "sheet J.2 permission; J25",
    "log",
    needs=("prompt", "model", "tool", "permission"),
)

# The end.
_clause(
    "BRIDGE-11",
    "A prompt in flight is answered as cancelled as soon as its session or its connection is closed.",
    "A client that has only ended its output still reads.",
    "sheet J.2 quiesce; J1; L29; T22",
    "settled",
    needs=("prompt", "disconnect"),
)
_clause(
    "BRIDGE-12",
    "A session created after its connection was closed is not installed: its agent ends, then an error is answered.",
    "An agent that nobody can reach is one that nobody can end.",
    "S1 4; sheet J.2 session/new; J5; M98",
    "settled",
    needs=("new_session", "disconnect", "setup"),
    codes=("connection-closed",),
)
_clause(
    "BRIDGE-13",
    "A connection has one teardown, which both a disconnect and the close of the bridge wait for to its end.",
    "A second one that returns early lets the process go while agents still write.",
    "S1 4; sheet J.2 quiesce; J3, J31; M102",
    "settled",
    needs=("disconnect", "close_bridge"),
)
_clause(
    "BRIDGE-14",
    "What was written and not read when a connection was closed is answered by the end of the connection.",
    "Nothing is begun for a client that is gone.",
    "sheet J.2 quiesce; J4",
    "settled",
    needs=("close_bridge",),
    codes=("connection-closed",),
)
_clause(
    "BRIDGE-15",
    "The agent of a session that is let go, by whomever, ends.",
    "To cancel it would leave it registered, with nobody who could ever end it.",
    "S1 4; sheet J.2 quiesce; J1; M99; L19",
    "agent/status",
    choice="disposed_status",
    needs=("new_session", "disconnect"),
    under=(DisposedStatus.YES,),
)
_clause(
    "BRIDGE-16",
    "To cancel a session is to cancel its agent as the user, and no other agent.",
    "The cause is in the log for good; and other sessions have other users.",
    "S1 4; sheet J.2 session/cancel; J8, J13; M103; decision 50",
    "agent/cancel-requested",
    choice="cancel_requested",
    needs=("cancel_session",),
    under=(CancelRequest.ANNOUNCED,),
)
