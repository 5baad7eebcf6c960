"""Windows: the races that the contract is about, by name.

A window is a moment in which an op does something other than what it does a moment before or after. The rules mark it
when an op falls into one, so that a run can say which of them it reached; a run that reached none of them has shown
little.
"""

from __future__ import annotations

from enum import StrEnum

from probate_model.alphabet.members import plain


@plain
class Window(StrEnum):
    """The windows of profile ``core``."""

    CANCEL_BEFORE_CLAIM = "cancel before the claim"
    """A prompt was sent, and the driver has not woken yet."""

    CANCEL_BETWEEN_TURNS = "cancel between turns"
    """A turn is over and the next prompt is not claimed."""

    CANCEL_IN_CLOSING_FLUSH = "cancel in the closing flush"
    """The turn's end is logged and its flush has not ended."""

    CANCEL_IN_CREATION = "cancel in a creation's dispatch"
    """The agent is being announced."""

    DISPOSE_WHILE_ANNOUNCED = "dispose against a creation being announced"
    """The publication is on the stack."""

    DISPOSE_IN_HELD_FLUSH = "dispose against a held flush"
    """A flush waits at its gate."""

    DISPOSE_IN_UNLOAD = "dispose against an owner's unload"
    """One of the two began the teardown, and the other one joins it."""

    DISPOSE_IN_TURN = "dispose inside a turn"
    """A turn is open."""

    SEND_AFTER_ABORT = "send after the abort and before idle"
    """The turn's signal has fired and the turn is not over."""

    STEER_INTO_FAILING_STEP = "steer into a failing step"
    """Steering waits in a step that fails."""

    TWO_CREATIONS_AT_GATE = "two creations of one id at the gate"
    """Both prepare privately; one of them will find the id taken."""

    REUSE_BETWEEN_DETACHES = "reuse of an id between the two detaches"
    """The agent's entry is gone and the session's is not."""


@plain
class FiberWindow(StrEnum):
    """The windows of profile ``fibers``."""

    DISPOSE_WHILE_LOADING = "dispose of a fiber that loads"
    """Its body has not returned, so it can't be unloaded yet."""

    UNWANTED_BEFORE_BODY = "not wanted any more before the body"
    """It was announced as loading, and something changed before its body was entered."""

    WITHDRAWN_FROM_LOADING = "service withdrawn while a dependent loads"
    """The dependent can't be unloaded yet, and may get the service back."""

    FLAP_COLLAPSED = "service back before the dependent has loaded"
    """There is nothing to reload."""

    RELOADED = "provider replaced while a dependent unloads"
    """It goes on to load with the other one."""

    RESTART_WHILE_LOADING = "restart of a fiber that loads"
    """There is nothing to restart."""

    UNLOAD_IN_SETUP = "unload while an effect sets up"
    """The setup goes on, and what it adds is undone."""

    EFFECT_ENDED_IN_UNLOAD = "dispose of an effect that its fiber's unload ends"
    """One of the two began it, and the other one joins."""

    DISPOSE_JOINED = "second dispose of a fiber that ends"
    """It joins the first."""

    MEMBER_FAILED = "disposer fails before others of its effect"
    """What is left of the effect is skipped, and siblings go on."""

    AGENT_IN_TREE = "unload of a fiber with an agent in a turn"
    """The agent's own order holds inside the fiber's."""


@plain
class SessionsWindow(StrEnum):
    """The windows of profile ``sessions``."""

    TWO_RESUMES = "two resumes of one id at the load"
    """Both load privately; one of them will find the id taken."""

    PUBLISHED_WHILE_LOADING = "a resume raced by a publication of its id"
    """The load returns, and the id is somebody else's by then."""

    ENDED_WHILE_LOADING = "an end during a load"
    """The owner, the provider or the signal ends a resume whose load has not returned."""

    REFUSED_FLUSH = "a flush of a fresh session under a stored id"
    """The log under its id is another life's."""

    STALE_RESUME = "a resume whose log has grown since its load"
    """Another one was resumed, logged and ended in between."""

    ENDED_UNSAVED = "an end with records that no flush has made safe"
    """The closing flush has failed."""

    RELOAD_IN_TURN = "a reload of the store inside a turn"
    """The session is the authority over the open turn."""

    CRASH_IN_TURN = "a crash inside a turn"
    """A turn is open, and nobody lives to close it."""

    CRASH_UNSAVED = "a crash between an append and its flush"
    """What was logged is not safe yet."""

    CRASH_WHILE_LOADING = "a crash during a load"
    """The log that was to be loaded must be as before."""

    OPEN_LOG = "a load of a log with an open turn"
    """The crash was inside a turn, and part of the turn was written."""

    TORN_LOG = "a load of a log with a torn line"
    """The crash was inside a write."""


@plain
class TaskWindow(StrEnum):
    """The windows of profile ``tasks``."""

    COMPLETION_IN_RELOAD_GAP = "completion in the reload gap"
    """An owned task ends while the tool is away."""

    KILL_AGAINST_COMPLETION = "kill against completion"
    """The process was told to end, or is gone, and the executor has not seen it."""

    DISPOSAL_AGAINST_START = "executor disposal against a start"
    """A start was called for and finds that the executor is ending."""

    REUSED_ID_REACHES = "a reused id reading an old task"
    """An agent that did not start it reaches a task, since it has the id of the one that did."""


@plain
class BridgeWindow(StrEnum):
    """The windows of profile ``bridge``."""

    CANCEL_BEFORE_TURN = "session cancelled before its prompt has a turn"
    """The prompt vanishes, and is settled although nothing of it is ever seen in the log."""

    SECOND_PROMPT = "second prompt while one is in flight"
    """It is refused, and the first goes on."""

    PROMPT_IN_TURN = "prompt while a turn runs that is not its own"
    """The turn was opened by somebody else, or for a prompt that was settled by a cancel."""

    LATE_TURN_END = "end of another turn while a prompt is in flight"
    """It settles nothing."""

    CLOSE_IN_NEW = "connection closed while a session is created"
    """There is no session to take out yet."""

    NEW_AGAINST_CLOSE = "session created after its connection was closed"
    """Its agent is disposed, and nobody gets to hold it."""

    LOAD_IN_LOAD = "second load of a session that is being loaded"
    """Its id is reserved."""

    CALLED_OFF = "request called off while it is worked on"
    """It is answered there and then."""

    CLOSE_IN_PROMPT = "connection closed while a prompt is in flight"
    """It is settled without its turn."""

    CLOSE_IN_DISCONNECT = "bridge closed while a client's teardown runs"
    """It is joined."""

    DISCONNECT_IN_CLOSE = "client gone while the bridge's teardown runs"
    """It is joined."""


@plain
class SubagentWindow(StrEnum):
    """The windows of profile ``subagents``."""

    CANCEL_BEFORE_TURN = "run cancelled before its child has a turn"
    """There is nothing to read, and the run is aborted all the same."""

    FORK_IN_TURN = "fork of a parent that is in a turn"
    """The open turn is no part of what the child begins with."""

    CANCEL_BEFORE_SESSION = "run cancelled before there is a session"
    """It is only remembered: there is nothing yet that could be cancelled."""

    CANCEL_IN_PROMPT = "run cancelled while its program works"
    """The program is told, and may do what it likes."""

    TORN_AFTER_CANCEL = "program that dies after a cancel"
    """The pipe is torn, as it would be by an accident."""

    DISPOSE_WHILE_RUNNING = "run disposed before its result has settled"
    """The end of the child is what settles it."""

    REMOVED_WHILE_RUNNING = "provider taken out while a run of it goes on"
    """The run does not notice."""
