"""A scene, given its places: lanes as wide as their labels need, one row below the other.

Each row has one label, in its lane, so labels never meet. The way of an arrow is free of labels by construction: it
leaves its source downwards into the space between two rows, runs in that to a channel on the left of its target's
lane, and down the channel to its target's row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Final

from probate_conformance.docs import svg
from probate_conformance.docs.scene import TOP, Arrow, Lane, Mark, Row, Scene, Span
from probate_model.clauses import CLAUSES

CHARACTER: Final = 6.93
"""How wide a character is at most, in the fonts that the style names."""
CLAUSE_CHARACTER: Final = 6.05

_MARGIN: Final = 12.0
_BRACKET: Final = 14.0
_HEAD: Final = 50.0
_ROW: Final = 21.0
_GAP: Final = 5.0
_REST: Final = 19.0
_COLUMN: Final = 10.0
_CHANNEL: Final = 6.0
_AFTER: Final = 7.0

_COLORS: Final = {
    "ground": ("#ffffff", "#10151d"),
    "band": ("#f2f5f9", "#1a212c"),
    "rule": ("#c4ccd8", "#3b4656"),
    "ink": ("#1d2430", "#e8ecf2"),
    "dim": ("#667085", "#97a3b6"),
    "arrow": ("#5b6780", "#a3b0c6"),
    "stop": ("#b42318", "#ff8d85"),
    "caller": ("#1f5fbf", "#7fb2ff"),
    "listeners": ("#7a35d8", "#c6a0ff"),
    "agent": ("#0b7a70", "#58d2c3"),
    "log": ("#8a6100", "#e3bf55"),
    "gates": ("#b8500a", "#ffa862"),
    "registries": ("#48721a", "#a3d168"),
}
"""Each colour on a light ground and on a dark one."""

_FONT: Final = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"


def style() -> str:
    """Give the style of all pictures."""
    rules = [
        f"text{{font:11.5px {_FONT}}}",
        "text{fill:var(--ink)}.dim{fill:var(--dim)}.clause{fill:var(--dim);font-size:10px;text-anchor:end}",
        ".head{font-weight:700}.below,.rest{fill:var(--dim);font-size:10px}.rest{text-anchor:end}",
        ".stopped{fill:var(--stop)}.silent{fill:var(--dim);font-style:italic}",
        ".ground{fill:var(--ground);stroke:var(--rule)}.band{fill:var(--band)}.edge{stroke:var(--rule)}",
        ".rule{stroke:var(--rule);fill:none}.pause{stroke:var(--rule);stroke-dasharray:2 4;fill:none}",
        ".arrow{stroke:var(--arrow);stroke-width:1.3;fill:none}.tip{fill:var(--arrow)}",
        ".bracket{stroke:var(--dim);stroke-width:1.5;fill:none}",
        ".stop{fill:var(--stop);stroke:var(--stop)}",
        ".hollow{fill:var(--ground)}.bar{stroke-linecap:round;fill:none;opacity:.5}.open{stroke-dasharray:1 7}",
    ]
    for lane in Lane:
        name = lane.name.lower()
        rules.append(f".{name}{{stroke:var(--{name});fill:var(--{name})}}")
    rules.append(".hollow{fill:var(--ground)}.bar{fill:none}.head{stroke:none}")
    light = ";".join(f"--{name}:{colors[0]}" for name, colors in _COLORS.items())
    dark = ";".join(f"--{name}:{colors[1]}" for name, colors in _COLORS.items())
    return f"svg{{{light}}}@media (prefers-color-scheme:dark){{svg{{{dark}}}}}{''.join(rules)}"


@dataclass(frozen=True, slots=True)
class Strip:
    """The place of a lane."""

    base: float
    """Where its first bar is."""
    label: float
    end: float


def width_of(text: str) -> float:
    """Give how wide a label is at most."""
    return len(text) * CHARACTER


class Picture:
    """A scene with places."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._slots = _slots(scene)
        self.strips: dict[Lane, Strip] = {}
        left = _MARGIN + (_BRACKET if scene.brackets else 0)
        self._left = left
        for lane in scene.lanes:
            left = self._set_strip(lane, left)
        self._right = left
        clauses = max((len(row.clause) for row in scene.rows), default=0)
        self.width = max(left + clauses * CLAUSE_CHARACTER, self._left + width_of(scene.before)) + 8 + _MARGIN
        self._top = _HEAD + (_ROW if scene.before else 0)
        self._middles: list[float] = []
        self._rests: list[float] = []
        self.height = self._set_rows()

    def _set_strip(self, lane: Lane, left: float) -> float:
        rows = [row for row in self.scene.rows if row.lane is lane]
        columns = max((span.column + 1 for span in self.scene.spans if span.lane is lane), default=1)
        slots = max((slot + 1 for arrow, slot in self._slots.items() if self._lane(arrow) is lane), default=0)
        base = left + (slots + 1) * _CHANNEL + 5
        label = base + (columns - 1) * _COLUMN + 10
        longest = max((width_of(row.text) for row in rows), default=0)
        head = max(len(lane.heading) * CHARACTER, len(lane.below) * CLAUSE_CHARACTER)
        end = max(label + longest, base - 4 + head) + _AFTER
        self.strips[lane] = Strip(base, label, end)
        return end

    def _lane(self, arrow: Arrow) -> Lane:
        return self.scene.rows[arrow.target].lane

    def _set_rows(self) -> float:
        y = self._top
        before: Row | None = None
        for row in self.scene.rows:
            if before is not None and row.burst != before.burst:
                self._rests.append(y + _REST / 2)
                y += _REST
            elif before is not None and row.stretch != before.stretch:
                y += _GAP
            self._middles.append(y + _ROW / 2)
            y += _ROW
            before = row
        self._rests.append(y + _REST / 2)
        return y + _REST + 4

    # Drawing.

    def draw(self, title: str) -> str:
        """Give the picture as SVG."""
        rows = [f"{row.lane.heading}: {row.text}" for row in self.scene.rows]
        body = [
            svg.element("rect", x=0.5, y=0.5, width=self.width - 1, height=self.height - 1, rx=8, class_="ground"),
            *self._draw_bands(),
            *self._draw_lanes(),
            *self._draw_rests(),
            *self._draw_brackets(),
            *(self._draw_span(span) for span in self.scene.spans),
            *self._draw_arrows(),
            *(self._draw_row(at, row) for at, row in enumerate(self.scene.rows)),
        ]
        return svg.document(self.width, self.height, title, "From top to bottom. " + "; ".join(rows), style(), body)

    def _draw_bands(self) -> Iterator[str]:
        first = 0
        rows = self.scene.rows
        for at, row in enumerate(rows):
            if at + 1 == len(rows) or rows[at + 1].stretch != row.stretch:
                top = self._middles[first] - _ROW / 2
                height = self._middles[at] + _ROW / 2 - top
                width = self.width - self._left - _MARGIN + 6
                yield svg.element("rect", x=self._left, y=top, width=width, height=height, rx=4, class_="band")
                first = at + 1

    def _draw_lanes(self) -> Iterator[str]:
        for lane, strip in self.strips.items():
            name = lane.name.lower()
            yield svg.text(lane.heading, strip.base - 4, 22, f"head {name}")
            yield svg.text(lane.below, strip.base - 4, 37, "below")
            yield svg.path([("M", (strip.base, self._top - 4)), ("V", (self.height - _REST,))], "rule")
        yield svg.text("clause", self.width - _MARGIN, 22, "clause")
        if self.scene.before:
            yield svg.text(self.scene.before, self._left + 6, _HEAD + 8, "dim")

    def _draw_rests(self) -> Iterator[str]:
        for y in self._rests:
            right = self.width - _MARGIN
            yield svg.path([("M", (self._left, y)), ("H", (right - 44,))], "pause")
            yield svg.text("at rest", right, y + 3.5, "rest")

    def _draw_brackets(self) -> Iterator[str]:
        for first, last in self.scene.brackets:
            top, bottom = self._middles[first] - 7, self._middles[last] + 7
            x = self._left - 6
            yield svg.path([("M", (x, top)), ("H", (x - 6,)), ("V", (bottom,)), ("H", (x,))], "bracket")

    def _x(self, span: Span | None, lane: Lane) -> float:
        return self.strips[lane].base + (span.column if span else 0) * _COLUMN

    def _draw_span(self, span: Span) -> str:
        x = self._x(span, span.lane)
        top = self._top - 4 if span.start == TOP else self._middles[span.start]
        bottom = self.height - _REST - 2 if span.end is None else self._middles[span.end]
        if span.end is None:
            bottom = min(bottom, self._middles[-1] + _ROW / 2 + 8)
        width = 5 if span.sort in ("running", "turn", "wait", "session") else 3.5
        name = _name(span.lane)
        bar = svg.path([("M", (x, top)), ("V", (bottom,))], f"bar {name}", stroke_width=width)
        if span.end is None or span.end <= span.start:
            return bar
        return bar + svg.path([("M", (x - 3.5, bottom)), ("h", (7,))], name, stroke_width=1.6)

    def _draw_arrows(self) -> Iterator[str]:
        rows = self.scene.rows
        for arrow, slot in self._slots.items():
            source, target = rows[arrow.source], rows[arrow.target]
            from_x, from_y = self._x(source.span, source.lane), self._middles[arrow.source]
            to_x, to_y = self._x(target.span, target.lane) - 6, self._middles[arrow.target]
            channel = self.strips[target.lane].base - 7 - slot * _CHANNEL
            is_last = arrow.source + 1 == len(rows) or rows[arrow.source + 1].stretch != source.stretch
            turn = from_y + _ROW / 2 + (_GAP / 2 if is_last else 0)
            way: svg.Way = [
                ("M", (from_x, from_y)),
                ("V", (turn,)),
                ("H", (channel,)),
                ("V", (to_y,)),
                ("H", (to_x - 3,)),
            ]
            yield svg.path(way, "arrow")
            tip: svg.Way = [("M", (to_x - 5, to_y - 3.5)), ("l", (6, 3.5)), ("l", (-6, 3.5)), ("z", ())]
            yield svg.path(tip, "tip")

    def _draw_row(self, at: int, row: Row) -> str:
        y = self._middles[at]
        x = self._x(row.span, row.lane)
        shade = {Mark.STOP: "stopped", Mark.RAISED: "stopped", Mark.SILENCE: "silent", Mark.HAND: "dim"}
        label = svg.text(row.text, self.strips[row.lane].label, y + 4, shade.get(row.mark, "said"))
        clause = svg.text(row.clause, self.width - _MARGIN, y + 3.5, "clause") if row.clause else ""
        known = CLAUSES.get(row.clause)
        title = svg.element("title", escape(f"{known.id}: {known.sentence}", quote=False)) if known else ""
        return svg.element("g", title, _mark(row, x, y), label, clause)


