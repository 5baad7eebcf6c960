"""What a picture shows: rows in lanes, bars, arrows, bursts and rests; without places.

Each row is one item, one event, one arrival at a held gate, or one silence that the picture asks for. A call that
returns nothing in the stretch in which it began has no row for that: the end of its bar says it. Bars are the spans
of time that the events and the worlds speak of: calls, the status running, turns and steps, entries of the two
registries, waits at held gates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from probate_conformance.docs.dispatches import Dispatches
from probate_conformance.docs.labels import Naming
from probate_conformance.docs.recording import Stretch, Unfit, loud_cause, record
from probate_conformance.trace import Trace, ops_of
from probate_model.alphabet.events import (
    AgentCreated,
    AgentDisposed,
    AgentError,
    CancelRequested,
    Event,
    Flushed,
    Logged,
    Raised,
    Returned,
    ScopeCleanup,
    SessionCreated,
    SessionDisposed,
    Settled,
    Signalled,
    Status,
    StatusChanged,
    StepEnd,
    StepStart,
    TurnEnd,
    TurnStart,
)
from probate_model.alphabet.gates import GateKind
from probate_model.alphabet.items import Hold, Open, Plan, React, Reject, Release, Throw
from probate_model.alphabet.names import AgentRef, Label
from probate_model.alphabet.ops import (
    Create,
    Op,
)
from probate_model.alphabet.rooms import InRoom
from probate_model.driver import GATES
from probate_model.run import Expected, Silence
from probate_model.world import Agent, World


class Lane(Enum):
    """The columns of a picture, from left to right: the heading and what stands below it."""

    CALLER = "caller", "calls and gates"
    LISTENERS = "listeners", "inside a dispatch"
    AGENT = "agent", "agent/…"
    LOG = "session log", "records and flushes"
    GATES = "held", "at a gate"
    REGISTRIES = "registries", "and the scope"

    @property
    def heading(self) -> str:
        """Whose lane it is."""
        return self.value[0]

    @property
    def below(self) -> str:
        """What the lane shows."""
        return self.value[1]


class Mark(Enum):
    """What a row is, by the shape of its mark."""

    CALL = "call"
    HAND = "hand"
    """Something done to a gate, or a listener that is installed: the tester's hand."""
    ACTION = "action"
    EVENT = "event"
    STOP = "stop"
    """An event by which something is stopped or fails."""
    RETURNED = "returned"
    RAISED = "raised"
    ARRIVAL = "arrival"
    SILENCE = "silence"


TOP: Final = -1
"""Where a bar starts that was there before the picture begins."""


@dataclass(slots=True)
class Row:
    """One line of a picture."""

    lane: Lane
    mark: Mark
    text: str
    clause: str
    stretch: int
    burst: int
    span: Span | None = None
    """The bar that its mark stands on."""


@dataclass(slots=True, eq=False)
class Span:
    """A bar: from one row to another, or beyond the end of the picture."""

    lane: Lane
    sort: str
    start: int
    end: int | None = None
    column: int = 0


@dataclass(frozen=True, slots=True)
class Arrow:
    """What made a stretch possible: from a row of it to the first row of the stretch."""

    source: int
    target: int


@dataclass(slots=True)
class Scene:
    """A picture without places."""

    rows: list[Row] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    brackets: list[tuple[int, int]] = field(default_factory=list)
    """The first and the last row of the items of each burst that has several."""
    before: str = ""
    """What was done before the picture begins."""
    demanded: dict[str, None] = field(default_factory=dict)
    """The clauses that what is shown speaks for, as a check counts them; in the order in which they first do."""

    @property
    def lanes(self) -> list[Lane]:
        """The lanes that have something in them."""
        used = {row.lane for row in self.rows} | {span.lane for span in self.spans}
        return [lane for lane in Lane if lane in used]


def scene_of(trace: Trace, silences: Iterable[str] = (), skip: int = 0) -> Scene:
    """Run a trace and give what its picture shows.

    :param silences: the clauses whose silence is shown as a row
    :param skip: how many bursts are over when the picture begins; bars that are open then begin at its top
    :raises Unfit: if the run is not one that can be shown: an item is void, or a silence is not there
    """
    return _Drawing(record(trace), trace, frozenset(silences), skip).scene


