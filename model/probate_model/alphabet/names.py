"""Names that the alphabet is written with.

Every name is a ``NewType`` over ``str``, so that the type checker refuses a label where an id is meant. At run time
they are plain strings: they cross process boundaries, and a foreign runtime must be able to print them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NewType

Label = NewType("Label", str)
"""The name of one call in a trace. A creation's label also stands for the very agent that it made."""

AgentId = NewType("AgentId", str)
"""The one id that an agent and its session share. An id can be used again once its entries are detached."""

AgentRef = NewType("AgentRef", str)
"""``id#n``: the n-th session object of that id that reached ``session/created``."""

OwnerName = NewType("OwnerName", str)
"""The name of an owner: a fiber on whose behalf agents are created."""

Text = NewType("Text", str)
"""What a message says. Unique in a trace, so that a text identifies its message."""

Tag = NewType("Tag", str)
"""The name of something thrown by a scripted listener or setup."""

Code = NewType("Code", str)
"""Why a call was refused or failed: a member of ``Refusal``, or ``thrown:TAG``."""

THIS: Final = Label("this")
"""In a reaction: the agent of the event being dispatched, and its creation."""

BAD_TEXT: Final = Text("!bad")
"""The one text whose content is invalid: it can't be kept losslessly, so sending it is refused."""


@lru_cache(maxsize=1024)
def agent_ref(agent_id: AgentId, number: int) -> AgentRef:
    """Name the ``number``-th session object of ``agent_id`` that reached ``session/created``."""
    return AgentRef(f"{agent_id}#{number}")
