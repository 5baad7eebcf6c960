"""The chapters of the page: which clauses, why they are there, and which traces show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from probate_conformance.docs import traces
from probate_conformance.docs.traces import Shown


@dataclass(frozen=True, slots=True)
class Chapter:
    """One chapter; its clauses are those of its groups, and the groups are what ids begin with."""

    title: str
    groups: tuple[str, ...]
    why: str
    pictures: tuple[Shown, ...] = ()


CHAPTERS: Final = (
    Chapter(
        "Calls",
        ("CALL",),
        "Some calls are synchronous: when `send` returns, the prompt has been accepted and announced, and when "
        "`cancel` returns, what it stops has been told. Others begin in the call and end later. Of either sort, each "
        "call settles once: it returns or it raises, and nobody is left waiting.",
    ),
    Chapter(
        "Creation",
        ("CREATE",),
        "Creating an agent takes time, and until it is complete four parties may end it: its own signal, its owner, "
        "the agent on whose behalf it is made, and the provider that makes it. So a creation is a transaction. It "
        "prepares in private, the first cause to end it is the one that is raised, and a caller who sees the failure "
        "finds nothing left of the attempt.",
        (traces.CREATE, traces.RACE),
    ),
    Chapter(
        "Publication",
        ("PUBLISH", "EVENT"),
        "Publication turns the private agent into a live one, in one stretch: both entries, then three announcements. "
        "Any listener may answer an announcement by ending what it announces. What was announced is then announced as "
        "ended, and nothing else is, so that whoever counts comes out even.",
        (traces.VETO, traces.ENDED_WITHIN),
    ),
    Chapter(
        "Inbox",
        ("INBOX",),
        "Input is accepted now and taken up later, and the gap between the two is where most races live. Two queues "
        "keep them apart: prompts wait for a turn of their own, steering joins the turn that runs. What was accepted "
        "is announced, and what can't be accepted raises.",
        (traces.TWO_PROMPTS, traces.STEERING),
    ),
    Chapter(
        "Cancel",
        ("CANCEL",),
        "There is one verb to stop work, it is safe at any time, and it stops what is there *now*: the queue and the "
        "turn that runs. It must never stop what comes after it, which is what a flag that is left behind does. The "
        "order is the contract: announce, clear the queues, fire the signal.",
        (traces.CANCEL_EARLY, traces.CANCEL_STEP, traces.CANCEL_IDLE),
    ),
    Chapter(
        "Turns",
        ("TURN",),
        "A turn is what the log is made of: one prompt, some steps, an end that says how it ended. Whatever happens "
        "in between, a failure or a stop, the records are balanced, because the log is what the next request, and the "
        "next process, is built from. One failure ends one turn.",
        (traces.ERROR,),
    ),
    Chapter(
        "Tools",
        ("TOOL",),
        "A model that has asked for a tool expects a result. A log with a call and no result can't be continued, so "
        "every call of an answer gets one, also those that never began.",
        (traces.TOOLS, traces.TOOLS_CUT),
    ),
    Chapter(
        "Injection",
        ("INJECT",),
        "Context can be put into the log without asking for an answer. Where it goes is decided by the log: into the "
        "turn that is open, or into a turn of its own, since a record outside of any turn would be cut off when the "
        "log is read again.",
        (traces.INJECT_IDLE, traces.INJECT_BATCH),
    ),
    Chapter(
        "Flush and idle",
        ("FLUSH", "IDLE"),
        "Idle is a promise: nothing runs, nothing is queued, and what happened has been handed to whoever keeps it. So "
        "the closing flush is part of the turn, and a waiter comes back when the promise holds, however the work "
        "ended.",
        (traces.FLUSH,),
    ),
    Chapter(
        "Disposal",
        ("DISPOSE",),
        "Whoever ends an agent, and however many do at once, there is one teardown and all of them join it. It stops "
        "the driver, waits for the turn and every flush to close, removes the agent's entry and then the session's, "
        "and unwinds the scope last. The order is what keeps the closing record from being lost and the id from being "
        "blocked.",
        (traces.DISPOSE,),
    ),
    Chapter(
        "Owners",
        ("OWNER",),
        "Ownership is structural: an agent has an owner (or a parent agent) and a provider, and ends with whichever "
        "ends first. Nobody has to remember to clean up, and nobody can forget.",
        (traces.UNLOAD, traces.CHILD),
    ),
    Chapter(
        "Registries",
        ("REGISTRY",),
        "Two registries say what is live: one of agents, one of sessions. An entry belongs to the very agent that made "
        "it, and not to whoever has that id now. That is what makes an id safe to use again.",
        (traces.REUSE,),
    ),
    Chapter(
        "Resuming",
        ("RESUME",),
        "A resume is a creation that begins with a stored log. It loads in private, and while it does anything may "
        "happen: its owner may end, and the id may be published by somebody else. Then the agent goes on where the log "
        "ends, with the next seq and the next turn, and nothing of it is logged again. (Profile `sessions`, as the next"
        " chapter.)",
    ),
    Chapter(
        "What is stored",
        ("STORE",),
        "A live session is the authority over its records; its log is a prefix of them that grows with each flush, and "
        "nobody else writes it. What a flush has acknowledged outlives the process, however that ends. What a crash has"
        " left open is closed when the log is loaded, by appending, and never before.",
    ),
    Chapter(
        "Plug-ins",
        ("FIBER",),
        "A runtime is put together from plug-ins, each in a fiber of its own: loaded while what it needs is there, "
        "unloaded when that goes, and ended with what it was plugged into. One transition runs at a time, whatever "
        "happens meanwhile. (Profile `fibers`, as the next two chapters.)",
    ),
    Chapter(
        "Effects",
        ("EFFECT",),
        "What a plug-in sets up has to be taken down, and there are two ways to put that together. Effects of a fiber "
        "end side by side. Members of one effect end in reverse, each completely before the next: the one order that "
        "can be relied on, and the reason why an agent and its session are members of one effect.",
    ),
    Chapter(
        "Services",
        ("SERVICE",),
        "A service is what one fiber offers to all others. Whoever declares it lives with it: bound to a provider from "
        "load to unload, reloaded when another one takes its place, and never left with one that is gone.",
    ),
    Chapter(
        "Background tasks",
        ("TASK",),
        "An agent can start a command and do something else meanwhile. The executor runs it and remembers it; the tool "
        "that an agent calls comes and goes without touching it. A task ends once, is told once, and is never left "
        "behind: not by a kill, and not by the end of the executor. (Profile `tasks`, as the next two chapters.)",
    ),
    Chapter(
        "The fence",
        ("FENCE",),
        "A task belongs to whoever started it. The owner is a token that is kept with the task, told by one question, "
        "and compared for equality by the tool, which remembers nothing: so a tool that is loaded anew lets in nobody "
        "whom the old one kept out.",
    ),
    Chapter(
        "Notices",
        ("NOTICE",),
        "The owner is told when a task has ended, once, as context that wakes nobody. It is looked for by its id at "
        "that moment; if it can't be found, or nobody is there to look, the news is dropped and never told later.",
    ),
    Chapter(
        "The bridge",
        ("BRIDGE",),
        "A client of the Agent Client Protocol holds sessions, each an agent, and prompts them one at a time. A prompt "
        "is answered once: by its own turn, by a cancel, or by the end of the connection, whatever the model does. A "
        "client that goes away leaves nothing behind. (Profile `bridge`.)",
    ),
    Chapter(
        "Runs of subagents",
        ("SUBAGENT",),
        "An agent has work done by another one, which a named provider makes. What the request needs is checked before "
        "anything exists. A run has one start, one end, and one result, which is never raised; whoever began it "
        "disposes it. (Profile `subagents`.)",
    ),
    Chapter(
        "Children in this process",
        ("INSIDE",),
        "A child is an agent that its parent owns: a fresh one, or a fork of the parent's complete turns. What "
        "counts is what it says itself.",
    ),
    Chapter(
        "Children that are programs",
        ("CHILD",),
        "A child may be any program that speaks the Agent Client Protocol. It is given a folder, a prompt and an "
        "environment without credentials, and nothing else; what it does can break its run, but not its parent.",
    ),
    Chapter(
        "Delegation",
        ("DELEGATE",),
        "A model has work done as a tool call like any other, and no path leaves the child behind.",
    ),
)

REST: Final = Chapter("More", (), "Clauses that belong to none of the chapters above.")
"""Takes the clauses of groups that no chapter names, so that none is ever left out."""
