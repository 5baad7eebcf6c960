"""How much of the model a backend is held to: what its manifest does not claim is erased from both sides."""

from __future__ import annotations

from dataclasses import fields, replace

from probate_conformance.manifest import Manifest, Unclaimed
from probate_conformance.trace import EVENT_CLASSES
from probate_model.alphabet.events import Event, Listed, Settled, Snapshot, Status
from probate_model.alphabet.events import Returned as CallReturned
from probate_model.clauses import CLAUSES, Clause
from probate_model.worlds import EVERYTHING, View


def view_of(manifest: Manifest) -> View:
    """Give the view of the model that a manifest claims."""
    unclaimed = manifest.unclaimed
    if not unclaimed.events and not unclaimed.fields:
        return EVERYTHING
    hidden = frozenset(unclaimed.events)
    erased: dict[str, list[str]] = {}
    for name in unclaimed.fields:
        kind, _, field = name.partition(":")
        erased.setdefault(kind, []).append(field)
    without_status = "status" in erased.get("snapshot", ())

    def snapshot(seen: Snapshot) -> Snapshot:
        if not without_status:
            return seen
        return replace(seen, agents=tuple(replace(entry, status=Status.IDLE) for entry in seen.agents))

    def event(seen: Event) -> Event | None:
        if seen.event in hidden:
            return None
        if isinstance(seen, Settled):
            if isinstance(seen.outcome, CallReturned) and isinstance(seen.outcome.value, Snapshot):
                return Settled(seen.call, CallReturned(snapshot(seen.outcome.value)))
            return seen
        names = erased.get(seen.event)
        return replace(seen, **dict.fromkeys(names)) if names else seen  # type: ignore[arg-type]

    return View(event, snapshot)


def field_names() -> set[str]:
    """Give the fields that a manifest can leave unclaimed."""
    names = {f"{kind}:{field.name}" for kind, cls in EVENT_CLASSES.items() for field in fields(cls)}
    return names | {f"snapshot:{field.name}" for field in fields(Listed)}


def claims(unclaimed: Unclaimed, clause: Clause) -> bool:
    """Tell whether a backend that leaves this unclaimed can be held to a clause."""
    if clause.seen and all(kind in unclaimed.events for kind in clause.seen):
        return False
    if any(need in unclaimed.ops for need in clause.needs):
        return False
    if any(need in unclaimed.gates or need in unclaimed.features for need in clause.needs):
        return False
    return not any(code in unclaimed.codes for code in clause.codes)


def claimed_clauses(manifest: Manifest, profile: str) -> dict[str, bool]:
    """Give every clause of a profile, and whether the backend claims it."""
    return {name: claims(manifest.unclaimed, clause) for name, clause in CLAUSES.items() if clause.profile == profile}
