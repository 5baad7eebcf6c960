"""Traces of profile ``tasks``: two agents and nobody, a few tasks, and a tool that comes and goes.

Half of the items are about tasks; the others are those of ``core``, so that owners are in the middle of something, end,
and come back under the same id, while their tasks run. Half of the tasks are held at their end, since a task that
ends at once is of little interest. Tokens are mostly the ids of agents, and now and then one that looks like one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, Final

from probate_conformance.generation.core import Writer
from probate_model.alphabet.gates import Gate, GateKind, GateOutcome, Temper
from probate_model.alphabet.items import (
    Action,
    BurstItem,
    Hold,
    Item,
    Open,
    Pattern,
    Plan,
    React,
    Release,
    Scalar,
    Settle,
    Throw,
)
from probate_model.alphabet.names import AgentId, Label, Tag, Text
from probate_model.alphabet.ops import ByOwner, Create, Dispose, Op, Send
from probate_model.alphabet.tasks import (
    EMPTY_TASK,
    UNKNOWN_TASK,
    AbortTask,
    AgentsRegistry,
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
    TaskSays,
    TaskSignal,
    TaskStatus,
    Token,
    UnloadTool,
    Via,
)
from probate_model.machine import somebody_waits
from probate_model.tasks.access import is_known
from probate_model.tasks.state import Process, Task, TasksRoom
from probate_model.world import Returned

_IDS: Final = (AgentId("a"), AgentId("b"))
_TOKENS: Final = ("a", "a", "b", "", "a ", "A", "\u0430", "a\u0301", "a" * 300)
_MOST_TASKS: Final = 8
_EXIT: Final = GateKind.EXIT


class TaskWriter(Writer):
    """Writes one trace of profile ``tasks``."""

    profile: ClassVar[str] = "tasks"

    # The tasks as they would be now.

    @property
    def _room(self) -> TasksRoom:
        room = self.world.rooms.tasks
        assert room is not None
        return room

    def _named(self) -> list[Task]:
        return [task for task in self._room.tasks if task.returned is Returned.BOUND]

    def _running(self) -> list[Task]:
        return [task for task in self._named() if task.process is not Process.OVER]

    def _task(self) -> Label:
        """Draw a task: mostly one that the executor knows, and of those one that runs; now and then none at all."""
        if self.random.chance(1, 20):
            return self.random.choose((UNKNOWN_TASK, EMPTY_TASK))
        named = self._named()
        known = [task for task in named if is_known(self._room, task)]
        running = [task for task in known if task.process is not Process.OVER]
        if running and self.random.chance(2, 3):
            return self.random.choose(running).label
        return self.random.choose(known or named).label

    def _by(self) -> Label | None:
        """Draw who calls the tool: mostly an agent that can."""
        taking = self.cast.taking
        if not self.cast.bound or self.random.chance(1, 8):
            return None
        return self.random.choose(taking).label if taking and self.random.chance(5, 6) else self._agent()

    def _turn(self, by: Label | None) -> bool:
        return by is not None and self.random.chance(1, 6)

    # Which items can be made now, and how likely each is.

    def _kinds(self) -> list[tuple[int, Callable[[], BurstItem]]]:
        kinds = super()._kinds()
        if self.promised is not None:
            return kinds
        return [*kinds, *self._task_kinds()]

    def _task_kinds(self) -> Iterator[tuple[int, Callable[[], BurstItem]]]:
        room, named, running = self._room, self._named(), self._running()

        def offer(
            weight: int, make: Callable[[], BurstItem], *names: str, when: object = True
        ) -> Iterator[tuple[int, Callable[[], BurstItem]]]:
            if when and self.palette.ops.issuperset(names):
                yield weight, make

        more = len(room.tasks) < _MOST_TASKS
        yield from offer(22, self._start, "start_task", when=more and self.cast.bound and room.has_tool)
        yield from offer(3, self._start, "start_task", when=more)
        yield from offer(9, self._launch, "launch_task", when=more)
        yield from offer(16, self._read, "read_task", when=named)
        yield from offer(10, self._kill, "kill_task", when=running)
        yield from offer(2, self._kill, "kill_task", when=named)
        yield from offer(8, self._say, "task_says", when=running)
        armed = [task for task in named if task.armed]
        yield from offer(
            7, lambda: AbortTask(self._label("a"), self.random.choose(armed).label), "abort_task", when=armed
        )
        yield from offer(3, lambda: OwnerOfTask(self._label("o"), self._task()), "owner_of_task", when=named)
        yield from offer(3, lambda: ListTasks(self._label("k")), "list_tasks", when=room.tasks)
        yield from offer(6, lambda: AwaitTask(self._label("w"), self._task()), "await_task", when=named)
        yield from offer(4, lambda: UnloadTool(self._label("u")), "unload_tool", when=room.tool and room.tasks)
        yield from offer(12, lambda: LoadTool(self._label("l")), "load_tool", when=not room.tool)
        busy = len(running) > 1
        yield from offer(4 if busy else 1, lambda: DisposeExecutor(self._label("d")), "dispose_executor")
        yield from offer(14, lambda: LoadExecutor(self._label("l")), "load_executor", when=not room.active)
        changed = room.registry is not AgentsRegistry.THERE
        yield from offer(8 if changed else 2, self._set_registry, "set_registry", when=running or changed)
        if _EXIT in self.palette.gates:
            waiting = [task for task in room.tasks if somebody_waits(self.world, Gate(_EXIT, task.label))]
            yield from offer(14, lambda: self._let_end(waiting), when=waiting)
            yield from offer(2, lambda: Open(self._exit_of(waiting)), when=waiting)

    # What seldom comes about by chance.

    def _stories(self) -> list[Callable[[], list[Item]]]:
        """Give the stories that can be told now of a task that somebody owns and that waits at its end."""
        ops, gates = self.palette.ops, self.palette.gates
        held = [task for task in self._running() if somebody_waits(self.world, Gate(_EXIT, task.label))]
        owners = {agent.label for agent in self.cast.taking}
        owned = [task for task in held if task.owner_label in owners]
        stories: list[Callable[[], list[Item]]] = []
        if _EXIT not in gates:
            return stories
        if held and "kill_task" in ops:
            stories.append(lambda: self._killed_at_the_end(self.random.choose(held)))
        if owned and ops.issuperset(("dispose", "create", "read_task")):
            stories.append(lambda: self._taken_over(self.random.choose(owned)))
        if owned and ops.issuperset(("unload_tool", "load_tool", "read_task")) and self._room.has_tool:
            stories.append(lambda: self._ended_in_the_gap(self.random.choose(owned)))
        if owned and ops.issuperset(("set_registry", "await_task")):
            stories.append(lambda: self._ended_unheard(self.random.choose(owned)))
        if "dispose_executor" in ops and any(task.wait and task.wait.temper is Temper.DEAF for task in held):
            stories.append(lambda: [DisposeExecutor(self._label("d")), Settle()])
        return stories

    def _killed_at_the_end(self, task: Task) -> list[Item]:
        return [Release(Gate(_EXIT, task.label), self._end()), KillTask(self._label("x"), task.label, Via.EXECUTOR)]

    def _taken_over(self, task: Task) -> list[Item]:
        assert task.owner_label is not None
        assert task.owner is not None
        heir, reads = self._label("c"), self._label("r")
        create = Create(heir, AgentId(task.owner), ByOwner(self.random.choose(self.spec.owners)))
        dispose = Dispose(self._label("d"), task.owner_label)
        return [Settle(), dispose, Settle(), create, Settle(), ReadTask(reads, task.label, by=heir), Settle()]

    def _ended_in_the_gap(self, task: Task) -> list[Item]:
        middle: list[Item] = [Release(Gate(_EXIT, task.label), self._end()), Settle()] if self.random.below(2) else []
        strangers = [agent.label for agent in self.cast.taking if Token(agent.id) != task.owner]
        reader = self.random.choose(strangers) if strangers else self._by()
        read = ReadTask(self._label("r"), task.label, by=reader)
        return [UnloadTool(self._label("u")), Settle(), *middle, LoadTool(self._label("l")), read]

    def _ended_unheard(self, task: Task) -> list[Item]:
        away = AgentsRegistry.ABSENT if self.random.chance(1, 3) else AgentsRegistry.BROKEN
        waiter = AwaitTask(self._label("w"), task.label)
        end = Release(Gate(_EXIT, task.label), self._end())
        back = SetRegistry(self._label("g"), AgentsRegistry.THERE)
        return [SetRegistry(self._label("g"), away), waiter, end, Settle(), back]

    # The items.

    def go_on(self) -> None:
        """Write one more item, and with a start often what is to hold its task; now and then a whole story."""
        stories = self._stories() if self.promised is None and self.random.chance(1, 5) else []
        if stories:
            for item in self.random.choose(stories)():
                if isinstance(item, Settle):
                    self._settle()
                else:
                    self._add(item)
            return
        before = len(self.items)
        super(TaskWriter, self).go_on()  # noqa: UP008 - a dataclass with slots is made anew, which a bare super does not know
        made = self.items[-1] if len(self.items) > before else None
        if isinstance(made, StartTask | LaunchTask) and _EXIT in self.palette.gates:
            if self.random.chance(3, 5):
                deaf = "deaf" in self.palette.features and self.random.chance(1, 3)
                self._add(Hold(Gate(_EXIT, made.label), Temper.DEAF if deaf else Temper.HONOURS))
            elif self.random.chance(1, 2):
                self._add(Plan(Gate(_EXIT, made.label), (self._end(),)))

    def _create(self, label: Label | None = None, *, inside: bool = False) -> Create:
        made = super()._create(label, inside=inside)
        # Two ids only: an id that is used again is what the fence is about.
        return made if made.id in _IDS else Create(made.label, _IDS[0], made.by, made.setup, made.cleanup, made.signal)

    def _start(self) -> StartTask:
        by = self._by()
        return StartTask(self._label("t"), by, self._turn(by))

    def _launch(self) -> LaunchTask:
        owner = None if self.random.chance(1, 3) else Token(self.random.choose(_TOKENS))
        signal = TaskSignal.NONE
        if "signal" in self.palette.features and self.random.chance(1, 2):
            signal = TaskSignal.PRE_ABORTED if self.random.chance(1, 6) else TaskSignal.ARMED
        return LaunchTask(self._label("t"), owner, signal, not self.random.chance(1, 8))

    def _read(self, label: Label | None = None) -> ReadTask:
        via, by = self._via()
        return ReadTask(label or self._label("r"), self._task(), via, by, via is Via.TOOL and self._turn(by))

    def _kill(self, label: Label | None = None) -> KillTask:
        via, by = self._via()
        return KillTask(label or self._label("x"), self._task(), via, by, via is Via.TOOL and self._turn(by))

    def _via(self) -> tuple[Via, Label | None]:
        return (Via.EXECUTOR, None) if self.random.chance(1, 4) else (Via.TOOL, self._by())

    def _say(self) -> TaskSays:
        said = self._label("s")
        return TaskSays(said, self.random.choose(self._running()).label, Text(f"says-{said}"))

    def _set_registry(self) -> SetRegistry:
        away = AgentsRegistry.ABSENT if self.random.chance(1, 2) else AgentsRegistry.BROKEN
        there = self._room.registry is AgentsRegistry.THERE
        return SetRegistry(self._label("g"), away if there else AgentsRegistry.THERE)

    def _end(self) -> GateOutcome:
        return self._outcome(_EXIT)

    def _exit_of(self, waiting: list[Task]) -> Gate:
        return Gate(_EXIT, self.random.choose(waiting).label)

    def _let_end(self, waiting: list[Task]) -> Release:
        return Release(self._exit_of(waiting), self._end())

    # Reactions.

    def _react(self) -> React:
        if "task/done" not in self.palette.events or not self._room.tasks or self.random.chance(1, 2):
            return super()._react()
        label = self._label("r")
        many = 1 + self.random.chance(1, 2)
        actions: list[Action] = [self._on_done(Label(f"{label}.{place}")) for place in range(many)]
        if "throw" in self.palette.features and self.random.chance(1, 4):
            actions.append(Throw(Tag(str(label))))
        where: tuple[tuple[str, Scalar], ...] = ()
        if self.random.chance(1, 3):
            where = (("status", self.random.choose((TaskStatus.COMPLETED.value, TaskStatus.KILLED.value))),)
        return React(label, Pattern("task/done", where), tuple(actions))

    def _on_done(self, label: Label) -> Op:
        named, bound = self._named(), self.cast.bound
        options: list[tuple[int, str, Callable[[], Op]]] = [
            (3, "list_tasks", lambda: ListTasks(label)),
            (2, "dispose_executor", lambda: DisposeExecutor(label)),
            (2, "load_executor", lambda: LoadExecutor(label)),
            (3, "unload_tool", lambda: UnloadTool(label)),
            (2, "load_tool", lambda: LoadTool(label)),
        ]
        if named:
            options += [
                (4, "read_task", lambda: self._read(label)),
                (4, "kill_task", lambda: self._kill(label)),
                (2, "owner_of_task", lambda: OwnerOfTask(label, self._task())),
            ]
        if bound:
            options += [
                (3, "send", lambda: Send(label, self._agent(), self._text())),
                (3, "dispose", lambda: Dispose(label, self._agent())),
            ]
        return self.random.weighted([(weight, make) for weight, name, make in options if name in self.palette.ops])()
