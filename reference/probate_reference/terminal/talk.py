"""Carry a conversation between one person and the agents that were started for them.

One line is one prompt. It goes to the agent that was spoken to last; ``@label text`` speaks to another one from then
on. The next line is read when the turn is over, so a pipe is worked off prompt by prompt, and its end is the end of the
last turn. What is typed before that waits.

An interrupt has two meanings, and which one it has the person can see. While a prompt is worked on it cancels that, on
the user's behalf. While nothing is worked on, or when the cancel was asked for already, it asks to leave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import Event

from probate_reference.events import AgentError, LogAppended
from probate_reference.jsonrpc.lines import TooLong
from probate_reference.permissions import Permission
from probate_reference.refusals import Refusal
from probate_reference.reports import words
from probate_reference.signals import CancelCause

from .screen import clean

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from probate_reference import events
    from probate_reference.agent import Agent
    from probate_reference.live import Piece
    from probate_reference.permissions import PermissionRequest

    from .keyboard import Keyboard
    from .screen import Screen

__all__ = ("Talk",)


class Talk:
    """One conversation.

    :param keyboard: where lines are typed
    :param screen: where the agents are shown
    :param complain: takes what is wrong
    :param asks: whether somebody is there who can be asked whether a tool may be called
    :ivar leaving: set when the person wants to leave
    """

    def __init__(
        self, keyboard: Keyboard, screen: Screen, complain: Callable[[str], object], *, asks: bool = False
    ) -> None:
        self._keyboard = keyboard
        self._screen = screen
        self._complain = complain
        self._asks = asks
        self._agents: dict[str, Agent] = {}
        self._labels: dict[Agent, str] = {}
        self._working: Agent | None = None
        self._cancelled = False
        self.leaving = Event()

    def join(self, agents: Mapping[str, Agent]) -> None:
        """Let the person talk to agents, by their labels."""
        self._agents.update(agents)
        self._labels.update({agent: label for label, agent in agents.items()})

    async def run(self) -> None:
        """Pass on what is typed until there is no more."""
        to = next(iter(self._agents))
        while True:
            self._screen.prompt(f"{to}> ")
            line = await self._keyboard.line()
            if line is None:
                return
            self._screen.entered()
            if isinstance(line, TooLong):
                self._complain(f"a prompt may have {line.limit} bytes; that line was longer and was not sent")
                continue
            to, text = self._addressed(line, to)
            if text:
                await self._work(self._agents[to], text)

    def _addressed(self, line: str, to: str) -> tuple[str, str]:
        """Return whom a line is for, and what it says."""
        if not line.startswith("@"):
            return to, line
        name, _, text = line[1:].partition(" ")
        if name in self._agents:
            return name, text.strip()
        if len(self._agents) == 1:
            return to, line
        self._complain(f"there is no agent @{name}; there are {', '.join(f'@{label}' for label in self._agents)}")
        return to, ""

    async def _work(self, agent: Agent, text: str) -> None:
        self._cancelled = False
        self._working = agent
        try:
            agent.send(text)
            await agent.idle()
        except Refusal as refusal:
            self._complain(f"{self._labels[agent]} does not take that: {refusal}")
        finally:
            self._working = None

    def interrupt(self) -> None:
        """Cancel what is worked on; if there is nothing, or that was asked for already, leave."""
        self._screen.interrupted()
        if self._working is None or self._cancelled:
            self.leaving.set()
            return
        self._cancelled = True
        self._screen.note("  cancelling; once more to leave")
        self._working.cancel(CancelCause.USER)

    # What is heard of the agents

    def hear(self, event: events.Event) -> None:
        """Show what an agent of this conversation does."""
        label = self._labels.get(event.agent)
        if label is None:
            return
        if isinstance(event, LogAppended):
            self._screen.record(label, event.record)
        elif isinstance(event, AgentError):
            self._complain(f"{label}: {words(event.error)}")

    def piece(self, piece: Piece) -> None:
        """Show what a model of this conversation says while it says it."""
        label = self._labels.get(piece.agent)
        if label is not None and not piece.thought:
            self._screen.piece(label, piece.text)

    # Permission

    def permission(self, request: PermissionRequest) -> Awaitable[Permission] | None:
        """Ask the person whether a tool may be called."""
        return self._permission(request) if request.context.agent in self._labels else None

    async def _permission(self, request: PermissionRequest) -> Permission:
        what = " ".join([request.tool, *(f"{name}={value!r}" for name, value in request.arguments.items())])
        if not self._asks:
            self._complain(f"nobody is there to allow {what}; set permission in the configuration, or use a terminal")
            return Permission.UNAVAILABLE
        self._screen.prompt(f"  allow {clean(what)}? [y/N] ")
        line = await self._keyboard.line()
        if line is None:
            return Permission.UNAVAILABLE
        self._screen.entered()
        return Permission.ALLOWED if line in ("y", "Y", "yes") else Permission.REJECTED
