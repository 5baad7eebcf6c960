"""An agent on the Python SDK: asks for permission, and says what it was told."""

import asyncio
from typing import Any

import acp


class Agent:
    """The smallest agent that the SDK takes for one."""

    client: Any

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, *_: Any, **__: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, *_: Any, **__: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="one")

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> acp.PromptResponse:
        call = acp.schema.ToolCallUpdate(tool_call_id="call", title="Do it?")
        option = acp.schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once")
        answer = await self.client.request_permission(session_id=session_id, tool_call=call, options=[option])
        said = "allowed" if answer.outcome.outcome == "selected" else "denied"
        await self.client.session_update(session_id, acp.update_agent_message_text(f"{prompt[0].text}, {said}"))
        return acp.PromptResponse(stop_reason="end_turn")


agent: Any = Agent()
asyncio.run(acp.run_agent(agent))
