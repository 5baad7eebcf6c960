"""What the tests of the model stand on: items and events as text, and a play that carries them out.

The model is the only oracle of the project, so what it must do is typed by hand, from the contract, and never printed
by it. These lines are what is typed. An item is a line such as ``create c a by=host setup``; an event is a line such as
``log a#1 0 turn/start turn=1 trigger=message``. ``event`` reads what ``line`` writes, so that a list of events which no
model would give can be typed too.

Unless a line ends with ``-> LABEL``, a call is named by what it does: ``send c A`` is the call ``A``, the creation
``create c a`` is the call ``c``, and everything else is its verb, with a number from the second one on: ``cancel``,
``cancel2``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from probate_model.alphabet.editions import EDITION_2026_06, Edition
from probate_model.alphabet.events import (
    AgentCreated,
    AgentDisposed,
    AgentError,
    AssistantMessage,
    CancelRequested,
    ContextMessage,
    ErrorSource,
    Event,
    Flushed,
    InboxClaimed,
    InboxDiscarded,
    InboxInserted,
    InboxQueue,
    Listed,
    Logged,
    Queued,
    Raised,
    Record,
    Returned,
    ScopeCleanup,
    SessionCreated,
    SessionDisposed,
    SessionStarted,
    Settled,
    Settlement,
    Signalled,
    Snapshot,
    StartSource,
    Status,
    StatusChanged,
    StepEnd,
    StepStart,
    StopCause,
    ToolCall,
    ToolOutcome,
    ToolResult,
    Trigger,
    TurnEnd,
    TurnOutcome,
    TurnStart,
    UserMessage,
)
from probate_model.alphabet.fibers import (
    ROOT,
    AddEffect,
    BodyEntered,
    DisposerCalled,
    DisposerEnded,
    DisposerOutcome,
    EffectSetup,
    EndEffect,
    FiberChanged,
    FiberState,
    Plug,
    Provide,
    Restart,
    ServiceName,
    Unplug,
    Use,
)
from probate_model.alphabet.fibers import By as ByName
from probate_model.alphabet.gates import Gate, GateKind, GateOutcome, Temper, default_outcome
from probate_model.alphabet.items import (
    Action,
    BurstItem,
    Hold,
    Item,
    Open,
    Pattern,
    Plan,
    React,
    Reject,
    Release,
    Scalar,
    Settle,
    Throw,
    WorldSpec,
)
from probate_model.alphabet.names import AgentId, AgentRef, Code, Label, OwnerName, Tag, Text
from probate_model.alphabet.ops import (
    Abort,
    AwaitIdle,
    By,
    ByAgent,
    ByOwner,
    Cancel,
    Cause,
    Create,
    CreationSignal,
    Dispose,
    Inject,
    LoadOwner,
    LoadProvider,
    Look,
    Op,
    Resume,
    Send,
    Setup,
    Steer,
    UnloadOwner,
    UnloadProvider,
    Withdraw,
)
from probate_model.alphabet.sessions import Crash, Reload, Stored, StoredLog, Tail
from probate_model.alphabet.sessions import Restart as StoreRestart
from probate_model.alphabet.subagents import (
    ChildGone,
    ChildHears,
    ChildSpawned,
    Delegated,
    RunEnded,
    RunStarted,
    RunStop,
)
from probate_model.alphabet.tasks import TaskDone, TaskList, TaskOutput, TaskOwner, TaskRef, TaskStatus
from probate_model.machine import apply, settle
from probate_model.registry import snapshot
from probate_model.run import Silence
from probate_model.world import World, new_world
from tests.model.bridge_words import CLIENT_VERBS, client_op
from tests.model.subagent_words import RUN_VERBS, run_event, run_line, run_op
from tests.model.task_words import NAMED, VERBS, task_op, value_words

# Events as text.


def line(event: Event) -> str:
    """Write an event as one line, with every field that it has."""
    match event:
        case SessionCreated() | AgentCreated() | AgentDisposed() | SessionDisposed():
            rest = ""
        case SessionStarted(source=source):
            rest = source.value
        case StatusChanged(status=status):
            rest = status.value
        case Queued(text=text, steering=steering):
            rest = f"{text} steering" if steering else text
        case CancelRequested(cause=cause):
            rest = cause.value
        case AgentError(step=step, source=error_source):
            rest = f"step={step} {error_source.value}"
        case Signalled(turn=turn, cause=stop_cause):
            rest = f"turn={turn} {stop_cause.value}"
        case Flushed(upto=upto):
            rest = f"upto={upto}"
        case Logged(seq=seq, record=record):
            rest = f"{seq} {_record_words(record)}"
        case FiberChanged(fiber, state):
            return f"fiber/state {fiber} {state.value}"
        case BodyEntered(fiber):
            return f"fiber/body {fiber}"
        case DisposerCalled(effect, member):
            return f"effect/dispose {effect} {member}"
        case DisposerEnded(effect, member, disposed):
            return f"effect/disposed {effect} {member} {disposed.value}"
        case TaskDone(task, status, how):
            return f"task/done {task} {status.value} {how}"
        case RunStarted() | RunEnded() | ChildSpawned() | ChildHears() | ChildGone():
            return run_line(event)
        case ScopeCleanup(creation):
            return f"scope/cleanup {creation}"
        case Settled(call, outcome):
            return f"settled {call} {_outcome_words(outcome)}"
    return f"{event.event} {event.agent} {rest}".strip()


def _record_words(record: Record) -> str:
    match record:
        case TurnStart(turn, trigger):
            rest = f"turn={turn} trigger={trigger.value}"
        case UserMessage(text) | ContextMessage(text) | AssistantMessage(text):
            rest = text
        case StepStart(turn, step) | StepEnd(turn, step):
            rest = f"turn={turn} step={step}"
        case ToolCall(n):
            rest = f"n={n}"
        case ToolResult(n, tool_outcome):
            rest = f"n={n} {tool_outcome.value}"
        case TurnEnd(turn, turn_outcome, cause):
            rest = f"turn={turn} {turn_outcome.value}{f' {cause.value}' if cause else ''}"
        case InboxInserted(queue, text):
            rest = f"{queue.value} {text}"
        case InboxClaimed(queue, count) | InboxDiscarded(queue, count):
            rest = f"{queue.value} {count}"
    return f"{record.record} {rest}"


def _outcome_words(outcome: Settlement) -> str:
    match outcome:
        case Raised(code):
            return f"raised {code}"
        case Returned(None):
            return "returned"
        case Returned(Delegated(stop, output)):
            return " ".join(["returned", stop.value, *output])
        case Returned(TaskOutput() | TaskOwner() | TaskList() as told):
            return f"returned {value_words(told)}"
        case Returned(value):
            if isinstance(value, StoredLog):
                return f"returned {value.stored}{' open' if value.open else ''}"
            return f"returned {look_words(value) if isinstance(value, Snapshot) else value}"


def look_words(seen: Snapshot) -> str:
    """Write the registries as ``agents=a#1:idle,b#1:running:a#1 roots=a#1 sessions=a#1,b#1``."""
    agents = (":".join([e.agent, e.status.value, *([e.owner] if e.owner else [])]) for e in seen.agents)
    return f"agents={','.join(agents)} roots={','.join(seen.roots)} sessions={','.join(seen.sessions)}"


