"""One world of profile ``tasks`` on the reference: its executor, its bash tools, and processes that wait to be told.

The tool is called as a model calls it, through the runtime's toolbox with the text of a JSON object, and what it
answers is read from its words. The executor's clock stands still: no grace ever passes by itself.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, assert_never

from anyio import Event

import probate_reference as reference
from probate_conformance.backends.reference.processes import SHELL, Pipes, Process
from probate_conformance.backends.reference.subject import Listener, Subject
from probate_conformance.backends.reference.translation import Thrown, code_of
from probate_model.alphabet.events import AgentEvent, ContextMessage, Logged, Raised, Returned, Settlement
from probate_model.alphabet.gates import GateKind, Temper
from probate_model.alphabet.items import React, WorldSpec
from probate_model.alphabet.names import Label, Tag, Text
from probate_model.alphabet.ops import Op
from probate_model.alphabet.tasks import (
    EMPTY_TASK,
    UNKNOWN_TASK,
    AbortTask,
    AgentsRegistry,
    AwaitTask,
    DisposeExecutor,
    KillTask,
    LaunchTask,
    ListedTask,
    ListTasks,
    LoadExecutor,
    LoadTool,
    OwnerOfTask,
    ReadTask,
    SetRegistry,
    StartTask,
    TaskDone,
    TaskList,
    TaskOutput,
    TaskOwner,
    TaskRef,
    TaskSays,
    TaskSignal,
    TaskStatus,
    Token,
    ToolOp,
    UnloadTool,
    Via,
    notice_text,
)
from probate_model.tasks.executor import COULD_NOT_RUN
from probate_reference import tasks as product
from probate_reference.tools import bash

_NOBODYS: Final = "bash-0"
"""The name of a task that nobody has started."""

_NOWHERE: Final = "/nowhere/at/all"
"""Where no command can be run."""

_STARTED: Final = re.compile(r"Started task (bash-\d+)\.")
_NOTICE: Final = re.compile(r"Background task (bash-\d+) has ended:")


class _StandingClock:
    """A clock that stands still until the world ends; then all time has passed."""

    def __init__(self) -> None:
        self._end = Event()

    async def sleep(self, seconds: float) -> None:
        del seconds
        await self._end.wait()

    def run_out(self) -> None:
        self._end.set()


class _Executor(product.Executor):
    """The executor, which has started a process when that knows what to do."""

    def __init__(self, clock: _StandingClock, pipes: Pipes) -> None:
        super().__init__(shell=SHELL, clock=clock, report=ignore)
        self._pipes = pipes

    def start(self, spec: product.Spec) -> product.Task:
        """Start a command."""
        task = super().start(spec)
        if task.pid is not None:
            self._pipes.answered()
        return task


class TaskSubject(Subject):
    """A world of the reference, driven by items of profile ``tasks``."""

    def __init__(self, spec: WorldSpec) -> None:
        super().__init__(spec)
        self._clock = _StandingClock()
        self._pipes = Pipes()
        self.executor = _Executor(self._clock, self._pipes)
        self._registry = AgentsRegistry.THERE
        self._tasks: dict[Label, product.Task] = {}
        self._bound_tasks: set[Label] = set()
        self._processes: dict[Label, Process] = {}
        self._task_signals: dict[Label, product.AbortSignal] = {}
        self._scripts: defaultdict[reference.Agent, deque[ToolOp]] = defaultdict(deque)
        self._done_hearing: list[Listener] = []
        # The recorder hears of every end before the tool does.
        self.executor.depend(lambda: self.executor.on_done(self._record_done))
        self._unmount: Callable[[], None] | None = self._mount()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run what the world consists of."""
        try:
            async with self.runtime, self.executor:
                yield
        finally:
            for process in self._processes.values():
                process.close()
            self._pipes.close()

    def stop(self) -> None:
        """End: what does not end when it is asked to is made to."""
        super().stop()
        self._clock.run_out()

    def bind(self) -> None:
        """Let what has returned be named from here on."""
        super().bind()
        self._bound_tasks.update(self._tasks)

    def wait_outside(self) -> bool:
        """Let the processes go that were told to end and are not known to be gone; tell whether there were any."""
        waited = False
        for process in self._processes.values():
            if process.over:
                continue
            if not process.alive:
                process.let_go()
            elif self._calls is None:
                # The world is being closed, and those that heed nothing are made to end.
                process.wait()
            else:
                continue
            waited = True
        return waited

    # Events.

    def told(self, event: reference.Event) -> AgentEvent:
        """Give an event as one of the alphabet, a notice by what stands for it."""
        seen = super().told(event)
        if isinstance(seen, Logged) and isinstance(seen.record, ContextMessage):
            found = _NOTICE.match(seen.record.text)
            if found is not None:
                return Logged(seen.agent, seen.seq, ContextMessage(notice_text(TaskRef(found[1]))))
        return seen

    def _record_done(self, task: product.Task) -> None:
        event = TaskDone(TaskRef(task.id), TaskStatus(task.status.value), _how(task.exit))
        self.events.append(event)
        thrown = self._hear_all(self._done_hearing, event)
        if thrown is not None:
            raise thrown

    def _install(self, item: React) -> None:
        if item.on.event == "task/done":
            self._done_hearing.append(self._listener(item))
        else:
            super()._install(item)

    # Ops.

    def _op(self, op: Op, this: reference.Agent | None) -> None:
        match op:
            case StartTask() | ReadTask() | KillTask():
                if isinstance(op, ReadTask | KillTask) and op.via is Via.EXECUTOR:
                    self._directly(op)
                else:
                    self._through_tool(op, this)
            case LaunchTask():
                self._launch(op)
            case AbortTask() | TaskSays() | OwnerOfTask() | AwaitTask():
                self._on_task(op)
            case ListTasks():
                listed = (ListedTask(TaskRef(t.id), TaskStatus(t.status.value)) for t in self.executor.list())
                self._settled(op.label, Returned(TaskList(tuple(listed))))
            case UnloadTool():
                if self._unmount is not None:
                    unmount, self._unmount = self._unmount, None
                    unmount()
                    self._settled(op.label)
            case LoadTool():
                if self._unmount is None:
                    self._unmount = self._mount()
                    self._settled(op.label)
            case DisposeExecutor():
                self._follow(op.label, self.executor.dispose())
            case LoadExecutor():
                if not self.executor.active:
                    self.executor.load()
                    self._settled(op.label)
            case SetRegistry():
                self._registry = op.registry
                self._settled(op.label)
            case _:
                super()._op(op, this)

    def _mount(self) -> Callable[[], None]:
        return bash.mount(self.executor, self.runtime.tools, self._lookup)

    def _lookup(self, name: str) -> object:
        if self._registry is AgentsRegistry.BROKEN:
            raise Thrown(Tag("registry"))
        return self.runtime.agents if self._registry is AgentsRegistry.THERE and name == bash.AGENTS else None

    def _id(self, label: Label) -> str | None:
        """Give the name of a task; none if it can't be named."""
        if label == UNKNOWN_TASK:
            return _NOBODYS
        if label == EMPTY_TASK:
            return ""
        return self._tasks[label].id if label in self._bound_tasks else None

    def _launch(self, op: LaunchTask) -> None:
        signal = None if op.signal is TaskSignal.NONE else product.AbortSignal()
        if signal is not None and op.signal is TaskSignal.PRE_ABORTED:
            signal.abort()
        command, told = self._pipes.command()
        request = product.Request(command, None if op.runs else _NOWHERE, owner=op.owner, signal=signal)
        try:
            task = self.executor.start(self.executor.resolve(request))
        except reference.Refusal as refusal:
            self._settled(op.label, Raised(code_of(refusal)))
            return
        if signal is not None:
            self._task_signals[op.label] = signal
        self._started(op.label, task, told)
        self._settled(op.label, Returned(TaskRef(task.id)))

    def _started(self, label: Label, task: product.Task, told: int) -> None:
        self._tasks[label] = task
        if task.pid is not None:
            self._processes[label] = process = Process(label, task, self._pipes, told)
            if self._calls is not None:
                self._calls.start_soon(self._to_its_gate, process)

    async def _to_its_gate(self, process: Process) -> None:
        """Bring a process to its gate, and let it end as it is told there."""
        if not process.alive:
            return
        if self.gates.held(GateKind.EXIT, process.label) is Temper.DEAF:
            process.heed_nothing()
        outcome = await self.gates.arrive(GateKind.EXIT, process.label)
        assert outcome is not None
        if process.alive:
            process.end(outcome)

    def _directly(self, op: ReadTask | KillTask) -> None:
        name = self._id(op.task)
        if name is None:
            return
        try:
            match op:
                case ReadTask():
                    output = self.executor.read(name)
                    task = self.executor.get(name)
                    assert task is not None
                    value = TaskOutput(_lines(output.stdout, output.stderr), TaskStatus(task.status.value))
                    self._settled(op.label, Returned(value))
                case KillTask():
                    self._settled(op.label, Returned(self.executor.kill(name)))
        except reference.Refusal as refusal:
            self._settled(op.label, Raised(code_of(refusal)))

    def _on_task(self, op: AbortTask | TaskSays | OwnerOfTask | AwaitTask) -> None:
        name = self._id(op.task)
        if name is None:
            return
        match op:
            case OwnerOfTask():
                owner = self.executor.owner_of(name)
                self._settled(op.label, Returned(TaskOwner(None if owner is None else Token(owner))))
            case AbortTask():
                signal = self._task_signals.get(op.task)
                if signal is not None and not signal.aborted:
                    signal.abort()
                    self._settled(op.label)
            case TaskSays():
                process = self._processes.get(op.task)
                if process is not None and process.alive:
                    process.say(op.text)
                    self._settled(op.label)
            case AwaitTask():
                task = self._tasks.get(op.task)
                if task is not None:
                    self._follow(op.label, task.done)
            case _:
                assert_never(op)

    # The tool.

    def _through_tool(self, op: ToolOp, this: reference.Agent | None) -> None:
        agent = None if op.by is None else self._named(op.by, this)
        if (op.by is not None or op.turn) and agent is None:
            return
        if not isinstance(op, StartTask) and self._id(op.task) is None:
            return
        if op.turn and agent is not None:
            self._scripts[agent].append(op)
        elif self._calls is not None:
            self._calls.start_soon(self._call, op, reference.ToolContext(agent))

    async def _call(self, op: ToolOp, context: reference.ToolContext) -> None:
        self._settled(op.label, await self._use(op, context))

    async def _use(self, op: ToolOp, context: reference.ToolContext) -> Settlement:
        """Call the tool as a model does."""
        match op:
            case StartTask():
                command, told = self._pipes.command()
                name, arguments = "bash", {"command": command, "background": True}
            case ReadTask():
                name, arguments = "bash_output", {"task_id": self._id(op.task)}
            case KillTask():
                name, arguments = "bash_kill", {"task_id": self._id(op.task)}
        call = reference.ToolCall(name, json.dumps(arguments))
        try:
            answer = await self.runtime.tools.call(call, context)
        except (reference.Refusal, reference.UnknownTool) as refusal:
            return Raised(code_of(refusal))
        match op:
            case StartTask():
                found = _STARTED.match(answer)
                assert found is not None
                task = self.executor.get(found[1])
                assert task is not None
                self._started(op.label, task, told)
                return Returned(TaskRef(task.id))
            case ReadTask():
                return Returned(_read(answer))
            case KillTask():
                return Returned("is being ended" in answer)

    async def _tool(self, arguments: Mapping[str, object], context: reference.ToolContext) -> str:
        scripts = self._scripts[context.agent] if context.agent is not None else None
        if not scripts:
            return await super()._tool(arguments, context)
        op = scripts.popleft()
        outcome = await self._use(op, context)
        self._settled(op.label, outcome)
        if isinstance(outcome, Raised):
            raise Thrown(Tag(outcome.code))
        return "ok"


def _how(how: product.Exit | None) -> str:
    if how is None:
        return "none"
    return f"code:{how.code}" if how.signal is None else f"signal:{how.signal}"


def _lines(stdout: str, stderr: str) -> tuple[Text, ...]:
    return (*map(Text, stdout.splitlines()), *((COULD_NOT_RUN,) if stderr else ()))


def _read(answer: str) -> TaskOutput:
    """Read what the tool says of a task: its output, and in the last line what it is doing."""
    output, _, state = answer.rpartition("\n")
    stdout, _, stderr = output.partition(product.TaskOutput.MARK)
    return TaskOutput(_lines(stdout, stderr), TaskStatus(state.strip("[]").partition(",")[0]))


def ignore(place: str, failure: BaseException) -> None:
    """Contained failures are outside the comparison."""
