"""The environment of a child process: what it may know of ours.

What a child can read, a model can be made to send away. Which variable is a credential can't be told by its value, so
it is told by its name, and rather one too many than one too few: a name that contains one of six words anywhere is
dropped, with the case of ASCII letters folded and no other. What is configured for the child is laid over afterwards
and wins; configuring nothing for a name removes it. Nothing else is added or removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WORDS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
"""What the name of a credential contains."""


def is_credential(name: str) -> bool:
    """Tell whether a variable of this name is one that a child must not inherit."""
    upper = "".join(map(folded, name))
    return any(contains(upper, word) for word in WORDS)


def folded(letter: str) -> str:
    """Give the upper case of a letter of ASCII, and any other character as it is."""
    return chr(ord(letter) - 32) if "a" <= letter <= "z" else letter


def contains(name: str, word: str) -> bool:
    """Tell whether a word is anywhere in a name."""
    return word in name


def child_environment(ambient: Mapping[str, str], overlay: Mapping[str, str | None]) -> dict[str, str]:
    """Give the environment of a child.

    :param ambient: the environment that it would inherit
    :param overlay: what is configured for it; none removes a name
    """
    inherited = {name: value for name, value in ambient.items() if name not in overlay and not is_credential(name)}
    configured = {name: value for name, value in overlay.items() if value is not None}
    return inherited | configured
