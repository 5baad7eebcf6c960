"""The pictures: what stands in them, typed by hand, and that nothing in them meets or is cut off."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from itertools import pairwise

import pytest

from probate_conformance.docs import traces
from probate_conformance.docs.page import all_shown
from probate_conformance.docs.picture import CHARACTER, CLAUSE_CHARACTER, Picture, draw, legend, width_of
from probate_conformance.docs.recording import Unfit, record
from probate_conformance.docs.scene import TOP, Lane, Scene, scene_of
from probate_conformance.docs.traces import Shown
from probate_conformance.docs.writing import cancel, create, hold, inject, look, react, send, steer, trace
from probate_model.alphabet.gates import GateKind
from probate_model.alphabet.names import THIS

SHOWN = {shown.name: shown for shown in all_shown()}
every_picture = pytest.mark.parametrize("shown", SHOWN.values(), ids=SHOWN)
SVG = "{http://www.w3.org/2000/svg}"


def rows(scene: Scene) -> list[str]:
    return [f"{row.lane.name.lower()} | {row.text} | {row.clause}".rstrip(" |") for row in scene.rows]


def arrows(scene: Scene) -> list[str]:
    return [f"{scene.rows[one.source].text} -> {scene.rows[one.target].text}" for one in scene.arrows]


def bars(scene: Scene) -> Iterator[str]:
    for span in scene.spans:
        start = "top" if span.start == TOP else scene.rows[span.start].text
        end = "open" if span.end is None else scene.rows[span.end].text
        yield f"{span.sort}: {start} .. {end}"


def test_the_picture_of_a_disposal_in_a_step() -> None:
    scene = traces.DISPOSE.scene
    assert rows(scene) == [
        "caller | hold model",
        "caller | hold flush",
        "caller | send A | CALL-02",
        "agent | queued A | INBOX-01",
        "caller | await idle",
        "agent | status running | TURN-01",
        "log | 0 turn/start 1 message | TURN-02",
        "log | 1 user/message A | TURN-03",
        "log | 2 step/start 1.1 | TURN-04",
        "gates | model",
        "caller | dispose → d1",
        "gates | signal disposed | DISPOSE-02",
        "agent | status disposed | DISPOSE-03",
        "caller | dispose → d2",
        "log | 3 step/end 1.1 | TURN-06",
        "log | 4 turn/end 1 disposed | DISPOSE-04",
        "log | session/flush upto 5 | FLUSH-01",
        "gates | flush",
        "caller | release flush",
        "registries | agent/disposed | DISPOSE-06",
        "registries | session/disposed | DISPOSE-07",
        "caller | idle returned | IDLE-04",
        "registries | scope/cleanup | DISPOSE-08",
        "caller | d1 returned | DISPOSE-01",
        "caller | d2 returned | DISPOSE-01",
    ]
    assert arrows(scene) == [
        "queued A -> status running",
        "signal disposed -> 3 step/end 1.1",
        "release flush -> agent/disposed",
        "release flush -> idle returned",
        "scope/cleanup -> d1 returned",
        "scope/cleanup -> d2 returned",
    ]
    assert list(bars(scene)) == [
        "session: top .. session/disposed",
        "agent: top .. agent/disposed",
        "call: send A .. queued A",
        "call: await idle .. idle returned",
        "running: status running .. status disposed",
        "turn: 0 turn/start 1 message .. 4 turn/end 1 disposed",
        "step: 2 step/start 1.1 .. 3 step/end 1.1",
        "wait: model .. signal disposed",
        "call: dispose → d1 .. d1 returned",
        "call: dispose → d2 .. d2 returned",
        "wait: flush .. release flush",
    ]
    assert [(rows(scene)[first], rows(scene)[last]) for first, last in scene.brackets] == [
        ("caller | hold model", "caller | await idle"),
        ("caller | dispose → d1", "caller | dispose → d2"),
    ]
    assert scene.before == "after create a"


def test_the_cause_of_a_waiter_that_a_cancel_freed_is_the_cancel() -> None:
    """The send made the driver able to run; the cancel made it do what it did."""
    scene = scene_of(traces.CANCEL_EARLY.trace, skip=1)
    assert "cancel-requested user -> idle returned" in arrows(scene)
    assert "queued A -> idle returned" not in arrows(scene)


def test_listeners_act_where_the_model_has_them_act() -> None:
    steps = (
        react("r1", "agent/status", cancel(THIS), send("B", THIS), where=(("status", "running"),)),
        react("r2", "agent/queued", look(), where=(("text", "B"),)),
        send("A"),
    )
    scene = scene_of(trace((create("c"),), steps), skip=1)
    assert rows(scene)[:11] == [
        "listeners | r1 on agent/status running",
        "listeners | r2 on agent/queued B",
        "caller | send A | CALL-02",
        "agent | queued A | INBOX-01",
        "agent | status running | TURN-01",
        "listeners | r1: cancel | CANCEL-09",
        "agent | cancel-requested user | CANCEL-01",
        "listeners | r1: send B | CALL-02",
        "agent | queued B | INBOX-01",
        "listeners | r2: look",
        "listeners | r2 shows a#1 | REGISTRY-01",
    ]


def test_several_agents_are_told_apart() -> None:
    assert "agent | status disposed · b | OWNER-01" in rows(traces.UNLOAD.scene)
    assert "registries | agent/created · a#2 | PUBLISH-02" in rows(traces.REUSE.scene)


def test_a_trace_with_a_void_item_is_not_shown() -> None:
    with pytest.raises(Unfit, match="void"):
        record(trace((send("A"),)))


def test_a_silence_that_is_not_there_is_not_shown() -> None:
    with pytest.raises(Unfit, match="CANCEL-02"):
        scene_of(trace((create("c"),)), ["CANCEL-02"])


def test_a_wait_that_a_teardown_ends_is_drawn_to_there() -> None:
    waits = trace((create("c"),), (hold(GateKind.MODEL), send("A")), (steer("S"), inject("X")), (cancel(),))
    assert "wait: model .. signal user" in list(bars(scene_of(waits)))


@every_picture
def test_arrows_lead_downwards_and_bars_last(shown: Shown) -> None:
    scene = shown.scene
    assert all(arrow.source < arrow.target for arrow in scene.arrows)
    assert all(span.end is None or span.start <= span.end for span in scene.spans)


@every_picture
def test_no_label_leaves_its_lane(shown: Shown) -> None:
    picture = Picture(shown.scene)
    strips = list(picture.strips.values())
    assert all(left.end <= right.base for left, right in pairwise(strips))
    for row in picture.scene.rows:
        strip = picture.strips[row.lane]
        assert strip.label + width_of(row.text) <= strip.end
    for lane, strip in picture.strips.items():
        assert strip.base - 4 + max(len(lane.heading) * CHARACTER, len(lane.below) * CLAUSE_CHARACTER) <= strip.end
    longest = max(len(row.clause) for row in picture.scene.rows)
    assert strips[-1].end + longest * CLAUSE_CHARACTER < picture.width <= 1000


@every_picture
def test_bars_stand_beside_each_other(shown: Shown) -> None:
    spans = shown.scene.spans
    last = len(shown.scene.rows)
    for place, span in enumerate(spans):
        for other in spans[place + 1 :]:
            if (span.lane, span.column) == (other.lane, other.column):
                ends = [last if one.end is None else one.end for one in (span, other)]
                assert span.start > ends[1] or other.start > ends[0]


@every_picture
def test_a_picture_is_whole_and_tells_itself(shown: Shown) -> None:
    root = ElementTree.fromstring(draw(shown.scene, shown.title))
    assert root.tag == f"{SVG}svg"
    assert root.findtext(f"{SVG}title") == shown.title
    description = root.findtext(f"{SVG}desc")
    texts = {node.text for node in root.iter(f"{SVG}text")}
    assert description is not None
    for row in shown.scene.rows:
        assert row.text in texts
        assert row.text in description
    style = root.findtext(f"{SVG}style")
    assert style is not None
    assert "prefers-color-scheme:dark" in style


def test_the_legend_has_every_mark() -> None:
    root = ElementTree.fromstring(legend())
    texts = [node.text for node in root.iter(f"{SVG}text")]
    assert len(texts) == 13
    assert "nothing is said, on purpose" in texts


def test_the_lanes_are_those_that_are_used() -> None:
    assert traces.INJECT_IDLE.scene.lanes == [Lane.CALLER, Lane.LOG, Lane.GATES, Lane.REGISTRIES]
