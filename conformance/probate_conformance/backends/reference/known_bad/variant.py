"""What a known-bad variant is: the reference with one defect that has a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from probate_conformance.backends.reference.known_bad.patching import Patches

Loop: TypeAlias = Literal["asyncio", "trio"]
Need: TypeAlias = Literal["", "burst", "reaction", "gate", "schedule"]
Plant: TypeAlias = Callable[[Patches], None]

BOTH: Final[tuple[Loop, ...]] = ("asyncio", "trio")


@dataclass(frozen=True, slots=True)
class Variant:
    """One defect.

    :ivar mutant: its number in the list of plausible bugs that the contract was checked against
    :ivar clause: the clause that must report it
    :ivar says: what is wrong, in a sentence
    :ivar loops: where it shows in the order that is the loop's default
    :ivar needs: what a trace must have to show it; nothing if any trace of the right ops does
    :ivar plant: puts it into the reference
    :ivar profile: the traces that show it
    """

    name: str
    mutant: str
    clause: str
    says: str
    loops: tuple[Loop, ...]
    needs: Need
    plant: Plant
    profile: str = "core"
    blunt: bool = False
    """Whether it may fail nearly every trace: it is there so that its clause has one, and not to be hard to find."""


class Family:
    """The variants of one file, all of one profile."""

    def __init__(self, profile: str = "core", *, blunt: bool = False) -> None:
        self.profile = profile
        self.blunt = blunt
        self.variants: list[Variant] = []

    def variant(
        self,
        name: str,
        mutant: str,
        clause: str,
        says: str,
        *,
        needs: Need = "",
        loops: tuple[Loop, ...] = BOTH,
        blunt: bool = False,
    ) -> Callable[[Plant], Plant]:
        """Add the decorated function as a variant."""

        def add(plant: Plant) -> Plant:
            self.variants.append(
                Variant(name, mutant, clause, says, loops, needs, plant, self.profile, blunt or self.blunt)
            )
            return plant

        return add
