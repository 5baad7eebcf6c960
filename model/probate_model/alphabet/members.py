"""Enumerations whose members cost no more than any other name.

Rules read some fifty members on every step. Until Python 3.12 that goes through a hook that ``EnumType`` has for
attributes that are not there, and through a function written in Python for those that are; hashing a member still does.
Together that was a third of the model's time. All of it is cut short here, and changes nothing else: a member is what
it was, and its hash is that of the number or the word that it is.
"""

from __future__ import annotations

from enum import EnumType, IntEnum, StrEnum
from typing import Final, TypeVar

E = TypeVar("E", bound=IntEnum | StrEnum)

_UNHOOKED: Final = type(
    "UnhookedEnumType",
    (type,),
    {name: value for name, value in vars(EnumType).items() if name != "__getattr__"}
    | {"__class__": property(lambda _: EnumType, doc="What ``isinstance`` and ``super`` take it for.")},
)
"""``EnumType`` without the hook. No subclass of it, since a subclass would have the hook however it defines it."""


def plain(enumeration: type[E]) -> type[E]:
    """Make the members of an enumeration plain attributes, with the hash of their values. A class decorator."""
    value = int if issubclass(enumeration, IntEnum) else str
    type.__setattr__(enumeration, "__hash__", value.__hash__)
    for name, member in enumeration.__members__.items():
        type.__setattr__(enumeration, name, member)
    if "__getattr__" in vars(EnumType):
        type.__setattr__(enumeration, "__class__", _UNHOOKED)
    return enumeration