def event(text: str) -> Event:
    """Read an event from its line."""
    kind, name, *words = text.split(" ")
    ref = AgentRef(name)
    match kind, words:
        case "session/created", []:
            return SessionCreated(ref)
        case "agent/created", []:
            return AgentCreated(ref)
        case "agent/disposed", []:
            return AgentDisposed(ref)
        case "session/disposed", []:
            return SessionDisposed(ref)
        case "agent/session-start", [source]:
            return SessionStarted(ref, StartSource(source))
        case "agent/status", [status]:
            return StatusChanged(ref, Status(status))
        case "agent/queued", [said]:
            return Queued(ref, Text(said), steering=False)
        case "agent/queued", [said, "steering"]:
            return Queued(ref, Text(said), steering=True)
        case "agent/cancel-requested", [cause]:
            return CancelRequested(ref, Cause(cause))
        case "agent/error", [step, error_source]:
            return AgentError(ref, _number(step), ErrorSource(error_source))
        case "signal", [turn, stop_cause]:
            return Signalled(ref, _number(turn), StopCause(stop_cause))
        case "session/flush", [upto]:
            return Flushed(ref, _number(upto))
        case "log", [seq, *record]:
            return Logged(ref, int(seq), _record(record))
        case "fiber/state", [state]:
            return FiberChanged(Label(name), FiberState(state))
        case "fiber/body", []:
            return BodyEntered(Label(name))
        case "effect/dispose", [member]:
            return DisposerCalled(Label(name), int(member))
        case "effect/disposed", [member, disposed]:
            return DisposerEnded(Label(name), int(member), DisposerOutcome(disposed))
        case "task/done", [status, how]:
            return TaskDone(TaskRef(name), TaskStatus(status), how)
        case _ if kind.startswith(("subagent/", "child/")):
            return run_event(kind, name, words)
        case "scope/cleanup", []:
            return ScopeCleanup(Label(name))
        case "settled", ["raised", code]:
            return Settled(Label(name), Raised(Code(code)))
        case "settled", ["returned", *value]:
            return Settled(Label(name), Returned(_value(value)))
        case _:
            raise ValueError(f"no event: {text!r}")


