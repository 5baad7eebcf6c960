"""Say what a child process may know of the environment.

A child is started on behalf of a model. What it can read, a model can be made to read and to send
away, so no ambient credential may reach it. Which variable is one cannot be known from its value; it is
told by its name, and rather one too many than one too few. So a name that contains one of a few words
*anywhere* is dropped. Letters are compared without case, in ASCII only: folding other alphabets would
make names match that no shell takes for the word, and make it depend on the version of Unicode.

What the child is to have all the same is configured by name, and wins. Nothing else is added or removed.
The same rule holds for shell commands and for agents that run in a process of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ("CREDENTIAL_WORDS", "child_environment", "names_credential")

CREDENTIAL_WORDS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
"""The words that make the name of a variable the name of a credential."""

_FOLD: Final = {lower: lower - 32 for lower in range(ord("a"), ord("z") + 1)}


def names_credential(name: str) -> bool:
    """Return whether a variable of this name is taken for a credential."""
    folded = name.translate(_FOLD)
    return any(word in folded for word in CREDENTIAL_WORDS)


def child_environment(ambient: Mapping[str, str], overlay: Mapping[str, str | None]) -> dict[str, str]:
    """Return the environment of a child.

    :param ambient: the environment of this process
    :param overlay: what is configured for the child; ``None`` removes a name
    """
    environment = {name: value for name, value in ambient.items() if not names_credential(name)}
    for name, value in overlay.items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return environment