_BODIES = {driver: kind for kind, driver in GATES.items()}
_STOPS = (CancelRequested, AgentError, Signalled)


class _Drawing:
    """Builds a scene from a recording."""

    def __init__(self, stretches: Sequence[Stretch], trace: Trace, silences: frozenset[str], skip: int) -> None:
        self.scene = Scene()
        self._stretches = stretches
        self._silences = silences
        self._ops: dict[Label, Op] = {op.label: op for item in trace.items for op in ops_of(item)}
        refs = {
            entry.event.agent
            for stretch in stretches
            for entry in stretch.expected
            if isinstance(entry.event, SessionCreated)
        }
        creations = sum(isinstance(op, Create) for op in self._ops.values())
        ids = {ref.partition("#")[0] for ref in refs}
        self._names = Naming(creations=creations > 1, agents=len(refs) > 1, numbers=len(refs) > len(ids))
        self._calls: dict[Label, Span] = {}
        self._open: dict[tuple[str, AgentRef], Span] = {}
        self._held: dict[tuple[Label, GateKind, int], Span] = {}
        self._first: dict[int, int] = {}
        self._said: set[str] = set()
        shown = 0
        for stretch in stretches:
            if stretch.burst == skip and not shown:
                shown = self._here
                self.scene.demanded.clear()
            self._draw(stretch)
        if unheard := self._silences - self._said:
            raise Unfit(f"the run is not silent by {', '.join(sorted(unheard))}")
        self._draw_arrows()
        self._draw_brackets()
        if skip:
            items = [self._names.item(item) for burst in trace.bursts()[:skip] for item in burst]
            self.scene.before = f"after {', '.join(items)}"
            _cut(self.scene, shown)
        _set_columns(self.scene.spans)

    # Rows.

    def _row(self, stretch: Stretch, lane: Lane, mark: Mark, text: str, clause: str = "") -> Row:
        row = Row(lane, mark, text, clause, stretch.number, stretch.burst)
        self._first.setdefault(stretch.number, self._here)
        self.scene.rows.append(row)
        return row

    @property
    def _here(self) -> int:
        return len(self.scene.rows)

    @property
    def _last(self) -> int:
        return len(self.scene.rows) - 1

    def _draw(self, stretch: Stretch) -> None:
        for entry in stretch.expected:
            self.scene.demanded.update(dict.fromkeys(entry.demand.clauses))
        self.scene.demanded.update((silence.clause, None) for silence in stretch.silences)
        if stretch.item is not None:
            self._draw_item(stretch)
        self._draw_events(stretch)
        self._draw_silences(stretch)
        self._draw_waits(stretch)
        self._check_entries(stretch.after)

    def _draw_item(self, stretch: Stretch) -> None:
        item = stretch.item
        assert item is not None
        text = self._names.item(item)
        if isinstance(item, Plan | Hold | Release | Open | React):
            lane = Lane.LISTENERS if isinstance(item, React) else Lane.CALLER
            self._row(stretch, lane, Mark.HAND, text)
        else:
            self._begin_call(stretch, item, Lane.CALLER, text, Mark.CALL)

    def _begin_call(self, stretch: Stretch, op: Op, lane: Lane, text: str, mark: Mark) -> None:
        """Draw the begin of a call; with the clause by which it returns, if it does so silently in this stretch."""
        clause = next((e.demand.clause for e in stretch.expected if _is_plain_return(e.event, op.label)), "")
        span = self._calls[op.label] = Span(lane, "call", self._here)
        self.scene.spans.append(span)
        self._row(stretch, lane, mark, text, clause).span = span

    def _draw_events(self, stretch: Stretch) -> None:
        dispatches = Dispatches(stretch)
        for entry in stretch.expected:
            self._draw_event(stretch, entry)
            for action, listener, place in dispatches.after(entry.event):
                text = f"{listener}: {self._names.action(action)}"
                if isinstance(action, Throw | Reject):
                    self._row(stretch, Lane.LISTENERS, Mark.STOP, text)
                else:
                    assert action.label == f"{listener}.{place}"
                    self._begin_call(stretch, action, Lane.LISTENERS, text, Mark.ACTION)
        dispatches.check()

    def _draw_event(self, stretch: Stretch, entry: Expected) -> None:
        event, clause = entry.event, entry.demand.clause
        match event:
            case Settled():
                self._draw_settlement(stretch, event, clause)
                return
            case Signalled():
                lane = Lane.GATES
            case Logged() | Flushed():
                lane = Lane.LOG
            case SessionCreated() | AgentCreated() | AgentDisposed() | SessionDisposed() | ScopeCleanup():
                lane = Lane.REGISTRIES
            case _:
                lane = Lane.AGENT
        is_stop = isinstance(event, _STOPS) or (isinstance(event, StatusChanged) and event.status is Status.DISPOSED)
        row = self._row(stretch, lane, Mark.STOP if is_stop else Mark.EVENT, self._names.event(event), clause)
        row.span = self._move_spans(event)

    def _draw_settlement(self, stretch: Stretch, event: Settled, clause: str) -> None:
        span = self._calls.pop(event.call)
        if _is_plain_return(event, event.call) and self.scene.rows[span.start].stretch == stretch.number:
            span.end = self._last
            return
        span.end = self._here
        mark = Mark.RAISED if isinstance(event.outcome, Raised) else Mark.RETURNED
        text = self._names.settled(event.call, self._ops[event.call], event.outcome)
        self._row(stretch, span.lane, mark, text, clause).span = span

    def _draw_silences(self, stretch: Stretch) -> None:
        """Draw one row for each clause that is silent here and whose silence is to be seen."""
        by_clause: dict[str, list[Silence]] = {}
        for silence in stretch.silences:
            if silence.clause in self._silences:
                by_clause.setdefault(silence.clause, []).append(silence)
        for clause, silences in by_clause.items():
            # What names the very message says more than what names a kind.
            silence = next((one for one in silences if "text" in dict(one.pattern.where)), silences[0])
            text = self._names.silence(silence.pattern)
            self._row(stretch, _lane_of(silence), Mark.SILENCE, text, clause)
            self._said.add(clause)

    # Bars.

    def _start(self, lane: Lane, sort: str, agent: AgentRef) -> Span:
        span = self._open[sort, agent] = Span(lane, sort, self._last)
        self.scene.spans.append(span)
        return span

    def _stop(self, sort: str, agent: AgentRef) -> Span | None:
        span = self._open.pop((sort, agent), None)
        if span is not None:
            span.end = self._last
        return span

    def _move_spans(self, event: Event) -> Span | None:
        """Begin and end the bars that an event speaks of; gives the one that its mark stands on."""
        match event:
            case SessionCreated(agent):
                session = self._start(Lane.REGISTRIES, "session", agent)
                self._start(Lane.REGISTRIES, "agent", agent)
                return session
            case AgentCreated(agent):
                return self._open["agent", agent]
            case AgentDisposed(agent):
                return self._stop("agent", agent)
            case SessionDisposed(agent):
                self._stop("agent", agent)
                return self._stop("session", agent)
            case StatusChanged(agent, Status.RUNNING):
                return self._start(Lane.AGENT, "running", agent)
            case StatusChanged(agent):
                return self._stop("running", agent)
            case Logged(agent, _, TurnStart()):
                return self._start(Lane.LOG, "turn", agent)
            case Logged(agent, _, TurnEnd()):
                return self._stop("turn", agent)
            case Logged(agent, _, StepStart()):
                return self._start(Lane.LOG, "step", agent)
            case Logged(agent, _, StepEnd()):
                return self._stop("step", agent)
            case Logged(agent):
                return self._open.get(("step", agent)) or self._open.get(("turn", agent))
            case ScopeCleanup() | Settled() | Flushed() | Signalled() | InRoom():
                return None
            case _:
                return self._open.get(("running", event.agent))

    def _draw_waits(self, stretch: Stretch) -> None:
        """Begin a bar for each new wait at a held gate, and end those that are over."""
        before, after = _waits(stretch.before), _waits(stretch.after)
        for key in after:
            if key not in before:
                label, kind, _ = key
                span = self._held[key] = Span(Lane.GATES, "wait", self._here)
                self.scene.spans.append(span)
                whose = f" of {label}" if self._names.creations else ""
                self._row(stretch, Lane.GATES, Mark.ARRIVAL, f"{kind}{whose}").span = span
        for key in before:
            if key not in after:
                self._held.pop(key).end = self._end_of_wait(stretch)

    def _end_of_wait(self, stretch: Stretch) -> int:
        first = self._first.get(stretch.number)
        if first is None:
            raise Unfit("a wait ends where nothing is seen")
        rows = range(first, self._here)
        return next((at for at in rows if self.scene.rows[at].text.startswith("signal")), first)

    def _check_entries(self, world: World) -> None:
        """Hold the bars of the registries to the registries."""
        live = {label for sort, label in self._open if sort in ("session", "agent")}
        by_label = {agent.label: agent for agent in world.agents}
        assert live == {by_label[label].ref for label in (*world.sessions, *world.registry)}

    # Arrows and brackets.

    def _draw_arrows(self) -> None:
        loud = frozenset(self._first)
        for stretch in self._stretches:
            if stretch.number not in loud:
                continue
            cause = loud_cause(self._stretches, stretch, loud)
            if cause is not None:
                self.scene.arrows.append(Arrow(self._source(cause, stretch), self._first[stretch.number]))

    def _source(self, cause: Stretch, effect: Stretch) -> int:
        """Give the row that stands for a cause: the signal for a body, else its last event, else its item."""
        first = self._first[cause.number]
        rows = [at for at in range(first, self._here) if self.scene.rows[at].stretch == cause.number]
        heard = [at for at in rows if self.scene.rows[at].text.startswith("signal")]
        if heard and effect.key is not None and effect.key[0] == "driver":
            return heard[-1]
        quiet = (Mark.SILENCE, Mark.ARRIVAL, Mark.RETURNED, Mark.RAISED, Mark.ACTION)
        events = [at for at in rows if self.scene.rows[at].mark not in quiet]
        return (events or rows)[-1]

    def _draw_brackets(self) -> None:
        bursts: dict[int, list[Stretch]] = {}
        for stretch in self._stretches:
            if stretch.item is not None:
                bursts.setdefault(stretch.burst, []).append(stretch)
        for burst in bursts.values():
            if len(burst) > 1:
                last = burst[-1].number
                end = max(at for at, row in enumerate(self.scene.rows) if row.stretch == last)
                self.scene.brackets.append((self._first[burst[0].number], end))