def _number(word: str) -> int:
    return int(word.partition("=")[2])


def _record(words: Sequence[str]) -> Record:
    match words:
        case ["turn/start", turn, trigger]:
            return TurnStart(_number(turn), Trigger(trigger.partition("=")[2]))
        case ["user/message", said]:
            return UserMessage(Text(said))
        case ["context/message", said]:
            return ContextMessage(Text(said))
        case ["assistant/message", said]:
            return AssistantMessage(Text(said))
        case ["step/start", turn, step]:
            return StepStart(_number(turn), _number(step))
        case ["step/end", turn, step]:
            return StepEnd(_number(turn), _number(step))
        case ["tool/call", n]:
            return ToolCall(_number(n))
        case ["tool/result", n, tool_outcome]:
            return ToolResult(_number(n), ToolOutcome(tool_outcome))
        case ["turn/end", turn, turn_outcome, *cause]:
            return TurnEnd(_number(turn), TurnOutcome(turn_outcome), StopCause(cause[0]) if cause else None)
        case ["inbox/inserted", queue, text]:
            return InboxInserted(InboxQueue(queue), Text(text))
        case ["inbox/claimed", queue, count]:
            return InboxClaimed(InboxQueue(queue), int(count))
        case ["inbox/discarded", queue, count]:
            return InboxDiscarded(InboxQueue(queue), int(count))
        case _:
            raise ValueError(f"no record: {' '.join(words)!r}")


def _value(words: Sequence[str]) -> AgentRef | Snapshot | Delegated | None:
    match words:
        case []:
            return None
        case [ref]:
            return AgentRef(ref)
        case [stop, said]:
            return Delegated(RunStop(stop), (Text(said),))
        case [agents, roots, sessions]:
            listed = []
            for entry in _names(agents):
                ref, status, *owner = entry.split(":")
                listed.append(Listed(AgentRef(ref), Status(status), AgentRef(owner[0]) if owner else None))
            return Snapshot(tuple(listed), tuple(map(AgentRef, _names(roots))), tuple(map(AgentRef, _names(sessions))))
        case _:
            raise ValueError(f"no value: {' '.join(words)!r}")


def _names(word: str) -> list[str]:
    return [name for name in word.partition("=")[2].split(",") if name]


def events(text: str) -> list[Event]:
    """Read events, one a line."""
    return [event(one) for one in lines(text)]


def lines(text: str) -> list[str]:
    """Give the lines of a text, without indentation and without empty ones."""
    return [stripped for one in text.splitlines() if (stripped := one.strip())]


def turn(number: int, seq: int, prompt: str, answer: str, agent: str = "a#1") -> list[str]:
    """Give the lines of a turn with one step and its flush (O, T2), the first record of which is ``seq``."""
    return lines(f"""
        log {agent} {seq} turn/start turn={number} trigger=message
        log {agent} {seq + 1} user/message {prompt}
        log {agent} {seq + 2} step/start turn={number} step=1
        log {agent} {seq + 3} assistant/message {answer}
        log {agent} {seq + 4} step/end turn={number} step=1
        log {agent} {seq + 5} turn/end turn={number} completed
        session/flush {agent} upto={seq + 6}
    """)


# Items as text.


