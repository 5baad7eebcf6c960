"""Steps applied and compared in a second: the peer, and the kit with nothing behind it and with the reference."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from bench.conversing import Clock, Recorded, metered, now, run, worked
from bench.peer import Peer, PeerByHand
from bench.results import Goal, Section, check
from probate_conformance.backends.base import Backend
from probate_conformance.backends.reference import ReferenceBackend

STEPS = 40
"""Rules in an example: then as many ops are carried out in one as in a trace of our generator."""


def peer_settings(examples: int) -> settings:
    """Give the settings under which the peer only generates, since nothing is shrunk here on either side."""
    return settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        phases=(Phase.generate,),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def run_peer(machine: type[Peer], number: int, examples: int) -> Clock:
    """Run the peer on the clock."""
    machine.applied = machine.compared = machine.examples = 0
    clock = Clock()
    began, used = now(), worked()
    run_state_machine_as_test(seed(number)(machine), settings=peer_settings(examples))
    clock.total, clock.cpu = now() - began, worked() - used
    clock.steps, clock.bursts = machine.applied, machine.compared
    check(machine.examples >= examples, f"the peer ran {machine.examples} of {examples} examples")
    check(clock.bursts > examples, f"the peer compared {clock.bursts} bursts in {examples} examples")
    return clock


def rates(*, quick: bool) -> Section:
    """Measure in rounds, everything once in each."""
    rounds, cases, examples = (3, 60, 30) if quick else (5, 150, 80)
    recorded = Recorded.of(ReferenceBackend(), 0, cases)
    measured: dict[str, Callable[[int], Clock]] = {
        "peer, portal": lambda number: run_peer(Peer, number, examples),
        "peer, loop by hand": lambda number: run_peer(PeerByHand, number, examples),
        "kit, null backend": lambda _: run(recorded, 0, cases),
        "kit, reference": lambda _: run(ReferenceBackend(), 0, cases),
        "kit, reference-trio": lambda _: run(ReferenceBackend("trio"), 0, cases),
    }
    run_peer(Peer, 0, 5)
    run_peer(PeerByHand, 0, 5)
    run(ReferenceBackend("trio"), 0, 5)
    clocks: dict[str, list[Clock]] = {name: [] for name in measured}
    for number in range(rounds):
        for name, measure in measured.items():
            clocks[name].append(measure(number))

    section = Section("Peer: steps applied and compared per second")
    peers = [clock.rate for clock in clocks["peer, portal"]]
    ratios = {
        name: [clock.rate / peer for clock, peer in zip(ours, peers, strict=True)] for name, ours in clocks.items()
    }
    theirs = [clock.steps / clock.cpu for clock in clocks["peer, portal"]]
    cpu = {
        name: median(clock.steps / clock.cpu / peer for clock, peer in zip(ours, theirs, strict=True))
        for name, ours in clocks.items()
    }
    section.table(
        ("", "best", "median", "x peer, median", "least", "most", "by CPU time", "steps", "bursts"),
        [
            (
                name,
                f"{max(clock.rate for clock in ours):,.0f}",
                f"{median(clock.rate for clock in ours):,.0f}",
                f"{median(ratios[name]):.1f}",
                f"{min(ratios[name]):.1f}",
                f"{max(ratios[name]):.1f}",
                f"{cpu[name]:.1f}",
                f"{ours[0].steps:,}",
                f"{ours[0].bursts:,}",
            )
            for name, ours in clocks.items()
        ],
    )
    backends: dict[str, Backend] = {
        "null backend": recorded,
        "reference": ReferenceBackend(),
        "reference-trio": ReferenceBackend("trio"),
    }
    shares = _shares(section, backends, cases)
    del shares["null backend"]
    section.goals += [
        Goal("null backend to peer", median(ratios["kit, null backend"]), 10),
        Goal("reference to peer", median(ratios["kit, reference"]), 3),
        Goal("reference-trio to peer", median(ratios["kit, reference-trio"]), 3),
        *(
            Goal(f"model and comparison in a run of {name}", share, 100 / 3, at_most=True, unit="%")
            for name, share in shares.items()
        ),
    ]
    section.figures["rounds"] = {
        name: [
            {"seconds": clock.total, "cpu": clock.cpu, "steps": clock.steps, "bursts": clock.bursts} for clock in ours
        ]
        for name, ours in clocks.items()
    }
    section.figures["shares"] = shares
    return section


def _shares(section: Section, backends: dict[str, Backend], cases: int) -> dict[str, float]:
    """Tell where the time goes, in runs of their own; gives the share of model and comparison with each backend.

    What the parts are is told by runs with a meter in them. It costs a little, so the share of the kit is that of runs
    without, and how much of that is model and comparison is that of runs with it: two shares, each within one run.
    """
    shares: dict[str, float] = {}
    rows = []
    for name, backend in backends.items():
        clock, parts = min((metered(backend, 0, cases) for _ in range(3)), key=lambda one: one[0].cpu)
        plain = min((run(backend, 0, cases, split=True) for _ in range(3)), key=lambda one: one.cpu)
        section.figures[f"parts, {name}"] = {"cpu": clock.cpu, "own": plain.own, "steps": clock.steps, **parts}
        shares[name] = 100 * plain.own / plain.cpu * (1 - parts["generation"] / clock.own)
        for part, seconds in {**parts, "the backend": clock.cpu - clock.own}.items():
            rows.append((f"{name}: {part}", f"{1e6 * seconds / clock.steps:.0f}", f"{100 * seconds / clock.cpu:.0f} %"))
    section.table(("where the CPU time goes", "us per step", "share"), rows)
    return shares