def _is_plain_return(event: Event, call: Label) -> bool:
    return isinstance(event, Settled) and event.call == call and event.outcome == Returned()


def _lane_of(silence: Silence) -> Lane:
    match silence.pattern.event:
        case "log" | "session/flush":
            return Lane.LOG
        case "session/created" | "agent/created" | "agent/disposed" | "session/disposed":
            return Lane.REGISTRIES
        case _:
            return Lane.AGENT


def _waits(world: World) -> Mapping[tuple[Label, GateKind, int], None]:
    """Give who waits at a held gate."""
    return {(agent.label, kind, place): None for agent in world.agents for kind, place in _waits_of(agent)}


def _waits_of(agent: Agent) -> Iterator[tuple[GateKind, int]]:
    if agent.in_setup is not None and not agent.in_setup.over and agent.failure is None:
        yield GateKind.SETUP, 0
    if agent.wait is not None and not agent.wait.over:
        yield _BODIES[agent.driver], 0
    if agent.in_cleanup is not None and not agent.in_cleanup.over:
        yield GateKind.CLEANUP, 0
    for place, flush in enumerate(agent.flushes):
        if flush.outcome is None:
            yield GateKind.FLUSH, place


def _cut(scene: Scene, rows: int) -> None:
    """Let a scene begin after so many rows."""
    scene.rows = scene.rows[rows:]
    scene.spans = [span for span in scene.spans if span.end is None or span.end >= rows]
    for span in scene.spans:
        span.start = max(span.start - rows, TOP)
        span.end = None if span.end is None else span.end - rows
    scene.arrows = [Arrow(one.source - rows, one.target - rows) for one in scene.arrows if one.source >= rows]
    scene.brackets = [(first - rows, last - rows) for first, last in scene.brackets if first >= rows]


def _set_columns(spans: Sequence[Span]) -> None:
    """Put bars of one lane that overlap beside each other."""
    taken: dict[tuple[Lane, int], list[Span]] = {}
    for span in spans:
        while any(_overlap(span, other) for other in taken.get((span.lane, span.column), [])):
            span.column += 1
        taken.setdefault((span.lane, span.column), []).append(span)


def _overlap(span: Span, other: Span) -> bool:
    return (other.end is None or span.start <= other.end) and (span.end is None or other.start <= span.end)
