"""Defects of the bridge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference.acp import library, sessions
from probate_reference.acp.bridge import Bridge
from probate_reference.acp.connection import Connection
from probate_reference.acp.prompts import Prompt
from probate_reference.acp.protocol import stop_reason
from probate_reference.acp.sessions import Session
from probate_reference.calls import Call
from probate_reference.jsonrpc import Incoming
from probate_reference.records import Record, TurnEnd, TurnStart, TurnTrigger
from probate_reference.signals import CancelCause

BRIDGE: Final = Family("bridge")


@BRIDGE.variant(
    "cancel-leaves-it-to-the-turn",
    "M94",
    "BRIDGE-05",
    "The answer to a cancelled prompt is left to the end of its turn, and never comes if it has none.",
)
def _(patches: Patches) -> None:
    # The turn will end, and with it the prompt.
    def cancel(session: Session) -> None:
        prompt = session._prompt
        session.agent.cancel(CancelCause.USER)
        if prompt is not None and prompt.turn is None:
            prompt._incoming._answered = True
        session._break_off()

    patches.replace(Session, "cancel", cancel)


@BRIDGE.variant(
    "second-prompt-is-accepted",
    "M97",
    "BRIDGE-06",
    "A second prompt takes the place of the one in flight.",
)
def _(patches: Patches) -> None:
    # The queue can hold both.
    patches.edit(Session, "prompt", ("if self.busy:", "if False:"))


@BRIDGE.variant(
    "slot-after-the-send",
    "M97",
    "BRIDGE-10",
    "The slot of a prompt is installed whether or not the agent takes it.",
)
def _(patches: Patches) -> None:
    # It was sent, was it not?
    patches.edit(Session, "prompt", ("    self._prompt = None\n", "    pass\n"))


@BRIDGE.variant(
    "late-session-is-installed",
    "M98",
    "BRIDGE-12",
    "A session whose connection was closed while it was created is installed, and nobody can end it.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The creation has succeeded.
    patches.edit(
        Connection, "_install", ("if self._teardown is not None or incoming.answered:", "if incoming.answered:")
    )


@BRIDGE.variant(
    "disconnect-only-cancels",
    "M99",
    "BRIDGE-15",
    "A client that goes away has its agents cancelled, and they stay registered.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # Nobody waits for their answer any more.
    def dispose(session: Session) -> Call[None]:
        session.cancel()
        return session.agent._core.lifecycle.boundary

    patches.replace(Session, "dispose", dispose)


@BRIDGE.variant(
    "second-teardown-returns-early",
    "M102",
    "BRIDGE-13",
    "Who comes second to a teardown finds nothing left to end, and returns.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # All sessions are taken out already.
    teardown = Connection.teardown
    close = Bridge.close

    def returned() -> Call[None]:
        done: Call[None] = Call()
        done._return(None)
        return done

    def tearing_down(connection: Connection) -> Call[None]:
        return teardown(connection) if connection._teardown is None else returned()

    def closing(bridge: Bridge) -> Call[None]:
        return close(bridge) if not bridge.closed else returned()

    patches.replace(Connection, "teardown", tearing_down)
    patches.replace(Bridge, "close", closing)


@BRIDGE.variant(
    "injection-settles-the-prompt",
    "M96",
    "BRIDGE-03",
    "The turn of an injection that runs before that of the prompt is taken for it.",
)
def _(patches: Patches) -> None:
    # The first turn after the send is the prompt's, and over when the next one begins.
    hear = Prompt.hear
    taken: dict[Prompt, str | None] = {}

    def hearing(prompt: Prompt, record: Record) -> None:
        if isinstance(record, TurnEnd) and prompt.turn is None:
            taken[prompt] = stop_reason(record.reason)
        elif isinstance(record, TurnStart) and record.trigger is TurnTrigger.MESSAGE and prompt in taken:
            prompt._incoming.succeed({"stopReason": taken.pop(prompt)})
        hear(prompt, record)

    patches.replace(Prompt, "hear", hearing)


@BRIDGE.variant(
    "failed-load-keeps-its-reservation",
    "M101",
    "BRIDGE-21",
    "The id of a session whose load has failed stays reserved.",
)
def _(patches: Patches) -> None:
    # It is loaded, so it is not being loaded any more.
    patches.edit(
        Connection,
        "_answer_go_on",
        ("finally:\n    self._bridge", "except GeneratorExit:\n    raise\nelse:\n    self._bridge"),
    )


@BRIDGE.variant(
    "load-from-any-folder",
    "J19",
    "BRIDGE-18",
    "A stored session goes on in whatever folder the client names.",
)
def _(patches: Patches) -> None:
    # The client knows where it is.
    patches.edit(library, "require_folder", ("if kept != folder:", "if False:"))


@BRIDGE.variant(
    "cancel-reaches-all-sessions",
    "M103",
    "BRIDGE-16",
    "A client that cancels one session cancels all that it holds.",
)
def _(patches: Patches) -> None:
    # It is the client who cancels.
    def notification(connection: Connection, method: str, params: Mapping[str, object]) -> None:
        if method == "session/cancel" and (session := connection._sessions.get(str(params.get("sessionId")))):
            session.cancel()
            for other in connection._sessions.values():
                if other is not session:
                    other.agent.cancel(CancelCause.PARENT)

    patches.replace(Connection, "_notification", notification)


@BRIDGE.variant(
    "called-off-prompt-is-answered-twice",
    "L18",
    "BRIDGE-22",
    "A prompt that is called off is answered as cancelled, and then as called off.",
)
def _(patches: Patches) -> None:
    # It is answered at the end.
    patches.edit(Incoming, "cancel", ("self._answered = True", "pass"))


@BRIDGE.variant(
    "any-answer-is-a-yes",
    "J25",
    "BRIDGE-23",
    "Whatever option a client selects, the tool is called, also one that was never offered.",
)
def _(patches: Patches) -> None:
    # Something was selected.
    patches.edit(
        sessions,
        "_permission",
        (' and outcome.get("optionId") == protocol.ALLOW_ONCE', ""),
    )


@BRIDGE.variant(
    "late-end-settles-the-next-prompt",
    "J12",
    "BRIDGE-03",
    "The end of any turn settles the prompt in flight, also of one that was cancelled before it.",
)
def _(patches: Patches) -> None:
    # There is only one prompt at a time.
    patches.edit(Prompt, "hear", ("record.turn == self.turn:", "True:"))


@BRIDGE.variant(
    "failed-turn-is-a-normal-end",
    "J15",
    "BRIDGE-04",
    "A prompt whose turn fails is answered as if it had ended well.",
)
def _(patches: Patches) -> None:
    # The turn is over.
    patches.edit(
        Prompt,
        "_settle",
        (
            'self._incoming.fail(RpcError(ErrorCode.INTERNAL_ERROR, "turn failed", self.reason))',
            'self._incoming.succeed({"stopReason": "end_turn"})',
        ),
    )


@BRIDGE.variant(
    "cancel-as-the-parent",
    "J8",
    "BRIDGE-16",
    "A client's cancel of a turn that runs is recorded as that of a parent.",
)
def _(patches: Patches) -> None:
    # Somebody above the agent has cancelled it.
    patches.edit(
        Session,
        "cancel",
        (
            "self.agent.cancel(CancelCause.USER)",
            (
                "runs = self._prompt is not None and self._prompt.turn is not None\n"
                "self.agent.cancel(CancelCause.PARENT if runs else CancelCause.USER)"
            ),
        ),
    )


@BRIDGE.variant(
    "vanished-prompt-never-answered",
    "J16",
    "BRIDGE-07",
    "A prompt that somebody else has cancelled before its turn is never answered.",
)
def _(patches: Patches) -> None:
    # Every prompt has a turn, which has answered it.
    patches.edit(Prompt, "rest", ("self.cancel()", "self._incoming._answered = True\nself.cancel()"))
