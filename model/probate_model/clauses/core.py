"""The clauses of profile ``core``: inbox, cancel, turns, creation, disposal and the registries."""

from __future__ import annotations

from functools import partial

from probate_model.alphabet.editions import (
    CancelCause,
    CancelRequest,
    ClosingFlush,
    DisposedStatus,
    ErrorEnds,
    IdFree,
    IdleCancel,
    PartialText,
    Precedence,
    PreRunCancel,
    QueueEvents,
    TeardownOrder,
    UserMessagePlace,
    Wake,
)
from probate_model.alphabet.names import Code
from probate_model.alphabet.refusals import Refusal
from probate_model.clauses.registry import EDGES, EXTRAS, OTHER_EXTRAS, define

_clause = partial(define, profile="core")

SETTLES_ONCE = "CALL-01"
"""The clause that every settlement speaks for."""

AT_REST = "REGISTRY-02"
"""The clause that the registries speak for at every rest."""


def failure_clause(failure: Code) -> str:
    """Give the clause by which a creation raises its failure."""
    return FAILURES.get(failure, "CREATE-08")


# Calls.
_clause(
    "CALL-01",
    "Every call settles exactly once.",
    "A call that never settles hangs its caller; one that settles twice lies to one of two.",
    "S1 2; sheet L18, L25",
    "settled",
)
_clause(
    "CALL-02",
    "A synchronous call settles at the end of its synchronous part, after every event that it caused.",
    "Delivery is synchronous: when send returns, the prompt is queued and announced.",
    "S1 Consequences; sheet A.2",
    "settled",
)
# Creation.
_clause(
    "CREATE-01",
    "A create that nothing ended returns its agent, after setup and publication.",
    "The handle is what its owner disposes by.",
    "S1 2; sheet C.2",
    "settled",
)
_clause(
    "CREATE-02",
    "A create on behalf of an owner, or of an agent, that has begun to end is refused as owner-inactive.",
    "What is created then would outlive the one that is to end it.",
    "S1 2; sheet C.2",
    "settled",
    needs=("unload_owner",),
    codes=("owner-inactive",),
)
_clause(
    "CREATE-03",
    "A create while the provider is not active is refused as provider-inactive.",
    "The provider co-owns every agent that it makes.",
    "S1 2; sheet C31",
    "settled",
    needs=("unload_provider",),
    codes=("provider-inactive",),
)
_clause(
    "CREATE-04",
    "A create whose signal had fired before the call is refused as aborted.",
    "The caller no longer wants it.",
    "sheet C.2",
    "settled",
    needs=("signal",),
    codes=("aborted",),
)
_clause(
    "CREATE-05",
    "A create of an id that the session store holds is refused as id-exists.",
    "One live session per id is what makes the id an owner token.",
    "S1 Session owner tokens; S2",
    "settled",
    codes=("id-exists",),
)
_clause(
    "CREATE-06",
    "A create whose signal fires while it is pending raises aborted.",
    "Setup may never return, so the caller needs a way out.",
    "sheet C2",
    "settled",
    needs=("signal", "abort"),
    codes=("aborted",),
)
_clause(
    "CREATE-07",
    "A creation's signal that fires after the create has settled changes nothing.",
    "The signal belongs to the creation and not to the live agent.",
    "sheet C3",
    "agent/status",
    "agent/disposed",
    needs=("signal", "abort"),
)
_clause(
    "CREATE-08",
    "A create whose setup or whose creation listener throws raises exactly what was thrown.",
    "A failure that is replaced by another one can't be understood.",
    "sheet C4, C14",
    "settled",
    needs=("setup",),
    codes=("thrown:*",),
)
_clause(
    "CREATE-09",
    "A create whose owner or parent begins to end while it is pending raises owner-disposed.",
    "Structured ownership: nothing is published on behalf of what is gone.",
    "S1 2; sheet C7, C8",
    "settled",
    "session/created",
    needs=("unload_owner",),
    codes=("owner-disposed",),
)
_clause(
    "CREATE-10",
    "A create whose provider begins to end while it is pending raises provider-inactive.",
    "An agent's scope resolves through its provider.",
    "S1 2; sheet C10",
    "settled",
    needs=("unload_provider",),
    codes=("provider-inactive",),
)
_clause(
    "CREATE-11",
    "A create whose own lifecycle is ended while it is pending raises lifecycle-disposed.",
    "Listeners and owners may end one lifecycle before its handle exists.",
    "sheet C16",
    "settled",
    needs=("withdraw",),
    codes=("lifecycle-disposed",),
)
_clause(
    "CREATE-12",
    "Of two pending creates of one id, the one that publishes second raises id-exists and announces nothing.",
    "Both may prepare privately; the store's entry decides.",
    "S1 Session owner tokens; sheet C6",
    "settled",
    "session/created",
    codes=("id-exists",),
)
_clause(
    "CREATE-13",
    "A failed create raises only after all that it had prepared is unwound.",
    "Who sees the failure may try again at once, with the same id.",
    "S1 2; sheet C4",
    "settled",
    "scope/cleanup",
    needs=("cleanup", "settled"),
)
_clause(
    "CREATE-14",
    "A create that fails before its publication announces nothing of its agent.",
    "Nobody can be left waiting for the end of what was never begun.",
    "sheet L9, L12",
    "session/created",
    "agent/created",
)
# Publication.
_clause(
    "PUBLISH-01",
    "Publication announces session/created first, with session and agent in both registries.",
    "Whoever hears of an agent must be able to look it up.",
    "S1 Session owner tokens; sheet L10",
    "session/created",
)
_clause(
    "PUBLISH-02",
    "agent/created follows session/created if nothing ended the creation in between.",
    "Listeners of the second may rely on those of the first.",
    "sheet C.2",
    "agent/created",
)
_clause(
    "PUBLISH-03",
    "agent/session-start follows agent/created if nothing ended the creation in between.",
    "The session starts once the agent is published and before its driver runs.",
    "sheet C.2",
    "agent/session-start",
)
_clause(
    "PUBLISH-04",
    "A throw in session/created ends the creation: agent/created is not announced, nor is agent/disposed.",
    "An end is announced of what was announced, and of nothing else.",
    "sheet C14, L9",
    "agent/created",
    "agent/disposed",
    needs=("react", "throw", "session/created"),
)
_clause(
    "PUBLISH-05",
    "A creation that ends during publication is announced as disposed exactly as far as it was announced.",
    "Observers that count created and disposed must come out even.",
    "sheet C15, L9",
    "agent/disposed",
    "session/disposed",
    needs=("react", "throw"),
)
_clause(
    "PUBLISH-06",
    "A creation that is ended from inside an announcement announces nothing further of its publication.",
    "A zombie that is announced as live is worse than one that is not.",
    "sheet C16, C19, M39",
    "agent/created",
    "agent/session-start",
    needs=("react",),
)
_clause(
    "PUBLISH-07",
    "Entries stay until a publication on the stack has unwound, whoever asks for the teardown.",
    "Later listeners of the same dispatch must still find them.",
    "sheet C16, M59",
    "session/disposed",
    "agent/disposed",
    "settled",
    needs=("react",),
)
_clause(
    "PUBLISH-08",
    "An agent that was never published announces no status.",
    "Its status is nobody's business: nobody was told of it.",
    "sheet D.2, T13",
    "agent/status",
    needs=("react",),
    choice="disposed_status",
    under=(DisposedStatus.YES,),
)
# Listeners.
_clause(
    "EVENT-01",
    "A listener that throws changes nothing, outside of session/created and agent/created.",
    "Who only listens must not decide what happens.",
    "sheet L22, M13, M33, M58",
    "agent/status",
    "agent/disposed",
    "session/disposed",
    "log",
    "session/flush",
    "signal",
    "settled",
    needs=("react", "throw"),
)
# The inbox.
_clause(
    "INBOX-01",
    "An accepted prompt is announced once as agent/queued, in the call that sent it.",
    "Acceptance is synchronous; what is accepted is never silently lost.",
    "S1 Consequences; sheet A.2",
    "agent/queued",
    needs=("send",),
    choice="queue_events",
    under=(QueueEvents.QUEUED,),
)
_clause(
    "INBOX-02",
    "Input to a disposed agent raises disposed and is not announced.",
    "Input that nobody will read must not look accepted.",
    "sheet A.2",
    "settled",
    "agent/queued",
    needs=("send",),
    codes=("disposed",),
    choice="disposed_status",
    under=(DisposedStatus.YES,),
)
_clause(
    "INBOX-03",
    "Input that can't be kept losslessly raises invalid-content and is not announced.",
    "What can't be logged can't be replayed.",
    "sheet A34",
    "settled",
    "agent/queued",
    needs=("send",),
    codes=("invalid-content",),
)
_clause(
    "INBOX-04",
    "Steering an agent that is not running is the same as sending.",
    "There is no turn to join, and input must not be stranded.",
    "sheet A32, M23",
    "agent/queued",
    needs=("steer",),
    choice="queue_events",
    under=(QueueEvents.QUEUED,),
)
_clause(
    "INBOX-05",
    "Steering a running agent is announced as agent/queued with steering.",
    "It joins the running turn instead of waiting for one of its own.",
    "sheet A.2",
    "agent/queued",
    needs=("steer",),
    choice="queue_events",
    under=(QueueEvents.QUEUED,),
)
_clause(
    "INBOX-06",
    "Prompts are claimed in the order of acceptance, one per turn.",
    "A prompt accepted after a cancel shares no turn with one before it.",
    "S1 1; sheet B1, L4, M24",
    "log",
    needs=("send",),
)
_clause(
    "INBOX-07",
    "Steering joins the log between two steps of the running turn, or becomes a prompt when that turn has ended.",
    "Steering that comes too late is a prompt like any other.",
    "sheet B3, B5, B7",
    "log",
    needs=("steer", "send"),
    choice="queue_events",
    under=(QueueEvents.QUEUED,),
)
_clause(
    "INBOX-08",
    "Accepted input is logged once as inbox/inserted, in the call that brought it, before that has any effect.",
    "Input that the log keeps survives the process that took it.",
    "sheet A.2 {3}, N.1 1",
    "log",
    choice="queue_events",
    needs=("send",),
    under=(QueueEvents.INBOX_RECORDS,),
)
_clause(
    "INBOX-09",
    "What a step takes in is logged as inbox/claimed, and what is dropped as inbox/discarded, steering first.",
    "Whoever reads the log knows what is pending.",
    "sheet A.2, B.2 {3}",
    "log",
    choice="queue_events",
    needs=("send",),
    under=(QueueEvents.INBOX_RECORDS,),
)
_clause(
    "INBOX-10",
    "Input from inside the announcement of a record of the same log raises reentrant and is not logged.",
    "An append within an append would let observers hear of records out of order.",
    "sheet A.2, F.2 {3}",
    "settled",
    "log",
    choice="queue_events",
    needs=("send", "react", "log"),
    codes=("reentrant",),
    under=(QueueEvents.INBOX_RECORDS,),
)
_clause(
    "INBOX-11",
    "Steering that comes after an abort waits for a turn of its own.",
    "The step that it might have joined never comes.",
    "sheet A.2 {3}",
    "log",
    choice="queue_events",
    needs=("send", "steer", "cancel"),
    under=(QueueEvents.INBOX_RECORDS,),
)
# Cancel.
_clause(
    "CANCEL-01",
    "A cancel with something to stop is announced once, before anything is cleared or aborted.",
    "Observers must see what is about to go, such as what an agent that was disposed has left in its inbox.",
    "S1 1; sheet L6, M11",
    "agent/cancel-requested",
    needs=("cancel", "send"),
    choice="cancel_requested",
    under=(CancelRequest.ANNOUNCED,),
)
_clause(
    "CANCEL-02",
    "A cancel of an idle agent with nothing pending emits nothing.",
    "There is nothing to stop.",
    "S1 1; sheet A1, M12",
    "agent/cancel-requested",
    choice="idle_cancel",
    needs=("cancel",),
)
_clause(
    "CANCEL-03",
    "A prompt cancelled before it was claimed never runs.",
    "This is what queue-aware means.",
    "S1 1, Verification; sheet A2, M8",
    "log",
    "agent/status",
    choice="pre_run_cancel",
    needs=("cancel", "send"),
)
_clause(
    "CANCEL-04",
    "A prompt accepted after a cancel runs, whatever that cancel stopped.",
    "A marker or a signal that outlives its cancel strands the next prompt.",
    "S1 1; sheet L5, L26, M1, M7",
    "agent/status",
    "log",
    needs=("cancel", "send"),
)
_clause(
    "CANCEL-05",
    "A cancel during a turn fires the turn's signal, which bodies in flight hear inside the call.",
    "Work in flight can only stop if it is told.",
    "S1 1; sheet A.2",
    "signal",
    needs=("cancel", "send", "model"),
)
_clause(
    "CANCEL-06",
    "A turn's signal fires once, with the first cause.",
    "A cause that changes after it was heard can't be acted on.",
    "sheet A20, M14",
    "signal",
    needs=("cancel", "send", "model"),
)
_clause(
    "CANCEL-07",
    "A cancelled turn ends as aborted, with its open step closed first.",
    "The log stays balanced on every path.",
    "sheet B.2, M26, M27",
    "log",
    needs=("cancel", "send"),
)
_clause(
    "CANCEL-08",
    "A cancel between a turn's end and idle, with nothing queued, emits nothing and changes nothing.",
    "The turn is over: its outcome is in the log.",
    "sheet A22, M16",
    "agent/cancel-requested",
    "signal",
    needs=("cancel", "send", "flush"),
)
_clause(
    "CANCEL-09",
    "A cancel returns, in every state of the agent.",
    "The one stop verb must be safe to call always.",
    "sheet A.2, N3",
    "settled",
    needs=("cancel",),
)
_clause(
    "CANCEL-10",
    "Steering that waits when a turn is cancelled never reaches the log.",
    "It was meant for the turn that was stopped.",
    "sheet A18, M9",
    "log",
    needs=("cancel", "steer"),
)
_clause(
    "CANCEL-11",
    "The announcement of a cancel names its cause; the default is user.",
    "A parent's cancel and a user's are answered differently.",
    "S1 1; sheet A8",
    "agent/cancel-requested",
    needs=("cancel", "send"),
    choice="cancel_requested",
    under=(CancelRequest.ANNOUNCED,),
)
_clause(
    "CANCEL-12",
    "A model step that was stopped logs no answer.",
    "Half an answer in the log would be replayed as a whole one.",
    "sheet A.2",
    "log",
    needs=("cancel", "send", "model"),
    choice="partial_text_on_abort",
    under=(PartialText.NO,),
)
_clause(
    "CANCEL-13",
    "A cancel is not announced: what it drops and what it aborts is all that is seen of it.",
    "The log tells what became of the work.",
    "sheet A.4, N.1 1 {3}",
    "agent/cancel-requested",
    choice="cancel_requested",
    needs=("cancel", "send"),
    under=(CancelRequest.SILENT,),
)
_clause(
    "CANCEL-14",
    "A turn that was aborted ends with the cause.",
    "Who reads the log answers a user's cancel and a parent's differently.",
    "sheet A.2, N.1 2 {3}",
    "log",
    choice="cancel_cause",
    needs=("cancel", "send"),
    under=(CancelCause.REQUIRED,),
)
_clause(
    "CANCEL-15",
    "A prompt cancelled before it was claimed leaves a turn that is aborted and has no step.",
    "What woke the agent is accounted for.",
    "sheet A42, A.4 {3}",
    "log",
    "agent/status",
    choice="pre_run_cancel",
    needs=("cancel", "send"),
    under=(PreRunCancel.EMPTY_TURN, Wake.DEFERRED),
)
_clause(
    "CANCEL-16",
    "A model step that was stopped logs what had arrived of its answer.",
    "What was shown to somebody is not unsaid.",
    "sheet A.2 {3}",
    "log",
    choice="partial_text_on_abort",
    needs=("cancel", "send", "model"),
    under=(PartialText.YES,),
)
_clause(
    "CANCEL-17",
    "A cancel of an idle agent drops what is parked there, and that never runs.",
    "Who stops an agent does not want it to go on later.",
    "sheet A.2, N.1 3 {3}",
    "log",
    choice="idle_cancel",
    needs=("cancel", "send"),
    under=(IdleCancel.MAY_DISCARD,),
)
_clause(
    "CANCEL-18",
    "A turn ends by what came first: a cancel before disposal, an error before a cancel.",
    "A cause that was acted on can't be another one afterwards.",
    "sheet B.2 {3}",
    "log",
    choice="precedence",
    needs=("cancel", "send"),
    under=(Precedence.FIRST_WINS,),
)
# Turns.
_clause(
    "TURN-01",
    "An idle agent that claims a prompt announces running.",
    "The status is what schedulers and users go by.",
    "sheet B.2",
    "agent/status",
    needs=("send",),
)
_clause(
    "TURN-02",
    "A claimed prompt opens a turn numbered one more than the last turn of the log.",
    "The log is the only counter that survives.",
    "sheet B.1, L2, M38",
    "log",
    needs=("send",),
)
_clause(
    "TURN-03",
    "The claimed prompt is logged in its turn.",
    "What the turn is about.",
    "sheet B.2",
    "log",
    needs=("send",),
)
_clause(
    "TURN-04",
    "A step opens after the prompt is logged, numbered from 1 within its turn.",
    "Steps are what a turn can be stopped between.",
    "sheet B.2",
    "log",
    needs=("send",),
    choice="user_message",
    under=(UserMessagePlace.BEFORE_STEP,),
)
_clause(
    "TURN-05",
    "The model's answer is logged inside its step.",
    "It is what comes next.",
    "sheet B.2",
    "log",
    needs=("send",),
)
_clause(
    "TURN-06",
    "An open step is closed before anything else of the turn follows.",
    "Balance.",
    "sheet L1",
    "log",
    needs=("send",),
)
_clause(
    "TURN-07",
    "Every turn ends exactly once, with how it ended.",
    "A turn left open is a torn log.",
    "sheet L1, M26",
    "log",
    needs=("send",),
)
_clause(
    "TURN-09",
    "Between two queued turns the agent does not become idle.",
    "Nothing was idle: a flicker wakes whoever waits for the end.",
    "sheet B1, T4",
    "agent/status",
    "log",
    needs=("send",),
)
_clause(
    "TURN-10",
    "A failing step closes, is reported once as agent/error, and ends its turn as error; the agent lives on.",
    "One failure must not end the driver.",
    "sheet B.2",
    "agent/error",
    "log",
    choice="error_ends",
    needs=("send",),
)
_clause(
    "TURN-11",
    "A turn whose answer ran out of tokens ends as max-tokens and dispatches none of its tool calls.",
    "Half a tool call must not be carried out.",
    "sheet B11",
    "log",
    needs=("send", "model"),
)
_clause(
    "TURN-13",
    "Records are committed once each, numbered without a gap from 0.",
    "A number is how a record is found again.",
    "sheet F.2, L14",
    "log",
    needs=("send",),
)
_clause(
    "TURN-14",
    "A turn that failed or was aborted ends the driver: what is pending is parked until something wakes the agent.",
    "Who depends on what failed should be asked first.",
    "sheet B.2 {3}",
    "log",
    choice="error_ends",
    needs=("send",),
    under=(ErrorEnds.DRIVER,),
)
_clause(
    "TURN-15",
    "Input that wakes an agent whose turn was aborted starts it again once it is idle.",
    "It came after the abort, so it is not what was to be stopped.",
    "sheet A38, A.2 {3}",
    "agent/status",
    "log",
    choice="error_ends",
    needs=("send", "cancel"),
    under=(ErrorEnds.DRIVER, Wake.WITHIN_SEND),
)
_clause(
    "TURN-16",
    "Input that wakes an idle agent opens its turn within the call.",
    "When a send returns, its turn is in the log.",
    "sheet B.2, N.1 4 {3}",
    "agent/status",
    "log",
    choice="wake",
    needs=("send",),
    under=(Wake.WITHIN_SEND,),
)
_clause(
    "TURN-17",
    "A step opens before what it takes in is logged, numbered from 1 within its turn.",
    "The log tells which step took in what.",
    "sheet B.2 {3}",
    "log",
    choice="user_message",
    needs=("send",),
    under=(UserMessagePlace.AFTER_STEP,),
)
_clause(
    "TOOL-01",
    "Tool calls of an answer run one after the other, in order, each logged when it begins.",
    "A call that is not logged can't be answered.",
    "sheet B.2",
    "log",
    needs=("send", "model", "tool"),
)
_clause(
    "TOOL-02",
    "A tool call that began is waited for and its result is logged; an error is a result.",
    "A pending call without a result poisons the next request.",
    "sheet B31, M28",
    "log",
    needs=("send", "model", "tool"),
)
_clause(
    "TOOL-03",
    "A tool call that a stop kept from beginning is logged with the result aborted.",
    "Every call of an answer has a result.",
    "sheet A16, M28",
    "log",
    needs=("send", "model", "tool"),
)
# Injection.
_clause(
    "INJECT-01",
    "Context injected into an open turn is logged there at once.",
    "It belongs there.",
    "sheet A.2",
    "log",
    needs=("inject",),
    choice="queue_events",
    under=(QueueEvents.QUEUED,),
)
_clause(
    "INJECT-02",
    "Context injected with no turn open is logged as a closed turn of its own.",
    "A record outside of any turn is lost as a torn tail.",
    "sheet A33, M37",
    "log",
    needs=("inject",),
    choice="queue_events",
    under=(QueueEvents.QUEUED,),
)
_clause(
    "INJECT-03",
    "Such a turn is flushed on its own, without the caller waiting.",
    "No turn's closing flush would carry it.",
    "sheet T9",
    "session/flush",
    needs=("inject",),
    choice="queue_events",
    under=(QueueEvents.QUEUED, ClosingFlush.IN_TURN),
)
_clause(
    "INJECT-04",
    "Context injected while tool calls run is logged after the results of their batch.",
    "Nothing may come between a call and its result.",
    "sheet A.2",
    "log",
    needs=("inject", "send", "model", "tool"),
    choice="queue_events",
    under=(QueueEvents.QUEUED,),
)
_clause(
    "INJECT-05",
    "Injected context is logged as inbox/inserted, waits for the next step, and wakes nobody.",
    "It is for the next answer and no reason to give one.",
    "sheet A.2 {3}",
    "log",
    choice="queue_events",
    needs=("inject",),
    under=(QueueEvents.INBOX_RECORDS,),
)
# Flush and idle.
_clause(
    "FLUSH-01",
    "Every turn is followed by a flush, begun with its end.",
    "That is how the closing record is kept.",
    "S1 2; sheet B.2",
    "session/flush",
    needs=("send",),
    choice="closing_flush",
    under=(ClosingFlush.IN_TURN,),
)
_clause(
    "FLUSH-02",
    "A failing flush is reported as agent/error of step 0 and changes nothing else.",
    "The turn is already closed.",
    "sheet B12, M36",
    "agent/error",
    needs=("send", "flush"),
    choice="closing_flush",
    under=(ClosingFlush.IN_TURN,),
)
_clause(
    "FLUSH-03",
    "The agent is idle, or in its next turn, only after the closing flush has ended.",
    "Idle means that nothing is left to be done.",
    "sheet B13, M31",
    "agent/status",
    "log",
    needs=("send", "agent/status"),
    choice="closing_flush",
    under=(ClosingFlush.IN_TURN,),
)
_clause(
    "FLUSH-04",
    "A flush covers all records of the log at its begin.",
    "A flush that leaves the last record out keeps nothing safe.",
    "sheet B.2, F.3",
    "session/flush",
    needs=("send",),
    choice="closing_flush",
    under=(ClosingFlush.IN_TURN,),
)
_clause(
    "FLUSH-05",
    "An agent begins no flush.",
    "When the log is to be kept is somebody else's policy.",
    "sheet B.4, N.1 5 {3}",
    "session/flush",
    choice="closing_flush",
    needs=("send",),
    under=(ClosingFlush.NONE,),
)
_clause(
    "IDLE-01",
    "An agent with nothing left to do announces idle.",
    "Others wait for it.",
    "sheet B.2",
    "agent/status",
    needs=("send",),
)
_clause(
    "IDLE-02",
    "Waiting for idle returns once nothing runs and nothing is queued, also when the work was cancelled.",
    "A waiter that a cancel forgets hangs its caller.",
    "S1 1; sheet L24, M4",
    "settled",
    needs=("await_idle",),
)
_clause(
    "IDLE-04",
    "After disposal, waiting for idle returns once the driver has exited, not before.",
    "True quiescence, not just the flip of a status.",
    "S1 2; sheet B15, M34",
    "settled",
    needs=("await_idle", "dispose"),
    choice="disposed_status",
    under=(DisposedStatus.YES,),
)
# Disposal.
_clause(
    "DISPOSE-01",
    "Every dispose returns, all callers at the same boundary: after the scope has unwound.",
    "A second caller that returns early acts on what is still there.",
    "S1 2; sheet L25, D3, M57",
    "settled",
    needs=("dispose",),
)
_clause(
    "DISPOSE-02",
    "Disposal fires the signal of the turn in progress.",
    "A turn that is not told never ends.",
    "sheet D.2",
    "signal",
    needs=("send", "model"),
)
_clause(
    "DISPOSE-03",
    "Disposal of a published agent announces the status disposed, once, and nothing after it.",
    "It is the last status there is.",
    "sheet L8, M62",
    "agent/status",
    choice="disposed_status",
    under=(DisposedStatus.YES,),
)
_clause(
    "DISPOSE-04",
    "A turn that disposal stopped ends as disposed, with its open step closed first.",
    "The log tells a stop from an end.",
    "sheet D.2, N2",
    "log",
    needs=("send",),
    choice="disposed_status",
    under=(DisposedStatus.YES,),
)
_clause(
    "DISPOSE-05",
    "The agent is detached only after its driver has exited and every flush has ended.",
    "Detached earlier, the closing record reaches nobody.",
    "S1 2 (order is load-bearing); sheet D1, B28, M56",
    "agent/disposed",
)
_clause(
    "DISPOSE-06",
    "A detached agent is announced once as agent/disposed, while its session can still be found.",
    "Listeners of the end need the session.",
    "sheet L10",
    "agent/disposed",
)
_clause(
    "DISPOSE-07",
    "The session is detached after the agent and announced once as session/disposed.",
    "The session outlives the agent's driver.",
    "S1 2; sheet L10, D1",
    "session/disposed",
)
_clause(
    "DISPOSE-08",
    "The scope unwinds last, after both entries are gone.",
    "Its cleanups may be slow; ids must not wait for them.",
    "S1 2; sheet D.2, N9",
    "scope/cleanup",
    needs=("cleanup",),
    choice="teardown",
    under=(TeardownOrder.SCOPE_LAST,),
)
_clause(
    "DISPOSE-10",
    "A prompt that was not claimed when disposal began never runs.",
    "The driver does not look again.",
    "sheet D14, M61",
    "log",
    "agent/status",
    needs=("send",),
)
_clause(
    "DISPOSE-11",
    "The scope unwinds before the agent is detached, with both entries still in place.",
    "A cleanup can still look up whose it is.",
    "sheet D.2, N.1 6 {3}",
    "scope/cleanup",
    "agent/disposed",
    choice="teardown",
    needs=("cleanup",),
    under=(TeardownOrder.SCOPE_FIRST,),
)
_clause(
    "DISPOSE-12",
    "A turn that disposal stopped ends as aborted, with its open step closed first.",
    "Disposal is a cancel like any other, by another cause.",
    "sheet D.2, A.2 {3}",
    "log",
    choice="disposed_status",
    needs=("send",),
    under=(DisposedStatus.NO,),
)
_clause(
    "DISPOSE-13",
    "Disposal announces no status.",
    "An agent runs or is idle; whether it is still there the registry tells.",
    "sheet A.1, N.1 8 {3}",
    "agent/status",
    choice="disposed_status",
    under=(DisposedStatus.NO,),
)
_clause(
    "DISPOSE-14",
    "Input to an agent whose teardown has begun is accepted like any other.",
    "Nothing refuses it.",
    "sheet D18, N.1 8 {3}",
    "log",
    choice="disposed_status",
    needs=("send",),
    under=(DisposedStatus.NO, QueueEvents.INBOX_RECORDS),
)
# Owners.
_clause(
    "OWNER-01",
    "An unload ends every agent made through the owner, or by the provider, newest first.",
    "Structured ownership: an agent never outlives its owners.",
    "S1 2; sheet D7",
    "agent/status",
    "signal",
    "agent/disposed",
    needs=("unload_owner", "agent/status"),
)
_clause(
    "OWNER-03",
    "An owner's unload returns after all of its agents are torn down, those that others had begun included.",
    "Unloaded means gone.",
    "S1 2; sheet D5, M63",
    "settled",
    needs=("unload_owner",),
)
_clause(
    "OWNER-05",
    "A provider's unload returns after all of its agents are torn down and its pending creations are rolled back.",
    "What was made resolves through the provider until then.",
    "S1 2; sheet C24, D7, M49",
    "settled",
    needs=("unload_provider",),
)
_clause(
    "OWNER-06",
    "An agent that ends takes along the agents created on its behalf, newest first, in its scope step.",
    "Structured ownership holds for agents as it does for owners.",
    "S1 2; sheet C32, D.2",
    "agent/status",
    needs=("by-agent",),
)
# The registries.
_clause(
    "REGISTRY-01",
    "A look shows the agents in order of entry, with status and direct owner, the roots, and the sessions.",
    "The registry is how everybody finds an agent.",
    "sheet E.2",
    "settled",
    needs=("look",),
)
_clause(
    "REGISTRY-02",
    "At rest the registries hold exactly the live pairs.",
    "An entry that nobody removes wedges its id.",
    "S1 Verification; sheet L10, L11",
    "snapshot",
)
_clause(
    "REGISTRY-03",
    "An id is free from the detach of its session on, however long the old agent's scope unwinds.",
    "What is slow to clean up must not keep the name.",
    "S1 2; sheet L28, N9, M64",
    "session/created",
    "settled",
    needs=("cleanup",),
    choice="id_free",
    under=(IdFree.AT_DETACH, TeardownOrder.SCOPE_LAST),
)
_clause(
    "REGISTRY-04",
    "An id is taken until the scope of the agent that had it has unwound.",
    "Two agents of one id never overlap, not even in their cleanups.",
    "sheet D.2, N.1 7 {3}",
    "settled",
    choice="id_free",
    needs=("cleanup",),
    codes=("id-exists",),
    under=(IdFree.AFTER_SCOPE,),
)

