"""Run agents that are settled in order, on asyncio and on trio.

Who owns what while it lives, and that everything is closed in the right order and with nothing lost
when it ends. Start with :class:`Runtime`; an agent is asked for through an :class:`Owner` and comes
with a :class:`Handle`.

A prompt, its answer, and an orderly end::

    async def model(request: ModelRequest, signal: Signal) -> Reply:
        with signal.scope():
            return Reply(await ask_somebody(request.session.records))
        return Reply()  # the turn was aborted; what is returned is discarded

    async with Runtime(model) as runtime:
        handle = await runtime.owner("me").create("agent-1")
        handle.agent.send("hello")
        await handle.agent.idle()
        await handle.dispose()
"""

from __future__ import annotations

from .agent import Agent, AgentStatistics, Handle
from .calls import Call
from .creation import Creation
from .events import (
    AgentCreated,
    AgentDisposed,
    AgentError,
    AgentQueued,
    AgentStatus,
    CancelRequested,
    ErrorSource,
    Event,
    EventBus,
    Listener,
    LogAppended,
    SessionCreated,
    SessionDisposed,
    SessionFlush,
    SessionStart,
    StartSource,
    Status,
)
from .fibers import (
    Body,
    Disposer,
    Effect,
    EffectSetup,
    Fiber,
    FiberObserver,
    FiberState,
    FiberTree,
    FiberTreeStatistics,
    Provision,
    Reloader,
)
from .owners import Owner, Provider
from .persistence import (
    HomeLocked,
    HomeUnusable,
    JsonlStore,
    LogDamaged,
    LogTooNew,
    NotDurable,
    Persistence,
    SqliteStore,
    StorageError,
    Store,
    StoredLog,
    StoredSession,
)
from .records import (
    AssistantMessage,
    ContextMessage,
    Record,
    StepEnd,
    StepStart,
    ToolCalled,
    ToolOutcome,
    ToolResult,
    TurnEnd,
    TurnReason,
    TurnStart,
    TurnTrigger,
    UserMessage,
)
from .refusals import (
    Aborted,
    Disposed,
    IdExists,
    Inactive,
    InvalidContent,
    LifecycleDisposed,
    LogExists,
    NoPersistence,
    NotFound,
    NotInjected,
    OwnerDisposed,
    OwnerInactive,
    ProviderInactive,
    Refusal,
    ServiceExists,
    SessionLive,
    WouldDeadlock,
)
from .registry import AgentRegistry, AgentRegistryStatistics
from .reports import Report, log_report
from .runtime import Runtime, RuntimeStatistics
from .seams import (
    AgentScope,
    Cleanup,
    Flush,
    FlushRequest,
    FunctionTool,
    Model,
    ModelRequest,
    Prepare,
    Reply,
    Setup,
    StopReason,
    Tool,
    ToolCall,
    ToolContext,
)
from .session import Session, SessionStatistics, SessionStore, SessionStoreStatistics
from .signals import AbortCause, CancelCause, CreationSignal, Signal
from .toolbox import InvalidArguments, Toolbox, UnknownTool

__all__ = (
    "AbortCause",
    "Aborted",
    "Agent",
    "AgentCreated",
    "AgentDisposed",
    "AgentError",
    "AgentQueued",
    "AgentRegistry",
    "AgentRegistryStatistics",
    "AgentScope",
    "AgentStatistics",
    "AgentStatus",
    "AssistantMessage",
    "Body",
    "Call",
    "CancelCause",
    "CancelRequested",
    "Cleanup",
    "ContextMessage",
    "Creation",
    "CreationSignal",
    "Disposed",
    "Disposer",
    "Effect",
    "EffectSetup",
    "ErrorSource",
    "Event",
    "EventBus",
    "Fiber",
    "FiberObserver",
    "FiberState",
    "FiberTree",
    "FiberTreeStatistics",
    "Flush",
    "FlushRequest",
    "FunctionTool",
    "Handle",
    "HomeLocked",
    "HomeUnusable",
    "IdExists",
    "Inactive",
    "InvalidArguments",
    "InvalidContent",
    "JsonlStore",
    "LifecycleDisposed",
    "Listener",
    "LogAppended",
    "LogDamaged",
    "LogExists",
    "LogTooNew",
    "Model",
    "ModelRequest",
    "NoPersistence",
    "NotDurable",
    "NotFound",
    "NotInjected",
    "Owner",
    "OwnerDisposed",
    "OwnerInactive",
    "Persistence",
    "Prepare",
    "Provider",
    "ProviderInactive",
    "Provision",
    "Record",
    "Refusal",
    "Reloader",
    "Reply",
    "Report",
    "Runtime",
    "RuntimeStatistics",
    "ServiceExists",
    "Session",
    "SessionCreated",
    "SessionDisposed",
    "SessionFlush",
    "SessionLive",
    "SessionStart",
    "SessionStatistics",
    "SessionStore",
    "SessionStoreStatistics",
    "Setup",
    "Signal",
    "SqliteStore",
    "StartSource",
    "Status",
    "StepEnd",
    "StepStart",
    "StopReason",
    "StorageError",
    "Store",
    "StoredLog",
    "StoredSession",
    "Tool",
    "ToolCall",
    "ToolCalled",
    "ToolContext",
    "ToolOutcome",
    "ToolResult",
    "Toolbox",
    "TurnEnd",
    "TurnReason",
    "TurnStart",
    "TurnTrigger",
    "UnknownTool",
    "UserMessage",
    "WouldDeadlock",
    "log_report",
)
