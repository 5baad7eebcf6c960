"""State graphs: what an agent, and a creation, can go through, drawn from the model.

Nothing of a graph is drawn by hand. A small bound is explored; each stretch of it that changes how far the agent has
come is an arrow from the one state to the other; many that differ only in what else there was are one. An arrow has the
names of the ops that make the change; one without a name is a step of the agent's own. States stand below each other in
the order of a life, and whatever is reached and was not foreseen comes last; an arrow runs down on the right, or up on
the left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from probate_conformance.docs.picture import style
from probate_conformance.docs.svg import document, element, path, text
from probate_conformance.exploring.bounds import ALL_OPS, BOUNDS, CLEANUP, FULL, MODEL, PLAIN, SETUP, VETO, WITHDRAW
from probate_conformance.exploring.caching import CachedSpace
from probate_conformance.exploring.covering import name_of
from probate_conformance.exploring.searching import search
from probate_model.alphabet.events import Status
from probate_model.machine import Step
from probate_model.world import Agent, Stage, Teardown

Arrows = dict[tuple[str, str], list[str]]
"""From which state to which, and by what."""

_LIFE_OF_AGENT: Final = (
    "not there",
    "being created",
    "idle",
    "idle, a prompt is queued",
    "opened",
    "before step",
    "preparing",
    "stepping",
    "model",
    "next tool",
    "tool",
    "answered",
    "failing",
    "failed",
    "between steps",
    "flushing",
    "between turns",
    "disposed, turn closes",
    "disposed, driver exited",
    "detached, scope unwinds",
    "gone",
)
_LIFE_OF_CREATION: Final = (
    "not there",
    "begun",
    "setup held",
    "setup returned",
    "live",
    "live, being torn down",
    "gone",
    "begun, ended",
    "setup held, ended",
    "setup returned, ended",
    "failed while announced",
    "failed, scope unwinds",
    "rolled back, raised",
)

_ROW: Final = 34.0
_WIDE: Final = 250.0
_LANE: Final = 15.0
_CHARACTER: Final = 6.3


def _of_agent(agent: Agent) -> str:
    """Name how far an agent has come that is published."""
    if agent.teardown is Teardown.DONE:
        return "gone"
    if agent.stage < Stage.LIVE:
        return "being created"
    if agent.teardown >= Teardown.DETACHED:
        return "detached, scope unwinds"
    driver = agent.driver.name.lower().replace("_", " ")
    if agent.status is Status.DISPOSED:
        return "disposed, driver exited" if driver == "exited" else "disposed, turn closes"
    if driver == "parked":
        return "idle, a prompt is queued" if agent.queued else "idle"
    return driver


def _of_creation(agent: Agent) -> str:
    """Name how far a creation has come."""
    ended = ", ended" if agent.failure is not None else ""
    if agent.teardown is Teardown.DONE:
        return "rolled back, raised" if agent.stage is Stage.FAILED else "gone"
    if agent.stage is Stage.LIVE:
        return "live" if agent.teardown is Teardown.NONE else "live, being torn down"
    if agent.stage is Stage.FAILED:
        unwound = agent.teardown > Teardown.STOPPED
        return "failed, scope unwinds" if unwound else "failed while announced"
    if agent.stage is Stage.IN_SETUP:
        over = agent.in_setup is not None and agent.in_setup.over
        return f"setup {'returned' if over else 'held'}{ended}"
    return f"begun{ended}"


def agent_graph() -> str:
    """Draw what an agent goes through."""
    bound = replace(
        BOUNDS["turns"],
        reactions=0,
        calls=1,
        prompts=1,
        ops=ALL_OPS & {"create", "send", "cancel", "dispose"},
        made=(PLAIN,),
        gates=(MODEL,),
    )
    return _draw(_arrows(CachedSpace(bound), _of_agent), "What an agent can go through", _LIFE_OF_AGENT)


def creation_graph() -> str:
    """Draw what a creation goes through."""
    bound = replace(
        BOUNDS["creation"],
        agents=1,
        ids=1,
        calls=1,
        ops=ALL_OPS & {"create", "abort", "withdraw", "unload_owner"},
        made=(PLAIN, FULL),
        gates=(SETUP, CLEANUP),
        listeners=(VETO, WITHDRAW),
    )
    return _draw(_arrows(CachedSpace(bound), _of_creation), "What a creation can go through", _LIFE_OF_CREATION)


def _arrows(space: CachedSpace, name: Callable[[Agent], str]) -> Arrows:
    search(space)
    arrows: Arrows = {}
    for choice, taken in space.stretches():
        before = name(taken.before.agents[0]) if taken.before.agents else "not there"
        after = name(taken.after.agents[0]) if taken.after.agents else "not there"
        if before != after:
            labels = arrows.setdefault((before, after), [])
            if not isinstance(choice, Step) and name_of(choice) not in labels:
                labels.append(name_of(choice))
    return arrows


def _draw(arrows: Arrows, title: str, life: Sequence[str]) -> str:
    states = _order(arrows, life)
    rows = {state: 46 + _ROW * row for row, state in enumerate(states)}
    spans = sorted(arrows, key=lambda arrow: abs(rows[arrow[0]] - rows[arrow[1]]))
    lanes = {True: _lanes([one for one in spans if rows[one[1]] > rows[one[0]]], rows),
             False: _lanes([one for one in spans if rows[one[1]] < rows[one[0]]], rows)}  # fmt: skip
    left = 24 + _LANE * (1 + max(lanes[False].values(), default=0)) + 90
    labels = {arrow: ", ".join(sorted(by)) for arrow, by in arrows.items()}
    right = left + _WIDE
    room = _LANE * (1 + max(lanes[True].values(), default=0))
    width = right + room + 60 + _CHARACTER * max(len(label) for label in labels.values())
    height = 46 + _ROW * len(states)
    body = [element("rect", x=0.5, y=0.5, width=width - 1, height=height - 1, rx=6.0, class_="ground")]
    body.append(text(title, 16, 24, "head"))
    for state, y in rows.items():
        body.append(element("rect", x=left, y=y, width=_WIDE, height=22.0, rx=5.0, class_="band edge"))
        body.append(text(state, left + 10, y + 15, "state"))
    free: dict[float, float] = {}
    for arrow in spans:
        down = rows[arrow[1]] > rows[arrow[0]]
        body += _arrow(rows, arrow, labels[arrow], left, right, lanes[down][arrow], free, down=down)
    said = "; ".join(
        f"{one} to {other}{' by ' if labels[one, other] else ''}{labels[one, other]}" for one, other in spans
    )
    return document(width, height, title, said, style(), body)


def _order(arrows: Arrows, life: Sequence[str]) -> list[str]:
    """Give the states in the order of a life, and what that does not know after it."""
    states = dict.fromkeys(state for arrow in arrows for state in arrow)
    return [*(state for state in life if state in states), *(state for state in states if state not in life)]


def _lanes(spans: list[tuple[str, str]], rows: dict[str, float]) -> dict[tuple[str, str], int]:
    """Give each arrow a lane in which nothing else runs beside it, the shortest first."""
    taken: list[list[tuple[float, float]]] = []
    lanes: dict[tuple[str, str], int] = {}
    for arrow in spans:
        low, high = sorted((rows[arrow[0]], rows[arrow[1]]))
        lane = next(
            (n for n, used in enumerate(taken) if all(high < other[0] or low > other[1] for other in used)), len(taken)
        )
        if lane == len(taken):
            taken.append([])
        taken[lane].append((low, high))
        lanes[arrow] = lane
    return lanes


def _arrow(
    rows: dict[str, float],
    arrow: tuple[str, str],
    label: str,
    left: float,
    right: float,
    lane: int,
    free: dict[float, float],
    *,
    down: bool,
) -> Iterator[str]:
    start, end = rows[arrow[0]] + (15 if down else 7), rows[arrow[1]] + (7 if down else 15)
    side, out = (right, 1) if down else (left, -1)
    far = side + out * (12 + _LANE * lane)
    way = [("M", (side, start)), ("L", (far, start)), ("L", (far, end)), ("L", (side + out * 5, end))]
    yield path(way, "arrow")
    yield path([("M", (side, end)), ("l", (out * 7, -3.5)), ("l", (0.0, 7.0)), ("Z", ())], "tip")
    if label:
        # Two names in one row stand beside each other.
        row = start * out
        place = max(far * out + 4, free.get(row, far * out + 4))
        free[row] = place + _CHARACTER * len(label) + 10
        words = text(label, place * out, start - 3, "below" if down else "rest")
        yield element("g", element("title", f"{arrow[0]} to {arrow[1]}"), words)


GRAPHS: Final[dict[str, Callable[[], str]]] = {"agent-graph": agent_graph, "creation-graph": creation_graph}
"""Draws each graph, by the name of its file."""
