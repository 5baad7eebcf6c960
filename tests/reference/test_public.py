"""The public surface: documented, typed by name, and with one stop verb."""

import inspect

import probate_reference
import probate_reference.subagents
import probate_reference.tasks
import probate_reference.tools.bash
from probate_reference import Agent, Handle, Refusal

# The codes are what a program in another language matches on.
CODES = {
    "Aborted": "aborted",
    "AccessDenied": "access-denied",
    "DepthExceeded": "depth-exceeded",
    "Disposed": "disposed",
    "DuplicateProvider": "duplicate-provider",
    "ExecutorInactive": "executor-inactive",
    "IdExists": "id-exists",
    "Inactive": "inactive",
    "InvalidArguments": "invalid-arguments",
    "InvalidContent": "invalid-content",
    "InvalidRequest": "invalid-request",
    "InvalidTaskId": "invalid-task-id",
    "LifecycleDisposed": "lifecycle-disposed",
    "LogExists": "log-exists",
    "NoProvider": "no-provider",
    "NoPersistence": "no-persistence",
    "NotFound": "not-found",
    "NotInjected": "not-injected",
    "OwnerDisposed": "owner-disposed",
    "OwnerInactive": "owner-inactive",
    "ProviderInactive": "provider-inactive",
    "ServiceExists": "service-exists",
    "SessionLive": "session-live",
    "SpawnFailed": "spawn-failed",
    "UnknownTask": "unknown-task",
    "UnsupportedCapability": "unsupported-capability",
    "UnknownTool": "unknown-tool",
}


def test_every_public_name_exists_and_is_documented() -> None:
    for name in probate_reference.__all__:
        value = getattr(probate_reference, name)
        if not inspect.isclass(value):
            continue
        assert value.__doc__, name
        for member, attribute in vars(value).items():
            if not member.startswith("_") and (inspect.isfunction(attribute) or isinstance(attribute, property)):
                assert attribute.__doc__, f"{name}.{member}"


def test_an_agent_has_one_stop_verb_and_no_way_to_end() -> None:
    public = {name for name in dir(Agent) if not name.startswith("_")}
    assert public == {
        "cancel",
        "create",
        "id",
        "idle",
        "inject",
        "resume",
        "send",
        "session",
        "statistics",
        "status",
        "steer",
    }
    assert {name for name in dir(Handle) if not name.startswith("_")} == {"agent", "dispose"}


def test_every_refusal_has_its_code() -> None:
    assert {kind.__name__: kind.code for kind in Refusal.__subclasses__()} == CODES
