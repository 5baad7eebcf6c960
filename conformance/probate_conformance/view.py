"""How much of the model a backend is held to: what its manifest does not claim is erased from both sides."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from probate_conformance.manifest import FEATURES, FIELDS, THROWN, Manifest, Unclaimed
from probate_model.alphabet.editions import EDITION_2026_06, Edition
from probate_model.alphabet.events import Event, Raised, Settled, Snapshot, Status
from probate_model.alphabet.events import Returned as CallReturned
from probate_model.alphabet.names import Code
from probate_model.alphabet.refusals import Refusal, code
from probate_model.clauses import CLAUSES, Clause
from probate_model.worlds import EVERYTHING, View

_UNSPECIFIED: Final = Raised(code(Refusal.UNSPECIFIED))


def view_of(manifest: Manifest) -> View:
    """Give the view of the model that a manifest claims."""
    unclaimed = manifest.unclaimed
    if not unclaimed.events and not unclaimed.fields and not unclaimed.codes:
        return EVERYTHING
    hidden = frozenset(unclaimed.events)
    erased: dict[str, list[str]] = {}
    for name in unclaimed.fields:
        kind, _, field = name.partition(":")
        erased.setdefault(kind, []).append(field)
    of_entries: dict[str, object] = {}
    if "status" in erased.get("snapshot", ()):
        of_entries["status"] = Status.IDLE
    if "owner" in erased.get("snapshot", ()):
        of_entries["owner"] = None

    def snapshot(seen: Snapshot) -> Snapshot:
        if not of_entries:
            return seen
        # Without owners nobody can tell a root from another.
        roots = () if "owner" in of_entries else seen.roots
        agents = tuple(replace(entry, **of_entries) for entry in seen.agents)  # type: ignore[arg-type]
        return replace(seen, agents=agents, roots=roots)

    def event(seen: Event) -> Event | None:
        if seen.event in hidden:
            return None
        if isinstance(seen, Settled):
            outcome = seen.outcome
            if isinstance(outcome, Raised):
                return Settled(seen.call, _UNSPECIFIED) if _is_unclaimed(unclaimed, outcome.code) else seen
            if isinstance(outcome.value, Snapshot):
                return Settled(seen.call, CallReturned(snapshot(outcome.value)))
            return seen
        names = erased.get(seen.event)
        return replace(seen, **dict.fromkeys(names)) if names else seen  # type: ignore[arg-type]

    return View(event, snapshot)


def _is_unclaimed(unclaimed: Unclaimed, raised: Code) -> bool:
    return raised in unclaimed.codes or (raised.startswith("thrown:") and THROWN in unclaimed.codes)


def claims(unclaimed: Unclaimed, clause: Clause) -> bool:
    """Tell whether a backend that leaves this unclaimed can be held to a clause."""
    if clause.seen and all(kind in unclaimed.events for kind in clause.seen):
        return False
    # A need of `signal` is of the feature: the event of that name is what a clause is seen by, if at all.
    events = (kind for kind in unclaimed.events if kind not in FEATURES)
    left_out = (*unclaimed.ops, *unclaimed.gates, *unclaimed.features, *events)
    if any(need in left_out for need in clause.needs):
        return False
    if any(clause.id in FIELDS[field] for field in unclaimed.fields):
        return False
    return not any(needed in unclaimed.codes for needed in clause.codes)


def claimed_clauses(manifest: Manifest, profile: str, edition: Edition = EDITION_2026_06) -> dict[str, bool]:
    """Give every clause of a profile that holds in an edition, and whether the backend claims it."""
    return {
        name: claims(manifest.unclaimed, clause)
        for name, clause in CLAUSES.items()
        if clause.profile == profile and clause.holds_in(edition)
    }