def _name(lane: Lane) -> str:
    return lane.name.lower()


def _mark(row: Row, x: float, y: float) -> str:
    name = _name(row.lane)
    match row.mark:
        case Mark.CALL | Mark.EVENT:
            return svg.element("circle", cx=x, cy=y, r=3.8, class_=name)
        case Mark.STOP:
            return svg.element("circle", cx=x, cy=y, r=3.8, class_="stop")
        case Mark.RETURNED:
            return svg.element("circle", cx=x, cy=y, r=3.8, class_=f"{name} hollow", stroke_width=1.8)
        case Mark.RAISED:
            return svg.element("circle", cx=x, cy=y, r=3.8, class_="stop hollow", stroke_width=1.8)
        case Mark.ACTION:
            return svg.path(
                [("M", (x - 4.8, y)), ("l", (4.8, -4.8)), ("l", (4.8, 4.8)), ("l", (-4.8, 4.8)), ("z", ())], name
            )
        case Mark.ARRIVAL:
            return svg.element("rect", x=x - 4, y=y - 4, width=8, height=8, class_=name)
        case Mark.HAND:
            return svg.element("rect", x=x - 3, y=y - 3, width=6, height=6, class_=f"{name} hollow", stroke_width=1.5)
        case Mark.SILENCE:
            return svg.element("circle", cx=x, cy=y, r=3.8, class_=f"{name} hollow", stroke_dasharray="2 2")


