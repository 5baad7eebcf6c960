"""A failing trace as a story: what was done, what was allowed, and what was seen instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from typing import assert_never

from probate_conformance.lockstep import Examined, Exchange
from probate_conformance.printable import printable
from probate_conformance.trace import Trace
from probate_model.alphabet.bridge import (
    BridgeOp,
    CallOff,
    CancelSession,
    CloseBridge,
    CloseSession,
    Connect,
    Disconnect,
    Folder,
    LoadSession,
    NewSession,
    Prompt,
    ResumeSession,
)
from probate_model.alphabet.events import (
    Event,
    Logged,
    Raised,
    Returned,
    ScopeCleanup,
    Settled,
    Settlement,
    Snapshot,
)
from probate_model.alphabet.fibers import (
    AddEffect,
    EffectSetup,
    EndEffect,
    Plug,
    Provide,
    Restart,
    Unplug,
    Use,
)
from probate_model.alphabet.items import (
    BurstItem,
    Hold,
    Item,
    Open,
    Plan,
    React,
    Reject,
    Release,
    Settle,
    Throw,
)
from probate_model.alphabet.names import AgentRef, Label
from probate_model.alphabet.ops import (
    Abort,
    AwaitIdle,
    ByOwner,
    Cancel,
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
from probate_model.alphabet.rooms import InRoom
from probate_model.alphabet.sessions import Crash, Reload, Stored, StoredLog
from probate_model.alphabet.subagents import (
    AbortRun,
    AddProvider,
    AwaitRun,
    CancelRun,
    ChildAsks,
    ChildSays,
    Delegate,
    Delegated,
    DisposeRun,
    Need,
    PassGrace,
    RemoveProvider,
    RunSignal,
    StartRun,
    SubagentOp,
)
from probate_model.alphabet.tasks import (
    AbortTask,
    AwaitTask,
    DisposeExecutor,
    KillTask,
    LaunchTask,
    ListTasks,
    LoadExecutor,
    LoadTool,
    OwnerOfTask,
    ReadTask,
    SetRegistry,
    StartTask,
    TaskList,
    TaskOp,
    TaskOutput,
    TaskOwner,
    TaskRef,
    TaskSays,
    TaskSignal,
    TaskValue,
    ToolOp,
    UnloadTool,
    Via,
)
from probate_model.worlds import Divergence, Reason


def item_line(item: Item) -> str:
    """Tell an item in one line."""
    return printable(_item_line(item))


def _item_line(item: Item) -> str:
    match item:
        case React():
            where = ", ".join(f"{name}={_word(value)}" for name, value in item.on.where)
            nth = "" if item.nth == 1 else f" at match {item.nth}"
            do = "; ".join(_action_line(action) for action in item.do)
            return f"react {item.label} to {item.on.event}{f'[{where}]' if where else ''}{nth}: {do}"
        case Plan():
            return f"plan {item.gate.kind} of {item.gate.creation}: {', '.join(item.outcomes)}"
        case Hold():
            return f"hold {item.gate.kind} of {item.gate.creation} ({item.temper})"
        case Release():
            return f"release {item.gate.kind} of {item.gate.creation}: {item.outcome}"
        case Open():
            return f"open {item.gate.kind} of {item.gate.creation}"
        case Settle():
            return "settle"
        case _:
            return _op_line(item)


def _action_line(action: Op | Throw | Reject) -> str:
    match action:
        case Throw(tag):
            return f"throw {tag}"
        case Reject(tag):
            return f"reject {tag} later"
        case _:
            return _op_line(action)


def _op_line(op: Op) -> str:
    match op:
        case Create() | Resume():
            by = op.by.owner if isinstance(op.by, ByOwner) else f"agent {op.by.agent}"
            extras = [f"setup={op.setup}"] if op.setup is not Setup.NONE else []
            extras += ["cleanup"] if op.cleanup else []
            extras += [f"signal={op.signal}"] if op.signal is not CreationSignal.NONE else []
            return " ".join([f"{op.item} {op.label}: id {op.id!r} by {by}", *extras])
        case Abort() | Withdraw():
            return f"{op.item} {op.creation} -> {op.label}"
        case Send() | Steer() | Inject():
            return f"{op.item} {op.agent} {op.text!r} -> {op.label}"
        case Cancel():
            return f"cancel {op.agent} by {op.cause} -> {op.label}"
        case AwaitIdle() | Dispose():
            return f"{op.item.replace('_', ' ')} {op.agent} -> {op.label}"
        case UnloadOwner() | LoadOwner():
            return f"{op.item.split('_')[0]} owner {op.owner} -> {op.label}"
        case UnloadProvider() | LoadProvider():
            return f"{op.item.split('_')[0]} provider -> {op.label}"
        case Look() | Reload():
            return f"{op.item} -> {op.label}"
        case Stored():
            return f"stored {op.id!r} -> {op.label}"
        case Crash():
            return f"crash, tail {op.tail}, restart {op.restart} -> {op.label}"
        case Plug():
            extras = [f"inject {', '.join(op.inject)}"] if op.inject else []
            extras += [f"provides {', '.join(op.provides)}"] if op.provides else []
            extras += [f"effects of {', '.join(map(str, op.effects))}"] if op.effects else []
            return " ".join([f"plug {op.label} into {op.parent}", *extras])
        case Unplug() | Restart():
            return f"{op.item} {op.fiber} -> {op.label}"
        case AddEffect():
            slowly = " slowly" if op.setup is EffectSetup.PLAIN else ""
            return f"effect {op.label} of {op.members} on {op.fiber}{slowly}"
        case Provide():
            return f"provide {op.service} on {op.fiber} -> {op.label}"
        case EndEffect():
            return f"end {op.effect} -> {op.label}"
        case Use():
            return f"use {op.service} on {op.fiber} {op.by} -> {op.label}"
        case _ if isinstance(op, TaskOp):
            return _task_line(op)
        case _ if isinstance(op, BridgeOp):
            return _client_line(op)
        case _ if isinstance(op, SubagentOp):
            return _run_line(op)
        case _:
            assert_never(op)


def _task_line(op: TaskOp) -> str:
    match op:
        case StartTask():
            return f"start task{_by(op)} -> {op.label}"
        case LaunchTask():
            whose = "nobody's" if op.owner is None else f"owned by {op.owner!r}"
            extras = [f"signal {op.signal}"] if op.signal is not TaskSignal.NONE else []
            extras += [] if op.runs else ["that can't be run"]
            return " ".join([f"launch task {whose}", *extras, f"-> {op.label}"])
        case ReadTask() | KillTask() if op.via is Via.EXECUTOR:
            return f"{op.item.partition('_')[0]} {op.task} at the executor -> {op.label}"
        case ReadTask() | KillTask():
            return f"{op.item.partition('_')[0]} {op.task}{_by(op)} -> {op.label}"
        case TaskSays():
            return f"{op.task} says {op.text!r} -> {op.label}"
        case AbortTask() | OwnerOfTask() | AwaitTask():
            return f"{op.item.rpartition('_')[0].replace('_', ' ')} {op.task} -> {op.label}"
        case SetRegistry():
            return f"registry {op.registry} -> {op.label}"
        case ListTasks() | UnloadTool() | LoadTool() | DisposeExecutor() | LoadExecutor():
            return f"{op.item.replace('_', ' ')} -> {op.label}"
        case _:
            assert_never(op)


def _client_line(op: BridgeOp) -> str:
    match op:
        case Connect():
            return f"client {op.label} connects"
        case NewSession():
            return f"client {op.connection} asks for session {op.label}"
        case LoadSession() | ResumeSession():
            folder = "" if op.folder is Folder.SAME else f" in {op.folder.value} folder"
            return f"client {op.connection} asks to {op.item.partition('_')[0]} {op.id}{folder} -> {op.label}"
        case CallOff():
            return f"client {op.connection} calls off {op.call} -> {op.label}"
        case Prompt():
            return f"prompt {op.session} {op.text!r} -> {op.label}"
        case CancelSession() | CloseSession():
            return f"{op.item.replace('_', ' ')} {op.session} -> {op.label}"
        case Disconnect():
            return f"client {op.connection} disconnects -> {op.label}"
        case CloseBridge():
            return f"close bridge -> {op.label}"
        case _:
            assert_never(op)


def _run_line(op: SubagentOp) -> str:
    match op:
        case StartRun() | Delegate():
            by = op.by if isinstance(op, Delegate) else op.parent
            words = ["delegate" if isinstance(op, Delegate) else "start run", f"{op.text!r} with {op.provider}"]
            words += [] if by is None else [f"by {by}"]
            words += [] if op.signal is RunSignal.NONE else [f"signal {op.signal}"]
            if isinstance(op, StartRun):
                words += [] if op.depth is None else [f"depth {op.depth}"]
                words += [] if op.needs is Need.NONE else [f"needs {op.needs}"]
            return " ".join([*words, f"-> {op.label}"])
        case CancelRun() | AbortRun() | AwaitRun() | DisposeRun():
            return f"{op.item.replace('_', ' ')} {op.run} -> {op.label}"
        case AddProvider() | RemoveProvider():
            return f"{op.item.replace('_', ' ')} {op.provider} -> {op.label}"
        case ChildSays():
            return f"child of {op.run} says {op.says} {op.text!r} -> {op.label}"
        case ChildAsks():
            return f"child of {op.run} asks {', '.join(op.options)} -> {op.label}"
        case PassGrace():
            return f"grace of {op.run} passes -> {op.label}"
        case _:
            assert_never(op)


def _by(op: ToolOp) -> str:
    who = "nobody" if op.by is None else op.by
    return f" by {who} in a turn" if op.turn else f" by {who}"


def event_line(event: Event) -> str:
    """Tell an event in one line."""
    return printable(_event_line(event))


def _event_line(event: Event) -> str:
    match event:
        case Settled():
            return f"{event.call} {_outcome(event.outcome)}"
        case ScopeCleanup(creation):
            return f"scope/cleanup of {creation}"
        case Logged():
            record = event.record
            shown = _values(record, "record")
            return f"log {event.agent} {event.seq} {record.record}{shown}"
        case InRoom():
            return f"{event.event}{_values(event, 'event')}"
        case _:
            return f"{event.event} {event.agent}{_values(event, 'event', 'agent')}"


def _outcome(outcome: Settlement) -> str:
    match outcome:
        case Returned(None):
            return "returned"
        case Returned(value):
            return f"returned {_value_line(value)}"
        case Raised(code):
            return f"raised {code}"


def _value_line(value: AgentRef | Label | TaskRef | bool | Snapshot | StoredLog | TaskValue | Delegated | None) -> str:
    match value:
        case None:
            return "nothing"
        case Snapshot():
            return snapshot_line(value)
        case StoredLog():
            return f"{value.stored} records{', a turn open' if value.open else ''}"
        case TaskOutput():
            return f"{' '.join(value.text) or 'nothing new'}, {value.status}"
        case Delegated():
            return f"{value.stop}: {' '.join(value.output) or 'nothing said'}"
        case TaskOwner():
            return "nobody's" if value.owner is None else f"owned by {value.owner!r}"
        case TaskList():
            return ", ".join(f"{entry.task} {entry.status}" for entry in value.tasks) or "no tasks"
        case bool():
            return "yes" if value else "no"
        case _:
            return value


def _values(part: object, *without: str) -> str:
    names = [field.name for field in fields(part) if field.name not in without]  # type: ignore[arg-type]
    values = [(name, getattr(part, name)) for name in names]
    return "".join(f" {name}={_word(value)}" for name, value in values if value is not None)


def _word(value: object) -> str:
    return str(value.value) if isinstance(value, Enum) else str(value)


def snapshot_line(snapshot: Snapshot) -> str:
    """Tell a snapshot in one line."""
    return printable(_snapshot_line(snapshot))


def _snapshot_line(snapshot: Snapshot) -> str:
    agents = ", ".join(
        f"{entry.agent} {entry.status}{f' of {entry.owner}' if entry.owner else ''}" for entry in snapshot.agents
    )
    return f"agents [{agents}] roots [{', '.join(snapshot.roots)}] sessions [{', '.join(snapshot.sessions)}]"


def _seen(seen: Event | Snapshot | None) -> str:
    if seen is None:
        return "nothing more"
    return f"at rest: {snapshot_line(seen)}" if isinstance(seen, Snapshot) else event_line(seen)


def seen_line(divergence: Divergence) -> str:
    """Tell in one line what was seen that no run of the model explains."""
    return _seen(divergence.seen)


_REASONS = {
    Reason.OWED: "it came to rest while something was owed",
    Reason.SILENCE: "nothing of the kind may come here",
    Reason.FIELD: "another value was due",
    Reason.EARLY: "it came before what it has to wait for",
    Reason.TORN: "it came in the middle of what nothing may come between",
    Reason.DUE: "something else was due",
    Reason.EXTRA: "nothing was due",
    Reason.SNAPSHOT: "the registries differ",
    Reason.NEVER_QUIET: "it never came to rest",
}


def story(trace: Trace, examined: Examined) -> str:
    """Tell a failing trace.

    Numbered items, the events that came of each burst, and at the divergence what was allowed and what was seen.
    """
    return "\n".join(_lines(trace, examined))


def _lines(trace: Trace, examined: Examined) -> Iterator[str]:
    schedule = "first in, first out" if trace.schedule == "fifo" else f"seed {trace.schedule}"
    owners = ", ".join(trace.world.owners)
    provider = "" if trace.world.provider else ", provider not loaded"
    yield f"edition {trace.edition}, owners {owners}{provider}, schedule {schedule}"
    if trace.flipped:
        yield f"  with {', '.join(f'{name} {trace.reading.choices()[name]}' for name in trace.flipped)}"
    number = 0
    last = len(examined.exchanges) - 1
    epilogue = len(trace.bursts()) - 1
    for place, exchange in enumerate(examined.exchanges):
        if place == epilogue:
            yield "  epilogue"
        for item in _in_order(trace.bursts()[place], exchange):
            number += 1
            void = "   (void)" if item in exchange.void else ""
            yield f"  {number:>3}  {item_line(item)}{void}"
        diverged = examined.divergence if place == last else None
        yield from _observations(exchange, diverged)
        if not exchange.events and place + 1 < epilogue and place != last:
            yield "         . nothing"  # so that it is seen where a burst ends
    if examined.divergence is not None:
        yield from _verdict(examined.divergence)


def _in_order(burst: tuple[BurstItem, ...], exchange: Exchange) -> tuple[BurstItem, ...]:
    return burst if len(burst) == len(exchange.sent) + len(exchange.void) else exchange.sent


def _observations(exchange: Exchange, divergence: Divergence | None) -> Iterator[str]:
    for place, event in enumerate(exchange.events):
        if divergence is not None and place == divergence.position:
            break
        yield f"         . {event_line(event)}"


def _verdict(divergence: Divergence) -> Iterator[str]:
    allowed = [_seen(one) for one in divergence.allowed] or ["nothing"]
    yield f"       allowed  {allowed[0]}"
    for one in allowed[1:6]:
        yield f"            or  {one}"
    if len(allowed) > 6:
        yield f"            or  one of {len(allowed) - 6} more"
    yield f"       seen     {_seen(divergence.seen)}"
    yield f"       because  {because(divergence)}"


def because(divergence: Divergence) -> str:
    """Tell in one line how an observation was put down to its clause."""
    return f"{_REASONS[divergence.reason]}{f' ({divergence.field})' if divergence.field else ''}"
