"""What an adapter is asked by the doctor: small traces, each of which needs one thing more than those before.

A lesson is left out if the manifest does not claim what it needs. Its own items say what that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final

from probate_conformance.manifest import Unclaimed
from probate_conformance.trace import Trace, ops_of
from probate_model.alphabet.gates import Gate, GateKind, GateOutcome, Temper
from probate_model.alphabet.items import Hold, Item, Open, Pattern, Plan, React, Reject, Release, Settle, Throw
from probate_model.alphabet.names import THIS, AgentId, Label, OwnerName, Tag, Text
from probate_model.alphabet.ops import (
    Abort,
    AwaitIdle,
    ByAgent,
    ByOwner,
    Cancel,
    Create,
    CreationSignal,
    Dispose,
    Inject,
    LoadOwner,
    Look,
    Send,
    Setup,
    Steer,
    UnloadOwner,
    Withdraw,
)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One thing that an adapter is asked to do."""

    name: str
    teaches: str
    """What it is about, in one line."""
    trace: Trace

    def lacks(self, unclaimed: Unclaimed) -> list[str]:
        """Give what it needs and a manifest leaves unclaimed."""
        left = {*unclaimed.ops, *unclaimed.gates, *unclaimed.features}
        return sorted({need for item in self.trace.items for need in _needs(item) if need in left})


def _needs(item: Item) -> Iterator[str]:
    for op in ops_of(item):
        yield op.item
        if isinstance(op, Create):
            yield from (name for name, is_used in _parts(op).items() if is_used)
    if isinstance(item, React):
        yield "react"
        yield from (action.item for action in item.do if isinstance(action, Throw | Reject))
    elif isinstance(item, Plan | Hold | Release | Open):
        yield str(item.gate.kind)
        if isinstance(item, Hold) and item.temper is Temper.DEAF:
            yield "deaf"


def _parts(op: Create) -> dict[str, bool]:
    return {
        "setup": op.setup is not Setup.NONE,
        "cleanup": op.cleanup,
        "signal": op.signal is not CreationSignal.NONE,
        "by-agent": isinstance(op.by, ByAgent),
    }


_numbers: Final = count(1)
_HOST: Final = OwnerName("host")
_A: Final = Label("c1")
_NEXT: Final = Settle()


def _label(prefix: str) -> Label:
    return Label(f"{prefix}{next(_numbers)}")


def _create(
    label: Label = _A,
    *,
    setup: bool = False,
    cleanup: bool = False,
    armed: bool = False,
    parent: Label | None = None,
) -> Create:
    return Create(
        label,
        AgentId("a" if label == _A else "b"),
        ByOwner(_HOST) if parent is None else ByAgent(parent),
        Setup.PLAIN if setup else Setup.NONE,
        cleanup,
        CreationSignal.ARMED if armed else CreationSignal.NONE,
    )


def _send(text: str) -> Send:
    return Send(_label("s"), _A, Text(text))


def _cancel(agent: Label = _A) -> Cancel:
    return Cancel(_label("x"), agent)


def _wait() -> AwaitIdle:
    return AwaitIdle(_label("w"), _A)


def _dispose() -> Dispose:
    return Dispose(_label("d"), _A)


def _look() -> Look:
    return Look(_label("k"))


def _gate(kind: GateKind) -> Gate:
    return Gate(kind, _A)


def _hold(kind: GateKind, temper: Temper = Temper.HONOURS) -> Hold:
    return Hold(_gate(kind), temper)


def _release(kind: GateKind, outcome: str) -> Release:
    return Release(_gate(kind), GateOutcome(outcome))


def _plan(kind: GateKind, *outcomes: str) -> Plan:
    return Plan(_gate(kind), tuple(map(GateOutcome, outcomes)))


def _lesson(name: str, teaches: str, *items: Item) -> Lesson:
    return Lesson(name, teaches, Trace(items=items))


_UNLOADED_AGAIN: Final = Label("c2")
_CHILD: Final = Label("c3")
_MODEL: Final = GateKind.MODEL

