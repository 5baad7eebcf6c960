"""A writer of SVG: elements with attributes, numbers without needless digits, text as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TypeAlias

Way: TypeAlias = Sequence[tuple[str, tuple[float, ...]]]
"""The commands of a path, each with its numbers."""


def element(name: str, *inside: str, **attributes: object) -> str:
    """Give an element; ``_`` at the end of an attribute's name is dropped, and within it is a dash."""
    words = "".join(f' {_name(key)}="{_value(value)}"' for key, value in attributes.items())
    body = "".join(inside)
    return f"<{name}{words}>{body}</{name}>" if body else f"<{name}{words}/>"


def text(words: str, x: float, y: float, class_: str, **attributes: object) -> str:
    """Give a text at a place."""
    return element("text", escape(words, quote=False), x=x, y=y, class_=class_, **attributes)


def path(way: Way, class_: str, **attributes: object) -> str:
    """Give a path."""
    words = "".join(f"{command}{' '.join(map(_number, numbers))}" for command, numbers in way)
    return element("path", d=words, class_=class_, **attributes)


def document(width: float, height: float, title: str, description: str, style: str, body: Iterable[str]) -> str:
    """Give a whole picture, with a name and a description for who does not see it."""
    size = f'width="{_number(width)}" height="{_number(height)}" viewBox="0 0 {_number(width)} {_number(height)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title description" {size}>',
        element("title", escape(title, quote=False), id="title"),
        element("desc", escape(description, quote=False), id="description"),
        element("style", style),
        *body,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _value(value: object) -> str:
    return _number(value) if isinstance(value, float) else escape(str(value))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
