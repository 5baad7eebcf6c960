"""Lies: the model as a backend that does as an edition asks, and tells one thing otherwise.

The known-bad backends are the reference with a defect, and the reference follows edition ``2026-06``. No runtime of
ours follows ``2026-08``, so there the kit is put to the test by the model: it runs rightly, and wherever a clause is
demanded one thing is told otherwise (see ``telling``). The kit knows nothing of that, and must name this clause.

There is one lie for each clause of profile ``core``. It is told in every burst that has a place for it, so some traces
end by another clause: to leave out a settlement that two clauses speak of breaks the one or the other. Each lie is
judged by its own clause only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from probate_conformance.backends.model import ModelBackend
from probate_conformance.backends.telling import How, tellings
from probate_conformance.wire import Quiet
from probate_model.alphabet.editions import EDITION_2026_08
from probate_model.alphabet.events import Snapshot
from probate_model.run import Expected, Silence

EDITION: Final = EDITION_2026_08


@dataclass(frozen=True, slots=True)
class Lie:
    """One way to break one clause."""

    clause: str
    """The clause that must report it."""
    how: How
    about: str | None = None
    """The clause at whose demands it is told, if that is another one."""
    place: int = 0
    """Which of the lies that a burst has a place for: the first, the second, or the last."""

    @property
    def says(self) -> str:
        """What is wrong, in a sentence."""
        return f"{self.how.value}, where {self.about or self.clause} speaks of it"


LIES: Final[Mapping[str, Lie]] = MappingProxyType(
    {
        lie.clause: lie
        for lie in (
            Lie("CALL-01", How.DOUBLES, about="CREATE-01", place=-1),
            Lie("CALL-02", How.HURRIES),
            Lie("CREATE-01", How.DROPS, place=-1),
            Lie("CREATE-02", How.DROPS),
            Lie("CREATE-03", How.DROPS),
            Lie("CREATE-04", How.DROPS),
            Lie("CREATE-05", How.DROPS),
            Lie("CREATE-06", How.DROPS, place=-1),
            Lie("CREATE-07", How.ADDS, place=-1),
            Lie("CREATE-08", How.DROPS, place=-1),
            Lie("CREATE-09", How.ALTERS),
            Lie("CREATE-10", How.DROPS, place=-1),
            Lie("CREATE-11", How.DROPS),
            Lie("CREATE-12", How.DROPS),
            Lie("CREATE-13", How.HURRIES),
            Lie("CREATE-14", How.DOUBLES, about="PUBLISH-01"),
            Lie("PUBLISH-01", How.STOPS),
            Lie("PUBLISH-02", How.HURRIES),
            Lie("PUBLISH-03", How.DROPS),
            Lie("PUBLISH-04", How.ADDS),
            Lie("PUBLISH-05", How.DROPS),
            Lie("PUBLISH-06", How.ADDS),
            Lie("PUBLISH-07", How.HURRIES),
            Lie("EVENT-01", How.DROPS),
            Lie("INBOX-03", How.HURRIES),
            Lie("INBOX-06", How.HURRIES, place=1),
            Lie("INBOX-08", How.HURRIES, place=1),
            Lie("INBOX-09", How.HURRIES),
            Lie("INBOX-10", How.HURRIES),
            Lie("INBOX-11", How.ALTERS, place=1),
            Lie("CANCEL-02", How.ADDS),
            Lie("CANCEL-03", How.HURRIES),
            Lie("CANCEL-04", How.STOPS),
            Lie("CANCEL-05", How.HURRIES),
            Lie("CANCEL-06", How.ALTERS, place=-1),
            Lie("CANCEL-07", How.STOPS),
            Lie("CANCEL-08", How.ADDS, place=-1),
            Lie("CANCEL-09", How.HURRIES),
            Lie("CANCEL-10", How.ADDS),
            Lie("CANCEL-13", How.ADDS),
            Lie("CANCEL-14", How.ALTERS, place=-1),
            Lie("CANCEL-16", How.STOPS),
            Lie("CANCEL-17", How.HURRIES),
            Lie("CANCEL-18", How.STOPS),
            Lie("TURN-01", How.ALTERS),
            Lie("TURN-02", How.ALTERS, place=-1),
            Lie("TURN-03", How.STOPS),
            Lie("TURN-05", How.HURRIES),
            Lie("TURN-06", How.HURRIES),
            Lie("TURN-07", How.ALTERS, place=1),
            Lie("TURN-09", How.HURRIES),
            Lie("TURN-10", How.DROPS),
            Lie("TURN-11", How.STOPS),
            Lie("TURN-13", How.ALTERS),
            Lie("TURN-14", How.ADDS, place=-1),
            Lie("TURN-15", How.STOPS),
            Lie("TURN-16", How.DOUBLES),
            Lie("TURN-17", How.HURRIES, place=1),
            Lie("TOOL-01", How.DROPS),
            Lie("TOOL-02", How.ALTERS, place=-1),
            Lie("TOOL-03", How.DROPS),
            Lie("INJECT-05", How.HURRIES),
            Lie("FLUSH-05", How.ADDS, place=-1),
            Lie("IDLE-01", How.DROPS, place=1),
            Lie("IDLE-02", How.DROPS),
            Lie("DISPOSE-01", How.DROPS),
            Lie("DISPOSE-02", How.HURRIES),
            Lie("DISPOSE-05", How.HURRIES),
            Lie("DISPOSE-06", How.STOPS),
            Lie("DISPOSE-07", How.DROPS),
            Lie("DISPOSE-10", How.HURRIES),
            Lie("DISPOSE-11", How.STOPS),
            Lie("DISPOSE-12", How.STOPS),
            Lie("DISPOSE-13", How.ADDS),
            Lie("DISPOSE-14", How.HURRIES),
            Lie("OWNER-01", How.STOPS),
            Lie("OWNER-03", How.DROPS),
            Lie("OWNER-05", How.DROPS),
            Lie("OWNER-06", How.STOPS, place=1),
            Lie("REGISTRY-01", How.HURRIES),
            Lie("REGISTRY-02", How.FORGETS),
            Lie("REGISTRY-04", How.DROPS),
        )
    }
)
"""By clause, those of profile ``core`` in edition ``2026-08``."""


class LyingBackend(ModelBackend):
    """The model in edition ``2026-08`` with one lie."""

    def __init__(self, lie: Lie) -> None:
        super().__init__(EDITION)
        self.manifest = self.manifest.model_copy(update={"name": f"lie-{lie.clause}"})
        self._lie = lie

    def told(self, quiet: Quiet, expected: list[Expected], silences: list[Silence]) -> Quiet:
        """Tell the lie, if the burst has a place for it."""
        lie = self._lie
        if lie.how is How.FORGETS:
            return quiet.model_copy(update={"snapshot": Snapshot()})
        lies = list(tellings(lie.how, lie.about or lie.clause, expected, silences))
        if not -len(lies) <= lie.place < len(lies):
            return quiet
        return quiet.model_copy(update={"events": lies[lie.place]})
