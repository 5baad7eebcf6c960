"""Enumerations whose members cost little more than any other name.

Rules read members on every step. Until Python 3.12 that goes through hooks that ``EnumType`` has for members it can't
find, and through a function written in Python where it can; hashing one still does. Together that was a third of the
model's time. All of it is cut short here, and changes nothing else: a member is what it was, and its hash is that of
the number or the word that it is.
"""

from __future__ import annotations

import sys
from enum import EnumType, IntEnum, StrEnum
from typing import TypeVar

E = TypeVar("E", bound=IntEnum | StrEnum)


class _OwnFirst(EnumType):
    """Looks for a member where it is, in the class itself, and anywhere else only for what is no member."""

    __getattribute__ = object.__getattribute__

    def __getattr__(cls, name: str) -> object:
        return type.__getattribute__(cls, name)


def plain(enumeration: type[E]) -> type[E]:
    """Make the members of an enumeration plain attributes, with the hash of their values. A class decorator."""
    value = int if issubclass(enumeration, IntEnum) else str
    type.__setattr__(enumeration, "__hash__", value.__hash__)
    for name, member in enumeration.__members__.items():
        type.__setattr__(enumeration, name, member)
    if sys.version_info < (3, 12):
        type.__setattr__(enumeration, "__class__", _OwnFirst)
    return enumeration
