"""The fence: who may touch a task.

A task that one agent has started is not to be read or killed by another, also not after the tool that started it was
loaded anew. So the owner is kept where the task is, in the executor, and the tool only compares. The executor never
looks into the token, and the tool never remembers one.

The comparison is equality of tokens, nothing weaker: two tokens that look alike are two tokens, and the empty one is
one. Only the lack of an owner opens a task to all; the lack of a caller opens nothing.

A token is the id that an agent shares with its session, and one id belongs to one live agent at a time. An agent that
is created later under the same id has the same token, and so has access to what the first one left. **That is
intended.** The id names the conversation, not the object: who takes up a conversation takes up its tasks, and what
keeps two strangers apart is that an id is unique among the living. The alternative, to compare the very agent, is
what edition ``2026-08`` does; there what an agent leaves behind is out of everybody's reach.
"""

from __future__ import annotations


def may_access(owner: str | None, caller: str | None) -> bool:
    """Tell whether who has the token ``caller`` may read and kill a task of ``owner``.

    :param owner: the token on the task; none if nobody owns it
    :param caller: the token of who asks; none if that is no agent
    """
    if owner is None:
        return True
    return caller is not None and owner == caller