class Script:
    """Reads items from lines, and names the calls that are not named."""

    def __init__(self) -> None:
        self._verbs: Counter[str] = Counter()
        self._reactions = 0

    def item(self, text: str) -> Item:
        """Read one item."""
        words, _, label = text.partition(" -> ")
        verb, *rest = words.split(" ")
        match verb, rest:
            case "settle", []:
                return Settle()
            case "react", [kind, *_]:
                return self._react(words, kind, label)
            case "plan", [kind, creation, *outcomes]:
                return Plan(_gate(kind, creation), tuple(map(GateOutcome, outcomes)))
            case "hold", [kind, creation, *temper]:
                return Hold(_gate(kind, creation), Temper(*temper) if temper else Temper.HONOURS)
            case "release", [kind, creation, *outcome]:
                gate = _gate(kind, creation)
                return Release(gate, GateOutcome(*outcome) if outcome else default_outcome(gate.kind))
            case "open", [kind, creation]:
                return Open(_gate(kind, creation))
            case _:
                return self._op(verb, rest, label)

    def _react(self, text: str, kind: str, label: str) -> React:
        """Read ``react KIND [FIELD=VALUE ..] [nth=N] do ACTION; ACTION``; a create in it is ``create ID``."""
        self._reactions += 1
        name = label or f"r{self._reactions}"
        head, _, tail = text.partition(" do ")
        where: list[tuple[str, Scalar]] = []
        nth = 1
        for word in head.split(" ")[2:]:
            field, _, value = word.partition("=")
            if field == "nth":
                nth = int(value)
            else:
                where.append((field, _scalar(value)))
        actions: list[Action] = []
        for place, action in enumerate(tail.split("; ")):
            verb, *rest = action.split(" ")
            if verb == "throw":
                actions.append(Throw(Tag(rest[0])))
            elif verb == "reject":
                actions.append(Reject(Tag(rest[0])))
            else:
                named = ["_", *rest] if verb == "create" else rest
                actions.append(self._op(verb, named, f"{name}.{place}"))
        return React(Label(name), Pattern(kind, tuple(where)), tuple(actions), nth)

    def _op(self, verb: str, words: Sequence[str], label: str) -> Op:
        match verb, words:
            case "create", [name, agent_id, *options]:
                return _create(Label(label or name), AgentId(agent_id), options)
            case "resume", [name, agent_id, *options]:
                made = _create(Label(label or name), AgentId(agent_id), options)
                return Resume(made.label, made.id, made.by, made.setup, made.cleanup, made.signal)
            case "send", [agent, text]:
                return Send(Label(label or text), Label(agent), Text(text))
            case "steer", [agent, text]:
                return Steer(Label(label or text), Label(agent), Text(text))
            case "inject", [agent, text]:
                return Inject(Label(label or text), Label(agent), Text(text))
            case "plug", [name, *options]:
                return _plug(Label(label or name), options)
            case "effect", [name, *options]:
                return _effect(Label(label or name), options)
            case "provide", [name, fiber, service]:
                return Provide(Label(label or name), Label(fiber), ServiceName(service))
            case _ if verb in RUN_VERBS:
                return run_op(verb, words, label)
            case _ if verb in CLIENT_VERBS:
                return client_op(verb, words, label)
            case named, [name, *options] if named in NAMED:
                return task_op(verb, options, Label(label or name))
            case _:
                pass
        if not label:
            self._verbs[verb] += 1
            label = verb if self._verbs[verb] == 1 else f"{verb}{self._verbs[verb]}"
        call = Label(label)
        match verb, words:
            case "abort", [creation]:
                return Abort(call, Label(creation))
            case "withdraw", [creation]:
                return Withdraw(call, Label(creation))
            case "cancel", [agent]:
                return Cancel(call, Label(agent))
            case "cancel", [agent, cause]:
                return Cancel(call, Label(agent), Cause(cause))
            case "idle", [agent]:
                return AwaitIdle(call, Label(agent))
            case "dispose", [agent]:
                return Dispose(call, Label(agent))
            case "unload", ["provider"]:
                return UnloadProvider(call)
            case "unload", [owner]:
                return UnloadOwner(call, OwnerName(owner))
            case "load", ["provider"]:
                return LoadProvider(call)
            case "load", [owner]:
                return LoadOwner(call, OwnerName(owner))
            case "look", []:
                return Look(call)
            case "reload", []:
                return Reload(call)
            case "stored", [agent_id]:
                return Stored(call, AgentId(agent_id))
            case "crash", [tail]:
                return Crash(call, Tail(tail))
            case "crash", [tail, restart]:
                return Crash(call, Tail(tail), StoreRestart(restart))
            case "unplug", [fiber]:
                return Unplug(call, Label(fiber))
            case "restart", [fiber]:
                return Restart(call, Label(fiber))
            case "end", [effect]:
                return EndEffect(call, Label(effect))
            case "use", [fiber, service]:
                return Use(call, Label(fiber), ServiceName(service))
            case "use", [fiber, service, "name"]:
                return Use(call, Label(fiber), ServiceName(service), ByName.NAME)
            case _ if verb in VERBS:
                return task_op(verb, words, call)
            case _:
                raise ValueError(f"no item: {verb} {' '.join(words)}")


