"""One world on the reference in profile ``subagents``: the real service, its real providers, and scripted programs.

Everything is reached through the public seams: a provider is watched by one around it, a program stands in for a
process, ids are minted from the labels. Which run a task belongs to, the task knows.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

import anyio

import probate_reference as reference
from probate_conformance.backends.reference.programs import MemoryProgram, Program, Role
from probate_conformance.backends.reference.subject import Listener, Subject, ignore
from probate_conformance.backends.reference.translation import code_of
from probate_model.alphabet.events import Raised, Returned, Settlement
from probate_model.alphabet.items import React, WorldSpec
from probate_model.alphabet.names import Label, OwnerName, Text
from probate_model.alphabet.ops import Op
from probate_model.alphabet.subagents import (
    AMBIENT,
    OVERLAY,
    RUN_OWNER,
    SUBAGENT_EVENTS,
    AbortRun,
    AddProvider,
    AwaitRun,
    CancelRun,
    ChildAsks,
    ChildGone,
    ChildHears,
    ChildSays,
    ChildSpawned,
    Delegate,
    Delegated,
    DisposeRun,
    Need,
    PassGrace,
    RemoveProvider,
    RunEnded,
    RunProvider,
    RunSignal,
    RunStarted,
    RunStop,
    StartRun,
    SubagentOp,
)
from probate_reference import subagents as product
from probate_reference.subagents.inprocess import InProcessRun
from probate_reference.subagents.runs import Start
from probate_reference.subagents.transport import MARK, environment_of

_GRACE: Final = 60.0
_starting: ContextVar[Label] = ContextVar("probate_conformance_starting")
"""The run that is being started, and whose tasks these are."""


class _Rooted(reference.Owner):
    """An owner whose agents each work in a folder of their own."""

    def __init__(self, owner: reference.Owner) -> None:
        self._owner = owner

    def create(
        self,
        id: str,
        *,
        setup: reference.Setup | None = None,
        signal: reference.CreationSignal | None = None,
        cleanups: tuple[reference.Cleanup, ...] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> reference.Creation:
        """Begin to create an agent."""
        metadata = {"cwd": f"/{id}", **(metadata or {})}
        return self._owner.create(id, setup=setup, signal=signal, cleanups=cleanups, metadata=metadata)


class _Watched:
    """A provider, and somebody who is told of each run that it begins."""

    def __init__(self, provider: product.Provider, told: Callable[[Label, product.Run], object]) -> None:
        self._provider = provider
        self._told = told

    @property
    def capabilities(self) -> frozenset[product.Capability]:
        """What a request may need."""
        return self._provider.capabilities

    def start(self, request: product.RunRequest, tasks: Start) -> product.Run:
        """Begin a run."""
        run = self._provider.start(request, tasks)
        self._told(_starting.get(), run)
        return run


class SubagentSubject(Subject):
    """A world of the reference, driven by items of profile ``subagents``."""

    def __init__(self, spec: WorldSpec) -> None:
        super().__init__(spec)
        self.subagents = product.Subagents(report=ignore)
        self._run_hearing: list[Listener] = []
        self._runs: dict[Label, product.Run] = {}
        self._bound_runs: set[Label] = set()
        self._programs: dict[Label, Program] = {}
        self._run_signals: dict[Label, reference.Signal] = {}
        self._removals: dict[RunProvider, Callable[[], None]] = {}
        self._closing = False
        self.subagents.on(self._tell)
        for name in RunProvider:
            self._register(name)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run what the world consists of."""
        async with self.runtime, self.subagents:
            yield

    def stop(self) -> None:
        """End: what does not go when it is told to is made to."""
        super().stop()
        self._closing = True
        for program in self._programs.values():
            program.pass_grace()

    def bind(self) -> None:
        """Let what has returned be named from here on."""
        super().bind()
        self._bound_runs.update(self._runs)

    # The seams.

    def _register(self, name: RunProvider) -> None:
        self._removals[name] = self.subagents.register(name, _Watched(self._provider(name), self._begun))

    def _provider(self, name: RunProvider) -> product.Provider:
        match name:
            case RunProvider.SPAWN:
                return product.SpawnProvider(self.runtime.owner(RUN_OWNER), mint=_starting.get)
            case RunProvider.FORK:
                return product.ForkProvider(self.runtime.owner(RUN_OWNER), mint=_starting.get)
            case _:
                return product.AcpProvider(
                    name,
                    environment=dict(OVERLAY),
                    allow=name is RunProvider.TRUSTING,
                    grace=_GRACE,
                    spawn=self._spawn,
                    sleep=self._sleep,
                    mint=_starting.get,
                    report=ignore,
                )

    def _begun(self, label: Label, run: product.Run) -> None:
        self._runs[label] = run
        if isinstance(run, InProcessRun):
            creation = self._creations[label] = run.creation
            if creation.agent is not None:
                self._labels[creation.agent] = label
            if self._calls is not None:
                self._calls.start_soon(self._keep, label, creation)

    async def _keep(self, label: Label, creation: reference.Creation) -> None:
        try:
            self._handles[label] = await creation
        except Exception:
            return

    def _spawn(self, command: product.Command) -> Program:
        if command.arguments == (RunProvider.MISSING,):
            raise FileNotFoundError("there is no such program")
        label = _starting.get()
        role = Role(label, self.gates, partial(self._hears, label), self._settled, self._beside)
        program, environment = self._started(role, command)
        self._programs[label] = program
        folder = "" if command.folder == os.getcwd() else command.folder
        found = tuple(sorted(entry for entry in environment if not entry.startswith(f"{MARK}=")))
        self.events.append(ChildSpawned(label, folder, found))
        return program

    def _started(self, role: Role, command: product.Command) -> tuple[Program, Iterable[str]]:
        """Start the program of a run; gives what it finds in its environment, too."""
        found = environment_of(command, dict(AMBIENT))
        return MemoryProgram(role), [f"{name}={value}" for name, value in found.items()]

    def _hears(self, label: Label, what: str) -> None:
        self.events.append(ChildGone(label) if what == "gone" else ChildHears(label, what))

    def _beside(self, function: Callable[..., Coroutine[Any, Any, None]], *arguments: object) -> bool:
        if self._calls is None:
            return False
        self._calls.start_soon(function, *arguments)
        return True

    async def _sleep(self, seconds: float) -> None:
        if seconds != _GRACE:
            await anyio.sleep_forever()
        elif not self._closing:
            await self._programs[_starting.get()].sleep()

    def _owner(self, name: OwnerName) -> reference.Owner:
        return _Rooted(self.runtime.owner(name))

    # Events.

    def _tell(self, event: product.SubagentEvent) -> None:
        run, parent = self._runs[Label(event.run)], event.parent
        told: RunStarted | RunEnded
        if isinstance(event, product.SubagentStarted):
            ref = None if parent is None else self._ref(parent)
            told = RunStarted(Label(event.run), RunProvider(event.provider), ref, _seeded(run))
        else:
            told = RunEnded(Label(event.run), RunStop(event.stop), tuple(map(Text, event.output)))
        self.events.append(told)
        thrown = self._hear_all(self._run_hearing, told)
        if thrown is not None:
            raise thrown

    def _install(self, item: React) -> None:
        if item.on.event in SUBAGENT_EVENTS:
            self._run_hearing.append(self._listener(item))
        else:
            super()._install(item)

    # Ops.

    def _op(self, op: Op, this: reference.Agent | None) -> None:
        if isinstance(op, SubagentOp):
            self._on_subagents(op, this)
        else:
            super()._op(op, this)

    def _on_subagents(self, op: SubagentOp, this: reference.Agent | None) -> None:
        match op:
            case StartRun():
                self._start(op, this)
            case Delegate():
                handle = self._handle(op.by, this)
                if handle is not None and self._calls is not None:
                    self._calls.start_soon(self._delegate, op, handle.agent)
            case AddProvider():
                try:
                    self._register(op.provider)
                except reference.Refusal as refusal:
                    self._settled(op.label, Raised(code_of(refusal)))
                else:
                    self._settled(op.label)
            case RemoveProvider():
                remove = self._removals.pop(op.provider, None)
                if remove is not None:
                    remove()
                    self._settled(op.label)
            case AbortRun():
                signal = self._run_signals.get(op.run)
                if op.run in self._runs and signal is not None and not signal.aborted:
                    signal._fire(reference.AbortCause.PARENT)
                    self._settled(op.label)
            case CancelRun():
                if op.run in self._runs:
                    self._runs[op.run].cancel()
                    self._settled(op.label)
            case AwaitRun() | DisposeRun() | ChildSays() | ChildAsks() | PassGrace():
                if op.run in self._bound_runs:
                    self._on_run(op)

    def _on_run(self, op: AwaitRun | DisposeRun | ChildSays | ChildAsks | PassGrace) -> None:
        run, program = self._runs[op.run], self._programs.get(op.run)
        match op:
            case AwaitRun():
                self._follow(op.label, _stop_of(run))
            case DisposeRun():
                self._follow(op.label, run.dispose())
            case ChildSays():
                if program is not None and program.works:
                    program.say(op.says, op.text)
                    self._settled(op.label)
            case ChildAsks():
                if program is not None and program.works:
                    program.ask(op.label, op.options)
            case PassGrace():
                if program is not None and program.pass_grace():
                    self._settled(op.label)

    def _signal(self, op: StartRun | Delegate) -> reference.Signal | None:
        if op.signal is RunSignal.NONE:
            return None
        signal = reference.Signal(ignore)
        if op.signal is RunSignal.PRE_ABORTED:
            signal._fire(reference.AbortCause.PARENT)
        self._run_signals[op.label] = signal
        return signal

    def _start(self, op: StartRun, this: reference.Agent | None) -> None:
        parent = None
        if op.parent is not None:
            handle = self._handle(op.parent, this)
            if handle is None:
                return
            parent = handle.agent
        request = product.RunRequest(
            op.text,
            parent,
            self._signal(op),
            output_schema={} if op.needs is Need.OUTPUT_SCHEMA else None,
            depth_limit=op.depth,
            tools=frozenset({"scripted"}) if op.needs is Need.TOOL_FILTER else None,
        )
        token = _starting.set(op.label)
        try:
            run = self.subagents.start(op.provider, request)
        except Exception as failure:
            self._settled(op.label, Raised(code_of(failure)))
        else:
            self._settled(op.label, Returned(Label(run.id)))
        finally:
            _starting.reset(token)

    async def _delegate(self, op: Delegate, agent: reference.Agent) -> None:
        _starting.set(op.label)
        tool = product.delegate(self.subagents, op.provider)
        context = reference.ToolContext(agent, self._signal(op))
        self._settled(op.label, await _outcome(tool.call({"prompt": op.text}, context)))


def _seeded(run: product.Run) -> int:
    """Give how many records the log of a child begins with; it has none of its own when its start is announced."""
    agent = run.creation.agent if isinstance(run, InProcessRun) else None
    return 0 if agent is None else len(agent.session.records)


async def _stop_of(run: product.Run) -> Returned:
    return Returned(Label((await run.result).stop))


async def _outcome(call: Awaitable[str]) -> Settlement:
    """Read what the tool answers: what was said, or why it failed and then what was said by then."""
    try:
        return Returned(Delegated(RunStop.COMPLETED, _words(await call)))
    except product.DelegationFailed as failure:
        why, _, said = str(failure).partition("\n")
        stop = why.removeprefix("subagent: ").partition(",")[0]
        return Returned(Delegated(RunStop(stop), _words(said)))
    except Exception as failure:
        return Raised(code_of(failure))


def _words(said: str) -> tuple[Text, ...]:
    return (Text(said),) if said else ()