LESSONS: Final[tuple[Lesson, ...]] = (
    _lesson("open", "an empty world opens; its owner and its provider are unloaded; it closes"),
    _lesson("create", "an agent is created, announced, and returned", _create()),
    _lesson("look", "a look shows the registries at that moment", _create(), _NEXT, _look()),
    _lesson("dispose", "an agent ends once, for all who ask", _create(), _NEXT, _dispose(), _dispose()),
    _lesson("send", "a prompt runs as a turn of its own", _create(), _NEXT, _send("one")),
    _lesson(
        "plan",
        "the model answers as it is told to",
        _create(),
        _NEXT,
        _plan(_MODEL, "max-tokens", "error"),
        _send("two"),
        _NEXT,
        _send("three"),
    ),
    _lesson(
        "hold",
        "the model waits until it is released",
        _create(),
        _NEXT,
        _hold(_MODEL),
        _send("five"),
        _NEXT,
        _look(),
        _NEXT,
        _release(_MODEL, "text"),
    ),
    _lesson(
        "burst",
        "send, cancel and send in one tick: the first prompt never runs",
        _create(),
        _NEXT,
        _send("seven"),
        _cancel(),
        _send("eight"),
    ),
    _lesson(
        "idle",
        "waiting for idle begins when it is asked for",
        _create(),
        _NEXT,
        _hold(_MODEL),
        _wait(),
        _send("six"),
        _wait(),
        _NEXT,
        _release(_MODEL, "text"),
    ),
    _lesson(
        "cancel",
        "a model that honours its signal stops waiting",
        _create(),
        _NEXT,
        _hold(_MODEL),
        _send("nine"),
        _NEXT,
        _cancel(),
    ),
    _lesson(
        "deaf",
        "a deaf model waits on, and what it returns is discarded",
        _create(),
        _NEXT,
        _hold(_MODEL, Temper.DEAF),
        _send("ten"),
        _NEXT,
        _cancel(),
        _NEXT,
        _release(_MODEL, "text"),
    ),
    _lesson(
        "end",
        "an agent that is disposed in a turn closes it first",
        _create(),
        _NEXT,
        _hold(_MODEL),
        _send("eleven"),
        _NEXT,
        _dispose(),
        _wait(),
    ),
    _lesson(
        "unload",
        "an owner ends its agents, and makes none until it is loaded again",
        _create(),
        _NEXT,
        UnloadOwner(_label("u"), _HOST),
        _create(_UNLOADED_AGAIN),
        _NEXT,
        LoadOwner(_label("l"), _HOST),
        _create(Label("c4")),
    ),
    _lesson(
        "react",
        "a listener calls from inside the dispatch that it hears",
        _create(),
        React(Label("r1"), Pattern("agent/session-start"), (Send(Label("r1.0"), THIS, Text("twelve")),)),
        React(Label("r2"), Pattern("agent/status", (("status", "running"),)), (Cancel(Label("r2.0"), THIS),)),
    ),
    _lesson(
        "throw",
        "a listener that throws in a creation event vetoes the creation",
        React(Label("r3"), Pattern("agent/created"), (Throw(Tag("no")),)),
        _create(),
    ),
    _lesson(
        "setup",
        "a setup runs before anything is announced",
        _hold(GateKind.SETUP),
        _create(setup=True),
        _NEXT,
        _release(GateKind.SETUP, "ok"),
    ),
    _lesson("abort", "a creation's own signal ends it", _create(armed=True), Abort(_label("a"), _A)),
    _lesson("withdraw", "an owner ends one lifecycle", _create(), Withdraw(_label("v"), _A)),
    _lesson(
        "cleanup",
        "a cleanup runs last, and a dispose waits for it",
        _create(cleanup=True),
        _NEXT,
        _hold(GateKind.CLEANUP),
        _dispose(),
        _NEXT,
        _release(GateKind.CLEANUP, "ok"),
    ),
    _lesson(
        "child",
        "an agent takes along what was created on its behalf",
        _create(),
        _NEXT,
        _create(_CHILD, parent=_A),
        _NEXT,
        _dispose(),
    ),
    _lesson(
        "tools",
        "tool calls run one after the other, and an error is a result",
        _create(),
        _NEXT,
        _plan(_MODEL, "tools:2"),
        _plan(GateKind.TOOL, "ok", "error"),
        _send("thirteen"),
    ),
    _lesson(
        "steer",
        "steering joins the turn that runs",
        _create(),
        _NEXT,
        _hold(_MODEL),
        _send("fourteen"),
        _NEXT,
        Steer(_label("s"), _A, Text("fifteen")),
        _NEXT,
        Open(_gate(_MODEL)),
    ),
    _lesson(
        "inject", "context is a closed turn of its own", _create(), _NEXT, Inject(_label("i"), _A, Text("sixteen"))
    ),
    _lesson(
        "flush",
        "an agent is idle only when its closing flush has ended",
        _create(),
        _NEXT,
        _hold(GateKind.FLUSH),
        _send("seventeen"),
        _NEXT,
        _release(GateKind.FLUSH, "fail"),
    ),
    _lesson(
        "prepare",
        "a step is prepared before it opens",
        _create(),
        _NEXT,
        _hold(GateKind.PREPARE),
        _send("eighteen"),
        _NEXT,
        _release(GateKind.PREPARE, "ok"),
    ),
)
"""All lessons, in the order in which a new adapter learns."""
