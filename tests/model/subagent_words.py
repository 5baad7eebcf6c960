"""The words of profile ``subagents``, as typed cases write them."""

from __future__ import annotations

from collections.abc import Sequence

from probate_model.alphabet.names import AgentRef, Label, Text
from probate_model.alphabet.subagents import (
    AbortRun,
    AddProvider,
    AwaitRun,
    CancelRun,
    ChildAsks,
    ChildEvent,
    ChildGone,
    ChildHears,
    ChildSays,
    ChildSpawned,
    Delegate,
    DisposeRun,
    Need,
    Option,
    PassGrace,
    RemoveProvider,
    RunEnded,
    RunProvider,
    RunSignal,
    RunStarted,
    RunStop,
    Saying,
    StartRun,
    SubagentEvent,
    SubagentOp,
)

RUN_VERBS = (
    "run", "delegate", "cancel_run", "abort_run", "await_run", "dispose_run", "add", "remove", "says", "asks", "grace",
)  # fmt: skip
"""All verbs of the profile."""


def run_op(verb: str, words: Sequence[str], label: str) -> SubagentOp:
    """Read an op from its words. A run is labelled by its first word, all else by the verb and the last word."""
    given = dict(word.split("=", 1) for word in words if "=" in word)
    plain = [word for word in words if "=" not in word]
    by = Label(given["by"]) if "by" in given else None
    signal = RunSignal(given.get("signal", "none"))
    call = Label(label or f"{verb}-{plain[-1]}")
    match verb, plain:
        case "run", [name, provider, text]:
            depth = int(given["depth"]) if "depth" in given else None
            need = Need(given.get("needs", "none"))
            return StartRun(Label(label or name), RunProvider(provider), Text(text), by, signal, depth, need)
        case "delegate", [name, provider, text] if by is not None:
            return Delegate(Label(label or name), RunProvider(provider), Text(text), by, signal)
        case "cancel_run", [run]:
            return CancelRun(call, Label(run))
        case "abort_run", [run]:
            return AbortRun(call, Label(run))
        case "await_run", [run]:
            return AwaitRun(call, Label(run))
        case "dispose_run", [run]:
            return DisposeRun(call, Label(run))
        case "add", [provider]:
            return AddProvider(call, RunProvider(provider))
        case "remove", [provider]:
            return RemoveProvider(call, RunProvider(provider))
        case "says", [run, says, text]:
            return ChildSays(call, Label(run), Saying(says), Text(text))
        case "asks", [run, *options]:
            return ChildAsks(Label(label or f"ask-{run}"), Label(run), tuple(map(Option, options)))
        case "grace", [run]:
            return PassGrace(call, Label(run))
        case _:
            raise ValueError(f"no item: {verb} {' '.join(words)}")


def run_line(event: SubagentEvent | ChildEvent) -> str:
    """Write an event as one line."""
    match event:
        case RunStarted(run, provider, parent, seeded):
            rest = f"{provider.value} parent={parent or ''} seeded={seeded}"
        case RunEnded(run, stop, output):
            rest = " ".join([stop.value, *output])
        case ChildSpawned(run, folder, environment):
            rest = " ".join([f"in={folder}", *environment])
        case ChildHears(run, what):
            rest = what
        case ChildGone(run):
            rest = ""
    return f"{event.event} {run} {rest}".strip()


def run_event(kind: str, name: str, words: Sequence[str]) -> SubagentEvent | ChildEvent:
    """Read an event from its words."""
    run = Label(name)
    match kind, words:
        case "subagent/start", [provider, parent, seeded]:
            ref = parent.partition("=")[2]
            number = int(seeded.partition("=")[2])
            return RunStarted(run, RunProvider(provider), AgentRef(ref) if ref else None, number)
        case "subagent/end", [stop, *output]:
            return RunEnded(run, RunStop(stop), tuple(map(Text, output)))
        case "child/spawned", [folder, *environment]:
            return ChildSpawned(run, folder.partition("=")[2], tuple(environment))
        case "child/hears", [what]:
            return ChildHears(run, what)
        case "child/gone", []:
            return ChildGone(run)
        case _:
            raise ValueError(f"no event: {kind} {name} {' '.join(words)}")
