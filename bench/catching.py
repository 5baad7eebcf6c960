"""How long it takes until each known-bad backend is caught, by the kit and, as far as it has the ops, by the peer.

What is timed is the search alone, on both sides: from the start of a run to the first trace, or example, in which
something is seen that the contract does not allow. Nothing is confirmed or shrunk.
"""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from statistics import median

from hypothesis import seed as seeded
from hypothesis.errors import HypothesisException
from hypothesis.stateful import run_state_machine_as_test

from bench.conversing import now
from bench.peer import Peer, TimeUp
from bench.rates import peer_settings
from bench.results import Goal, Section
from probate_conformance.backends.reference.known_bad import VARIANTS, Variant, backend
from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.lockstep import Verdict, examine
from probate_conformance.manifest import Manifest
from probate_conformance.plan import Plan
from probate_conformance.view import view_of
from probate_conformance.wire import Conversation

HANDFUL = (
    "idle-cancel-strands-next-prompt",
    "idle-steering-is-stranded",
    "turns-are-counted-apart",
    "cancelled-turn-stays-open",
    "cancel-forgets-queue",
    "prompts-share-a-turn",
    "idle-between-queued-turns",
    "late-steering-is-lost",
    "cancel-spares-what-its-observers-send",
)
"""Those that the peer is asked for in a quick run: some that any trace shows, some that need a gate or a reaction."""

MOST_TRACES = 4000
"""How many traces a search has; it is given up earlier if its time is up."""


@dataclass(frozen=True, slots=True)
class Catch:
    """What one search came to."""

    seconds: float
    traces: int
    clause: str | None
    """What it was caught by; none if it was not caught."""


class Caught(BaseException):
    """Ends a run of the peer: Hypothesis lets through what is no ``Exception``, and does not run the example again."""


def _search(manifest: Manifest, plan: Plan, limit: float) -> Conversation[tuple[int, str | None]]:
    view = view_of(manifest)
    end = now() + limit
    for number in range(plan.runs):
        trace, rehearsals = plan.rehearsed(number, manifest)
        examined = yield from examine(trace, view, rehearsals)
        if examined.verdict is not Verdict.PASS:
            divergence = examined.divergence
            return number + 1, divergence.clause if divergence else f"({examined.verdict})"
        if now() > end:
            return number + 1, None
    return plan.runs, None


def by_kit(variant: Variant, seed: int, limit: float) -> Catch:
    """Search as the kit does."""
    bad = backend(variant.name, variant.loops[0])
    schedules = 4 if variant.needs == "schedule" else 1
    plan = Plan(seed=seed, cases=MOST_TRACES, profile=variant.profile, schedules=schedules)
    with bad:
        began = now()
        traces, clause = bad.converse(_search(bad.manifest, plan, limit))
        return Catch(now() - began, traces, clause)


def by_peer(variant: Variant, seed: int, limit: float) -> Catch:
    """Search as the peer does, in a process of its own: it never comes back from a backend that never comes to rest."""
    context = get_context("fork")
    found, told = context.Pipe(duplex=False)
    process = context.Process(target=_search_by_peer, args=(variant, seed, limit, told))
    began = now()
    process.start()
    told.close()  # so that one that dies is heard to
    try:
        # An example that was begun in time may end later.
        catch: Catch = found.recv() if found.poll(2 * limit) else Catch(now() - began, 0, None)
    finally:
        process.kill()
        process.join()
    return catch


def _search_by_peer(variant: Variant, seed: int, limit: float, told: Connection) -> None:
    class Catcher(Peer):
        failure = Caught
        examples = 0
        ended = None
        give_up_at = now() + limit

    clause: str | None = None
    with Patches() as patches:
        variant.plant(patches)
        began = now()
        try:
            run_state_machine_as_test(seeded(seed)(Catcher), settings=peer_settings(1_000_000))
        except (TimeUp, Caught, HypothesisException):
            # An example that ends when time is up, or otherwise than before, is an error to Hypothesis.
            if Catcher.ended is None:
                raise
        ended: BaseException | None = vars(Catcher)["ended"]
        if isinstance(ended, Caught):
            clause = str(ended).partition(":")[0]
        told.send(Catch(now() - began, Catcher.examples, clause))


def catching(*, quick: bool) -> Section:
    """Search for all of them, in rounds."""
    seeds, limit, peer_limit = (1, 1.5, 5.0) if quick else (2, 12.0, 5.0)
    core = [variant for variant in VARIANTS.values() if variant.profile == "core"]
    asked = [VARIANTS[name] for name in HANDFUL] if quick else core
    kit: dict[str, list[Catch]] = {name: [] for name in VARIANTS}
    peer: dict[str, list[Catch]] = {}
    by_kit(core[0], 0, limit)
    for seed in range(1, seeds + 1):
        for variant in VARIANTS.values():
            kit[variant.name].append(by_kit(variant, seed, limit))
    for variant in asked:
        peer[variant.name] = [by_peer(variant, 1, peer_limit)]

    section = Section("Time to catch: until a known-bad backend is seen to be bad")
    rows = []
    for name, catches in kit.items():
        theirs = peer.get(name, [])
        clauses = dict.fromkeys(catch.clause for catch in catches if catch.clause)
        rows.append(
            (
                name,
                _seconds(catches),
                f"{median(catch.traces for catch in catches):,.0f}",
                " ".join(clauses),
                _seconds(theirs) if theirs else "",
                f"{median(catch.traces for catch in theirs):,.0f}" if theirs else "",
            )
        )
    section.table(("variant", "kit: s", "traces", "by", "peer: s", "examples"), rows)
    found = sum(any(catch.clause for catch in catches) for catches in kit.values())
    # A search that found nothing counts with the time that it had, which favours the peer.
    ratios = [
        median(catch.seconds for catch in peer[name]) / max(median(catch.seconds for catch in kit[name]), 1e-3)
        for name in peer
    ]
    seen = sum(any(catch.clause for catch in catches) for catches in peer.values())
    section.note(
        f"kit: {found} of {len(kit)} caught, each within {limit:g} s in at least one of {seeds} runs; peer: "
        f"{seen} of {len(peer)} within {peer_limit:g} s; "
        f"the peer takes {median(ratios):.1f} times as long (median)"
    )
    section.goals += [
        # A quick run has no time for the rare ones.
        Goal("known-bad backends that the kit catches", None if quick else 100 * found / len(kit), 100, unit="%"),
        Goal("of them caught by the peer too", seen, 5, unit=""),
    ]
    section.figures = {
        "kit": {name: [_kept(catch) for catch in catches] for name, catches in kit.items()},
        "peer": {name: [_kept(catch) for catch in catches] for name, catches in peer.items()},
    }
    return section


def _seconds(catches: list[Catch]) -> str:
    missed = sum(catch.clause is None for catch in catches)
    text = f"{median(catch.seconds for catch in catches):.2f}"
    return f"> {text}" if missed * 2 > len(catches) else text


def _kept(catch: Catch) -> dict[str, object]:
    return {"seconds": catch.seconds, "traces": catch.traces, "clause": catch.clause}