def _slots(scene: Scene) -> dict[Arrow, int]:
    """Give arrows that run side by side in one channel a place of their own."""
    slots: dict[Arrow, int] = {}
    for arrow in sorted(scene.arrows, key=lambda arrow: arrow.target - arrow.source):
        lane = scene.rows[arrow.target].lane
        others = [other for other in slots if scene.rows[other.target].lane is lane]
        taken = {slots[other] for other in others if _beside(arrow, other)}
        slots[arrow] = next(slot for slot in range(len(taken) + 1) if slot not in taken)
    return slots


def _beside(arrow: Arrow, other: Arrow) -> bool:
    """Tell whether two arrows with different sources are in their channel at the same time."""
    return arrow.source != other.source and arrow.source <= other.target and other.source <= arrow.target


def draw(scene: Scene, title: str) -> str:
    """Give a scene as SVG."""
    return Picture(scene).draw(title)


_LEGEND: Final[tuple[tuple[tuple[Mark | str, Lane, str], ...], ...]] = (
    (
        (Mark.CALL, Lane.CALLER, "a call begins"),
        (Mark.EVENT, Lane.AGENT, "an event"),
        (Mark.STOP, Lane.AGENT, "an event that stops, ends or fails"),
        (Mark.SILENCE, Lane.AGENT, "nothing is said, on purpose"),
    ),
    (
        (Mark.RETURNED, Lane.CALLER, "a call returns"),
        (Mark.RAISED, Lane.CALLER, "a call raises"),
        (Mark.ACTION, Lane.LISTENERS, "a listener acts"),
        (Mark.ARRIVAL, Lane.GATES, "a body arrives at a held gate"),
    ),
    (
        (Mark.HAND, Lane.CALLER, "the tester sets a gate or a listener"),
        ("bar", Lane.LOG, "while it lasts: a call, a turn, an entry"),
        ("band", Lane.CALLER, "one stretch: nothing comes between"),
        ("arrow", Lane.CALLER, "what made this possible"),
        ("bracket", Lane.CALLER, "begun in one tick"),
    ),
)


