"""Values: what the alphabet is made of, frozen to whoever writes and cheap to whoever runs.

An event or an item is a frozen dataclass, and the type checker refuses a line that changes one. Python would refuse it,
too, but everybody pays for that: a frozen dataclass is made through ``object.__setattr__``, field by field, which takes
more than twice as long. That was a tenth of a run. So at run time these are plain dataclasses with the hash and the
equality of their fields, and it is the type checker alone that holds them still.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value(*, frozen: bool, slots: bool) -> Any:
        """Make a dataclass with equality and, if it is frozen, a hash. A class decorator."""
        return dataclasses.dataclass(slots=slots, unsafe_hash=frozen)


__all__ = ["value"]
