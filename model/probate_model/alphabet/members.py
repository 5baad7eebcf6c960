"""Enumerations whose members cost no more than any other name.

Rules read members on every step. Until Python 3.12 that went through a function written in Python, and hashing one
still does: together a fifth of the model's time. Both are cut short here, and change nothing else: a member is what it
was, and its hash is that of the number or the word that it is.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TypeVar

E = TypeVar("E", bound=IntEnum | StrEnum)


def plain(enumeration: type[E]) -> type[E]:
    """Make the members of an enumeration plain attributes, with the hash of their values. A class decorator."""
    value = int if issubclass(enumeration, IntEnum) else str
    type.__setattr__(enumeration, "__hash__", value.__hash__)
    for name, member in enumeration.__members__.items():
        type.__setattr__(enumeration, name, member)
    return enumeration
