"""Traces of profile ``subagents``: runs of every provider, cancelled, torn, disposed, or left to go well.

Two items in three are about runs; the others are those of ``core``, so that parents work, fork from the middle of a
turn, and end. Most programs are held somewhere for a while, since a run that is over at once is of little interest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from probate_conformance.generation.core import Writer
from probate_model.alphabet.gates import DIES, ERROR, MAX_TOKENS, Gate, GateKind, GateOutcome, Temper, fixed_outcomes
from probate_model.alphabet.items import Action, BurstItem, Hold, Open, Pattern, Plan, React, Release, WorldSpec
from probate_model.alphabet.names import Label, OwnerName, Text
from probate_model.alphabet.ops import Send
from probate_model.alphabet.subagents import (
    RUN_OWNER,
    AbortRun,
    AddProvider,
    AwaitRun,
    CancelRun,
    ChildAsks,
    ChildSays,
    Delegate,
    DisposeRun,
    Need,
    Option,
    PassGrace,
    RemoveProvider,
    RunProvider,
    RunSignal,
    Saying,
    StartRun,
)
from probate_model.machine import somebody_waits
from probate_model.rehearsal import Rehearsing
from probate_model.subagents.state import Ending, Program, Run, SubagentsRoom
from probate_model.world import Returned, new_world

_HOST: Final = OwnerName("host")
_MOST_RUNS: Final = 5
_GATES: Final = (
    (3, GateKind.INITIALIZE),
    (3, GateKind.NEW_SESSION),
    (8, GateKind.ANSWER),
    (4, GateKind.LEAVE),
)
_STORY_OPS: Final = frozenset({"start_run", "cancel_run", "dispose_run", "await_run", "child_says"})


class SubagentWriter(Writer):
    """Writes one trace of profile ``subagents``."""

    profile: ClassVar[str] = "subagents"

    def begin(self) -> None:
        """Decide what exists before the first item: an owner, and that of runs without a parent."""
        self.spec = WorldSpec((_HOST, RUN_OWNER))
        self.rehearsing = Rehearsing(new_world(self.spec, self.edition, self.profile))
        self._coming: Label | None = None
        """The run to come whose gate was spoken of."""

    # The runs as they would be now.

    @property
    def _room(self) -> SubagentsRoom:
        room = self.world.rooms.subagents
        assert room is not None
        return room

    def _named(self) -> list[Run]:
        return [run for run in self._room.runs if run.returned is Returned.BOUND]

    def _left(self) -> list[Run]:
        return [run for run in self._room.runs if not run.gone]

    def _run_label(self) -> Label:
        """Give the label of a new run: that of the one whose gate was spoken of, if one was."""
        coming, self._coming = self._coming, None
        return coming or self._label("r")

    def _run(self) -> Label:
        """Draw a run that can be named: mostly one of which something is left, and of those one that works."""
        named = self._named()
        left = [run for run in named if not run.gone]
        working = [run for run in left if run.stop is None]
        if working and not self.random.chance(1, 3):
            return self.random.choose(working).label
        if left and not self.random.chance(1, 8):
            return self.random.choose(left).label
        return self.random.choose(named).label

    def _working(self) -> list[Run]:
        """Give the runs whose program works at its prompt."""
        return [run for run in self._named() if isinstance(run.child, Program) and run.child.at is GateKind.ANSWER]

    def _staying(self) -> list[Run]:
        """Give the runs whose program was told to go and has not gone."""
        return [
            run
            for run in self._named()
            if isinstance(run.child, Program)
            and not run.child.gone
            and run.child.told in (Ending.EOF, Ending.TERM)
            and not run.child.grace_over
        ]

    # What seldom comes about by chance.

    def go_on(self) -> None:
        """Write one more item, or now and then a few in a row that belong together."""
        if self.promised is None and self.palette.ops >= _STORY_OPS and self.random.chance(1, 6):
            stories = (
                self._early,
                self._torn,
                self._before_turn,
                self._stubborn,
                self._late,
                self._forked,
                self._asking,
                self._busy,
            )
            self.random.choose(stories)()
        else:
            super().go_on()

    def _program(self) -> RunProvider:
        return RunProvider.TRUSTING if self.random.chance(1, 3) else RunProvider.ACP

    def _early(self) -> None:
        """Cancel a run before its program has a session."""
        if len(self._left()) < _MOST_RUNS and "new-session" in self.palette.gates:
            label = self._run_label()
            self._add(Hold(Gate(GateKind.NEW_SESSION, label)))
            self._add(self._start(label, self._program(), RunSignal.ARMED))
            self._settle()
            abort = self.random.chance(1, 2) and "abort_run" in self.palette.ops
            self._add(AbortRun(self._label("a"), label) if abort else CancelRun(self._label("x"), label))
            if self.random.chance(1, 2):
                self._settle()
            self._add(Open(Gate(GateKind.NEW_SESSION, label)))

    def _torn(self) -> None:
        """Let a program say something, perhaps cancel it, and let it die."""
        if len(self._left()) < _MOST_RUNS and "answer" in self.palette.gates:
            label = self._run_label()
            gate = Gate(GateKind.ANSWER, label)
            self._add(Hold(gate, Temper.DEAF if "deaf" in self.palette.features else Temper.HONOURS))
            self._add(self._start(label, self._program(), RunSignal.NONE))
            self._settle()
            self._add(ChildSays(self._label("m"), label, Saying.MESSAGE, self._word()))
            if self.random.chance(1, 2):
                self._add(AwaitRun(self._label("w"), label))
            if self.random.chance(1, 2):
                self._add(CancelRun(self._label("x"), label))
                if self.random.chance(1, 2):
                    self._settle()
            self._add(Release(gate, DIES if self.random.chance(2, 3) else self._outcome(GateKind.ANSWER)))

    def _asking(self) -> None:
        """Let a program ask for permission, perhaps after a cancel that it does not heed."""
        if len(self._left()) < _MOST_RUNS and {"answer"} <= self.palette.gates and "child_asks" in self.palette.ops:
            label = self._run_label()
            deaf = "deaf" in self.palette.features and self.random.chance(1, 3)
            self._add(Hold(Gate(GateKind.ANSWER, label), Temper.DEAF if deaf else Temper.HONOURS))
            provider = RunProvider.ACP if self.random.chance(1, 3) else RunProvider.TRUSTING
            self._add(self._start(label, provider, RunSignal.NONE))
            self._settle()
            if deaf:
                self._add(CancelRun(self._label("x"), label))
            self._add(self._asks(label))

    def _busy(self) -> None:
        """Dispose a run whose result has settled and whose child works for somebody else."""
        if len(self._left()) < _MOST_RUNS and "send" in self.palette.ops and "model" in self.palette.gates:
            label = self._run_label()
            self._add(self._start(label, RunProvider.SPAWN, RunSignal.NONE))
            self._settle()
            deaf = "deaf" in self.palette.features
            self._add(Hold(Gate(GateKind.MODEL, label), Temper.DEAF if deaf else Temper.HONOURS))
            self._add(self._send_to(label))
            self._settle()
            self._add(DisposeRun(self._label("d"), label))

    def _before_turn(self) -> None:
        """Cancel a run whose child is there and has no turn: as soon as its prompt is queued, or its agent is there."""
        if len(self._left()) < _MOST_RUNS and "react" in self.palette.features:
            label = self._run_label()
            start = self._start(label, RunProvider.SPAWN, RunSignal.NONE)
            kinds = [kind for kind in ("agent/queued", "agent/session-start") if kind in self.palette.events]
            if kinds:
                react = self._label("r")
                where = (("agent", f"{label}#1"),)
                do: tuple[Action, ...] = (CancelRun(Label(f"{react}.0"), label),)
                self._add(React(react, Pattern(self.random.choose(kinds), where), do))
            self._add(start)
            self._settle()
            self._add(AwaitRun(self._label("w"), label))

    def _stubborn(self) -> None:
        """Dispose a run whose program takes its time, or does not go at all."""
        if len(self._left()) < _MOST_RUNS and {"leave", "answer"} <= self.palette.gates:
            label = self._run_label()
            deaf = "deaf" in self.palette.features and self.random.chance(1, 2)
            self._add(Hold(Gate(GateKind.LEAVE, label), Temper.DEAF if deaf else Temper.HONOURS))
            if self.random.chance(1, 2):
                self._add(Hold(Gate(GateKind.ANSWER, label)))
            self._add(self._start(label, self._program(), RunSignal.NONE))
            self._settle()
            self._add(DisposeRun(self._label("d"), label))
            self._settle()
            if "pass_grace" in self.palette.ops:
                for _ in range(1 + self.random.below(2)):
                    self._add(PassGrace(self._label("g"), label))
                    self._settle()
            if self.random.chance(1, 2):
                self._add(DisposeRun(self._label("d"), label))

    def _late(self) -> None:
        """Dispose a run whose program is to answer, cancel it only then, and let the program answer, die or go."""
        if len(self._left()) < _MOST_RUNS and {"leave", "answer"} <= self.palette.gates:
            label = self._run_label()
            leave, answer = Gate(GateKind.LEAVE, label), Gate(GateKind.ANSWER, label)
            self._add(Hold(leave))
            self._add(Hold(answer))
            abort = self.random.chance(1, 2) and {"signal"} <= self.palette.features and "abort_run" in self.palette.ops
            self._add(self._start(label, self._program(), RunSignal.ARMED if abort else RunSignal.NONE))
            self._settle()
            self._add(DisposeRun(self._label("d"), label))
            self._settle()
            self._add(AbortRun(self._label("a"), label) if abort else CancelRun(self._label("x"), label))
            self._add(Release(answer, self._outcome(GateKind.ANSWER)) if self.random.chance(1, 2) else Open(leave))

    def _forked(self) -> None:
        """Fork a parent that has a complete turn and is in another one."""
        if self.cast.taking and len(self._left()) < _MOST_RUNS and {"send", "create"} <= self.palette.ops:
            parent = self._agent()
            self._add(self._send_to(parent))
            self._settle()
            if "model" in self.palette.gates and self.random.chance(2, 3):
                self._add(Hold(Gate(GateKind.MODEL, parent)))
                self._add(self._send_to(parent))
                self._settle()
            label = self._run_label()
            if "model" in self.palette.gates and self.random.chance(1, 2):
                self._add(Plan(Gate(GateKind.MODEL, label), (self.random.choose((ERROR, MAX_TOKENS)),)))
            self._add(StartRun(label, RunProvider.FORK, self._fresh_text(), parent))
            self._settle()
            self._add(AwaitRun(self._label("w"), label))

    # The items.

    def _kinds(self) -> list[tuple[int, Callable[[], BurstItem]]]:
        agents = self.promised is not None or self.random.chance(1, 3)
        if agents and "create" in self.palette.ops:
            return super()._kinds()
        ops, world = self.palette.ops, self.world
        named, working, staying = self._named(), self._working(), self._staying()
        kinds: list[tuple[int, Callable[[], BurstItem]]] = []

        def offer(weight: int, make: Callable[[], BurstItem], name: str, when: object = True) -> None:
            if when and name in ops:
                kinds.append((weight, make))

        room = len(self._left()) < _MOST_RUNS
        offer(14 if room else 1, lambda: self._any_start(self._run_label()), "start_run", room)
        offer(5, self._delegate, "delegate", room and self.cast.taking)
        offer(6, lambda: CancelRun(self._label("x"), self._run()), "cancel_run", named)
        armed = [run.label for run in self._room.runs if run.signal is RunSignal.ARMED]
        offer(4, lambda: AbortRun(self._label("a"), self.random.choose(armed)), "abort_run", armed)
        offer(8, lambda: AwaitRun(self._label("w"), self._run()), "await_run", named)
        offer(7, lambda: DisposeRun(self._label("d"), self._run()), "dispose_run", named)
        present = sorted(self._room.providers)
        absent = sorted(set(RunProvider) - self._room.providers)
        offer(8, lambda: AddProvider(self._label("l"), self.random.choose(absent)), "add_provider", absent)
        offer(1, lambda: AddProvider(self._label("l"), self.random.choose(present)), "add_provider", present)
        offer(2, lambda: RemoveProvider(self._label("u"), self.random.choose(present)), "remove_provider", present)
        offer(14, lambda: self._says(working), "child_says", working)
        offer(6, lambda: self._asks(self.random.choose(working).label), "child_asks", working)
        offer(9, lambda: PassGrace(self._label("g"), self.random.choose(staying).label), "pass_grace", staying)
        held = [state.gate for state in world.gates if state.held]
        waiting = [gate for gate in held if somebody_waits(world, gate)]
        if any(gate in self.palette.gates for _, gate in _GATES):
            kinds.append((12, self._hold_program))
            kinds.append((6, self._plan_program))
        if waiting:
            kinds.append((16, lambda: self._release(waiting)))
        if held:
            kinds.append((2, lambda: Open(self.random.choose(held))))
        return kinds or super()._kinds()

    def _word(self) -> Text:
        self.count += 1
        return Text(f"w{self.count}.")

    def _fresh_text(self) -> Text:
        self.count += 1
        return Text(f"t{self.count}")

    def _send_to(self, agent: Label) -> BurstItem:
        return Send(self._label("s"), agent, self._fresh_text())

    def _signal(self) -> RunSignal:
        if "signal" not in self.palette.features:
            return RunSignal.NONE
        return self.random.weighted([(10, RunSignal.NONE), (6, RunSignal.ARMED), (2, RunSignal.PRE_ABORTED)])

    def _provider(self) -> RunProvider:
        return self.random.weighted(
            [
                (5, RunProvider.SPAWN),
                (4, RunProvider.FORK),
                (8, RunProvider.ACP),
                (5, RunProvider.TRUSTING),
                (1, RunProvider.MISSING),
            ]
        )

    def _start(self, label: Label, provider: RunProvider, signal: RunSignal) -> StartRun:
        parent = self._agent() if self.cast.taking and self.random.chance(2, 3) else None
        return StartRun(label, provider, self._fresh_text(), parent, signal)

    def _any_start(self, label: Label) -> StartRun:
        start = self._start(label, self._provider(), self._signal())
        inside = start.provider in (RunProvider.SPAWN, RunProvider.FORK)
        depth = self.random.below(3) if self.random.chance(1, 3 if inside else 12) else None
        need = self.random.choose((Need.OUTPUT_SCHEMA, Need.TOOL_FILTER)) if self.random.chance(1, 15) else Need.NONE
        return StartRun(label, start.provider, start.text, start.parent, start.signal, depth, need)

    def _delegate(self) -> Delegate:
        by = self._agent()
        return Delegate(self._run_label(), self._provider(), self._fresh_text(), by, self._signal())

    def _says(self, working: list[Run]) -> ChildSays:
        says = self.random.weighted(
            [(8, Saying.MESSAGE), (2, Saying.THOUGHT), (1, Saying.TOOL_CALL), (1, Saying.IMAGE)]
        )
        return ChildSays(self._label("m"), self.random.choose(working).label, says, self._word())

    def _asks(self, run: Label) -> ChildAsks:
        many = 1 + self.random.below(3)
        options = tuple(self.random.choose(tuple(Option)) for _ in range(many))
        return ChildAsks(self._label("q"), run, tuple(dict.fromkeys(options)))

    def _program_gate(self) -> Gate:
        """Draw a gate of a program: of one that is there, or of the run to come."""
        kind = self.random.weighted([(weight, kind) for weight, kind in _GATES if kind in self.palette.gates])
        programs = [run.label for run in self._left() if isinstance(run.child, Program) and not run.child.gone]
        if programs and self.random.chance(1, 2):
            return Gate(kind, self.random.choose(programs))
        if self._coming is None:
            self._coming = self._label("r")
        return Gate(kind, self._coming)

    def _hold_program(self) -> Hold:
        deaf = "deaf" in self.palette.features and self.random.chance(1, 3)
        return Hold(self._program_gate(), Temper.DEAF if deaf else Temper.HONOURS)

    def _plan_program(self) -> Plan:
        gate = self._program_gate()
        return Plan(gate, (self._outcome(gate.kind),))

    def _outcome(self, kind: GateKind) -> GateOutcome:
        if kind in (GateKind.INITIALIZE, GateKind.NEW_SESSION):
            return self.random.weighted(list(zip((10, 1, 1), fixed_outcomes(kind), strict=True)))
        return super()._outcome(kind)