def legend() -> str:
    """Give the picture that tells what the marks mean."""
    body = []
    x = 24.0
    rows = max(map(len, _LEGEND))
    for column in _LEGEND:
        for place, (mark, lane, words) in enumerate(column):
            y = 22 + place * _ROW
            body += [*_sample(mark, lane, x, y), svg.text(words, x + 16, y + 4, "said")]
        x += 16 + max(width_of(words) for _, _, words in column) + 26
    height = 16 + rows * _ROW + 6
    ground = svg.element("rect", x=0.5, y=0.5, width=x - 1, height=height - 1, rx=8, class_="ground")
    told = "; ".join(words for column in _LEGEND for _, _, words in column)
    return svg.document(x, height, "The marks of the pictures", told, style(), [ground, *body])


def _sample(mark: Mark | str, lane: Lane, x: float, y: float) -> Iterator[str]:
    if isinstance(mark, Mark):
        yield _mark(Row(lane, mark, "", "", 0, 0), x, y)
        return
    match mark:
        case "bar":
            yield svg.path([("M", (x, y - 7)), ("V", (y + 7,))], f"bar {_name(lane)}", stroke_width=5)
        case "band":
            yield svg.element("rect", x=x - 10, y=y - 7.0, width=20, height=14, rx=4, class_="band edge")
        case "arrow":
            yield svg.path([("M", (x - 8, y - 6)), ("V", (y,)), ("H", (x + 3,))], "arrow")
            yield svg.path([("M", (x + 2, y - 3.5)), ("l", (6, 3.5)), ("l", (-6, 3.5)), ("z", ())], "tip")
        case _:
            yield svg.path([("M", (x + 3, y - 7)), ("H", (x - 3,)), ("V", (y + 7,)), ("H", (x + 3,))], "bracket")
