"""Let a model have work done by a subagent, as a tool call like any other.

Whatever becomes of the run, it is disposed before the call returns: also if the result is an error, also if the turn
is stopped meanwhile, and also if the task of the caller is cancelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from anyio import CancelScope

from probate_reference.seams import FunctionTool

from .runs import RunRequest, RunStop

if TYPE_CHECKING:
    from probate_reference.seams import ToolContext

    from .service import Subagents

__all__ = ("DelegationFailed", "delegate")

PARAMETERS: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {"prompt": {"type": "string", "description": "What the subagent is to do; it knows nothing else."}},
    "required": ["prompt"],
    "additionalProperties": False,
}


class DelegationFailed(Exception):
    """Raised when a subagent did not complete what it was asked for; its text holds what the subagent said by then."""


def delegate(
    subagents: Subagents,
    provider: str,
    *,
    name: str = "delegate",
    description: str = "Have a subagent do something, and return what it says in the end.",
) -> FunctionTool:
    """Make the tool.

    :param provider: which subagents it starts
    """

    async def call(arguments: Mapping[str, object], context: ToolContext) -> str:
        if context.agent is None:
            raise DelegationFailed("only an agent can delegate")
        prompt = arguments["prompt"]
        assert isinstance(prompt, str)
        run = subagents.start(provider, RunRequest(prompt, context.agent, context.signal))
        try:
            result = await run.result
        finally:
            with CancelScope(shield=True):
                await run.dispose()
        said = "\n".join(result.output)
        if result.stop is not RunStop.COMPLETED:
            why = f"subagent: {result.stop}" + (f", {result.failure}" if result.failure else "")
            raise DelegationFailed("\n".join(part for part in (why, said) if part))
        return said

    return FunctionTool(name, call, description, PARAMETERS)