FAILURES: dict[str, str] = {
    Refusal.ABORTED: "CREATE-06",
    Refusal.OWNER_DISPOSED: "CREATE-09",
    Refusal.PROVIDER_INACTIVE: "CREATE-10",
    Refusal.LIFECYCLE_DISPOSED: "CREATE-11",
    Refusal.ID_EXISTS: "CREATE-12",
}

EDGES |= {
    "CREATE-06": "CREATE-13",
    "CREATE-08": "CREATE-13",
    "CREATE-09": "CREATE-13",
    "CREATE-10": "CREATE-13",
    "CREATE-11": "CREATE-13",
    "CREATE-12": "CREATE-13",
}

EXTRAS |= {
    "session/created": "CREATE-14",
    "agent/created": "PUBLISH-06",
    "agent/session-start": "PUBLISH-06",
    "agent/status": "DISPOSE-03",
    "agent/queued": "INBOX-01",
    "agent/cancel-requested": "CANCEL-01",
    "agent/error": "TURN-10",
    "signal": "CANCEL-06",
    "log": "TURN-13",
    "session/flush": "FLUSH-01",
    "agent/disposed": "DISPOSE-06",
    "session/disposed": "DISPOSE-07",
    "scope/cleanup": "DISPOSE-08",
    "settled": SETTLES_ONCE,
}

OTHER_EXTRAS |= {
    "agent/status": "DISPOSE-13",
    "agent/queued": "INBOX-08",
    "agent/cancel-requested": "CANCEL-13",
    "session/flush": "FLUSH-05",
    "scope/cleanup": "DISPOSE-11",
}
