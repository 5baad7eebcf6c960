"""What a run came to on the way: windows, held gates, reactions, ops and refusals.

A run that passed has shown little if it never came to where things go wrong. So a window that was not reached is told
loudly, unless the backend leaves unclaimed what it takes to reach it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

from probate_conformance.generation import Palette
from probate_conformance.manifest import Manifest
from probate_conformance.report import Reached, Share
from probate_model.alphabet.editions import EDITION_2026_06, Choice, ClosingFlush, Edition, Wake
from probate_model.windows import BridgeWindow, FiberWindow, SessionsWindow, SubagentWindow, TaskWindow, Window

_ENDED: Final = ("dispose", "withdraw")
_HEARD: Final = ("react",)
_TURN: Final = ("model", "tool", "prepare", "react")

Needs: TypeAlias = tuple[tuple[str, ...], ...]

CORE: Final[Mapping[StrEnum, Needs]] = MappingProxyType(
    {
        Window.CANCEL_BEFORE_CLAIM: (("cancel",), ("send",)),
        Window.CANCEL_BETWEEN_TURNS: (("cancel",), ("send",), ("flush", "react")),
        Window.CANCEL_IN_CLOSING_FLUSH: (("cancel",), ("send",), ("flush", "react")),
        Window.CANCEL_IN_CREATION: (("cancel",), _HEARD, ("session/created", "agent/created", "agent/session-start")),
        Window.DISPOSE_WHILE_ANNOUNCED: (("withdraw",), _HEARD, ("session/created", "agent/created")),
        Window.DISPOSE_IN_HELD_FLUSH: (_ENDED, ("send",), ("flush", "react")),
        Window.DISPOSE_IN_UNLOAD: (_ENDED, ("unload_owner", "unload_provider")),
        Window.DISPOSE_IN_TURN: (_ENDED, ("send",), _TURN),
        Window.SEND_AFTER_ABORT: (("cancel",), ("send",), _TURN),
        Window.STEER_INTO_FAILING_STEP: (("steer",), ("send",), ("model",)),
        Window.TWO_CREATIONS_AT_GATE: (("create",), ("setup",)),
        Window.REUSE_BETWEEN_DETACHES: (("create",), _HEARD, ("agent/disposed",)),
    }
)
"""What it takes to reach each window: of each of these, one op, gate, feature or event that a backend claims."""

_CRASH: Final = (("crash",), ("send", "inject"))

SESSIONS: Final[Mapping[StrEnum, Needs]] = MappingProxyType(
    {
        SessionsWindow.TWO_RESUMES: (("resume",), ("load",), ("crash", "dispose", "withdraw", "unload_owner")),
        SessionsWindow.PUBLISHED_WHILE_LOADING: (("resume",), ("create",), ("load",)),
        SessionsWindow.ENDED_WHILE_LOADING: (("resume",), ("load",), ("withdraw", "unload_owner", "unload_provider")),
        SessionsWindow.REFUSED_FLUSH: (("create",), ("send", "inject")),
        SessionsWindow.STALE_RESUME: (("resume",), ("setup",), ("send", "inject")),
        SessionsWindow.ENDED_UNSAVED: (_ENDED, ("send", "inject"), ("flush",)),
        SessionsWindow.RELOAD_IN_TURN: (("reload",), ("send",), _TURN),
        SessionsWindow.CRASH_IN_TURN: (("crash",), ("send",), _TURN),
        SessionsWindow.CRASH_UNSAVED: (*_CRASH, ("flush",)),
        SessionsWindow.CRASH_WHILE_LOADING: (*_CRASH, ("resume",), ("load",)),
        SessionsWindow.OPEN_LOG: (*_CRASH, ("resume",)),
        SessionsWindow.TORN_LOG: (*_CRASH, ("resume",)),
    }
)

FIBERS: Final[Mapping[StrEnum, Needs]] = MappingProxyType(
    {
        FiberWindow.DISPOSE_WHILE_LOADING: (("unplug",), ("plug",)),
        FiberWindow.UNWANTED_BEFORE_BODY: (("unplug",), ("plug",)),
        FiberWindow.WITHDRAWN_FROM_LOADING: (("body",), ("unplug", "restart", "end_effect")),
        FiberWindow.FLAP_COLLAPSED: (("body",), ("provide",), ("end_effect",)),
        FiberWindow.RELOADED: (("disposer",), ("plug",)),
        FiberWindow.RESTART_WHILE_LOADING: (("restart",),),
        FiberWindow.UNLOAD_IN_SETUP: (("effect",), ("unplug", "restart")),
        FiberWindow.EFFECT_ENDED_IN_UNLOAD: (("end_effect",), ("unplug", "restart")),
        FiberWindow.DISPOSE_JOINED: (("unplug",),),
        FiberWindow.MEMBER_FAILED: (("disposer",),),
        FiberWindow.AGENT_IN_TREE: (("create",), ("send",), ("model", "tool", "flush")),
    }
)
"""The same of profile ``fibers``."""

TASKS: Final[Mapping[StrEnum, Needs]] = MappingProxyType(
    {
        TaskWindow.COMPLETION_IN_RELOAD_GAP: (("unload_tool",), ("launch_task", "start_task")),
        TaskWindow.KILL_AGAINST_COMPLETION: (("kill_task", "abort_task", "dispose_executor"), ("launch_task",)),
        TaskWindow.DISPOSAL_AGAINST_START: (("dispose_executor",), ("launch_task", "start_task")),
        TaskWindow.REUSED_ID_REACHES: (("start_task",), ("read_task", "kill_task"), ("create",)),
    }
)
"""The same of profile ``tasks``."""

BRIDGE: Final[Mapping[StrEnum, Needs]] = MappingProxyType(
    {
        BridgeWindow.CANCEL_BEFORE_TURN: (("prompt",), ("cancel_session",)),
        BridgeWindow.SECOND_PROMPT: (("prompt",),),
        BridgeWindow.PROMPT_IN_TURN: (("prompt",), ("send", "cancel_session"), ("model", "tool", "prepare")),
        BridgeWindow.LATE_TURN_END: (("prompt",), ("send", "cancel_session", "inject")),
        BridgeWindow.CLOSE_IN_NEW: (("new_session",), ("disconnect", "close_bridge")),
        BridgeWindow.NEW_AGAINST_CLOSE: (("new_session",), ("disconnect",), ("setup",)),
        BridgeWindow.LOAD_IN_LOAD: (("load_session", "resume_session"), ("load", "setup")),
        BridgeWindow.CALLED_OFF: (("call_off",), ("prompt", "new_session", "load_session", "close_session")),
        BridgeWindow.CLOSE_IN_PROMPT: (("prompt",), ("disconnect", "close_bridge")),
        BridgeWindow.CLOSE_IN_DISCONNECT: (("disconnect",), ("close_bridge",), ("flush", "tool", "model")),
        BridgeWindow.DISCONNECT_IN_CLOSE: (("disconnect",), ("close_bridge",), ("flush", "tool", "model")),
    }
)
"""The same of profile ``bridge``."""

SUBAGENTS: Final[Mapping[StrEnum, Needs]] = MappingProxyType(
    {
        SubagentWindow.CANCEL_BEFORE_TURN: (("start_run",), ("cancel_run", "abort_run")),
        SubagentWindow.FORK_IN_TURN: (("start_run",), ("send",), ("model", "tool", "prepare")),
        SubagentWindow.CANCEL_BEFORE_SESSION: (("start_run",), ("cancel_run", "abort_run")),
        SubagentWindow.CANCEL_IN_PROMPT: (("start_run",), ("cancel_run", "abort_run"), ("answer",)),
        SubagentWindow.TORN_AFTER_CANCEL: (("start_run",), ("cancel_run", "abort_run"), ("answer",)),
        SubagentWindow.DISPOSE_WHILE_RUNNING: (("start_run",), ("dispose_run",)),
        SubagentWindow.REMOVED_WHILE_RUNNING: (("start_run",), ("remove_provider",)),
    }
)
"""The same of profile ``subagents``."""

NEEDS: Final[Mapping[str, Mapping[StrEnum, Needs]]] = MappingProxyType(
    {"core": CORE, "sessions": SESSIONS, "fibers": FIBERS, "tasks": TASKS, "bridge": BRIDGE, "subagents": SUBAGENTS}
)
"""By profile, its windows and what it takes to reach each."""


WHERE: Final[Mapping[StrEnum, Choice]] = MappingProxyType(
    {
        Window.CANCEL_BEFORE_CLAIM: Wake.DEFERRED,
        Window.CANCEL_BETWEEN_TURNS: ClosingFlush.IN_TURN,
        Window.CANCEL_IN_CLOSING_FLUSH: ClosingFlush.IN_TURN,
        Window.DISPOSE_IN_HELD_FLUSH: ClosingFlush.IN_TURN,
    }
)
"""How an edition has to choose to have a window that not every one has."""


def possible(manifest: Manifest, profile: str = "core", edition: Edition = EDITION_2026_06) -> tuple[StrEnum, ...]:
    """Give the windows of a profile that an edition has and a backend claims enough for."""
    palette = Palette.of(manifest.unclaimed)
    # A setup comes to its gate only where a creation can have one, which the palette's gates take into account.
    names = palette.ops | palette.gates | palette.events | (palette.features - {"setup", "cleanup"})
    windows = {
        window: needs for window, needs in NEEDS[profile].items() if window not in WHERE or edition.has(WHERE[window])
    }
    return tuple(window for window in windows if all(names.intersection(needs) for needs in windows[window]))


def reached(
    marks: Counter[str], manifest: Manifest, profile: str = "core", edition: Edition = EDITION_2026_06
) -> Reached:
    """Give what the marks of a run say.

    :param marks: counts, under names as ``window:...``; see ``runner.marks``
    :param manifest: what the backend said of itself
    :param profile: whose windows are told
    :param edition: of the contract that it was held to
    """
    kinds: dict[str, dict[str, int]] = {kind: {} for kind in ("window", "hold", "react", "op", "void", "code")}
    for mark in sorted(marks):
        kind, _, name = mark.partition(":")
        kinds[kind][name] = marks[mark]
    done, void = kinds["op"], kinds["void"]
    return Reached(
        windows={window.value: kinds["window"].get(window, 0) for window in possible(manifest, profile, edition)},
        holds=kinds["hold"],
        reactions=kinds["react"],
        items={name: Share(done=done.get(name, 0), void=void.get(name, 0)) for name in sorted({*done, *void})},
        refusals=kinds["code"],
    )