def _create(label: Label, agent_id: AgentId, options: Iterable[str]) -> Create:
    by: By = ByOwner(OwnerName("host"))
    setup, cleanup, signal = Setup.NONE, False, CreationSignal.NONE
    for option in options:
        match option.split("="):
            case ["by", name] if name.startswith("agent:"):
                by = ByAgent(Label(name.removeprefix("agent:")))
            case ["by", name]:
                by = ByOwner(OwnerName(name))
            case ["setup"]:
                setup = Setup.PLAIN
            case ["cleanup"]:
                cleanup = True
            case ["signal"]:
                signal = CreationSignal.ARMED
            case ["pre-aborted"]:
                signal = CreationSignal.PRE_ABORTED
            case _:
                raise ValueError(f"no option of create: {option!r}")
    return Create(label, agent_id, by, setup, cleanup, signal)


def _plug(label: Label, options: Iterable[str]) -> Plug:
    given = dict(option.split("=") for option in options)
    inject, provides, effects = (given.get(name, "").split(",") for name in ("inject", "provides", "effects"))
    return Plug(
        label,
        Label(given.get("in", ROOT)),
        tuple(ServiceName(name) for name in inject if name),
        tuple(ServiceName(name) for name in provides if name),
        tuple(int(members) for members in effects if members),
    )


def _effect(label: Label, options: Sequence[str]) -> AddEffect:
    given = dict(option.split("=") for option in options if option != "slow")
    setup = EffectSetup.PLAIN if "slow" in options else EffectSetup.NONE
    return AddEffect(label, Label(given["on"]), int(given.get("members", "1")), setup)


def _gate(kind: str, creation: str) -> Gate:
    return Gate(GateKind(kind), Label(creation))


def _scalar(word: str) -> Scalar:
    if word in ("true", "false"):
        return word == "true"
    return int(word) if word.isdigit() else word


def items(text: str) -> tuple[Item, ...]:
    """Read items, one a line."""
    script = Script()
    return tuple(script.item(one) for one in lines(text))


# The play.


class Play:
    """A world, and what is done in it.

    :param owners: the owners that exist; ``host`` if none is named
    """

    def __init__(
        self, *owners: str, edition: Edition = EDITION_2026_06, provider: bool = True, profile: str = "core"
    ) -> None:
        names = tuple(map(OwnerName, owners or ("host",)))
        self.spec = WorldSpec(names, provider)
        self.world: World = new_world(self.spec, edition, profile)
        self.silences: list[Silence] = []
        self.void: list[Item] = []
        self._script = Script()

    def __call__(self, text: str) -> list[str]:
        """Carry out items, one a line, and give the lines of the events.

        What is not followed by a ``settle`` stays a burst that has begun.
        """
        shown: list[str] = []
        for one in lines(text):
            shown += self.carry_out(self._script.item(one))
        return shown

    def carry_out(self, item: Item) -> list[str]:
        """Carry out one item and give the lines of its events."""
        if isinstance(item, Settle):
            outcome = settle(self.world)
        else:
            outcome = apply(self.world, item)
            if outcome.void:
                self.void.append(item)
        self.world = outcome.world
        self.silences += outcome.silences
        return [line(event) for event in outcome.events]

    def run(self, text: str) -> list[str]:
        """Carry out items, settle, and give the lines of the events."""
        return [*self(text), *self("settle")]

    @property
    def look(self) -> str:
        """The registries as they are, as a line."""
        return look_words(snapshot(self.world))


def playing(text: str = "create c a", *owners: str) -> Play:
    """Give a play in which these items have been carried out and have settled."""
    play = Play(*owners)
    play.run(text)
    return play


def burst(text: str) -> tuple[BurstItem, ...]:
    """Read the items of one burst, one a line."""
    return tuple(item for item in items(text) if not isinstance(item, Settle))
