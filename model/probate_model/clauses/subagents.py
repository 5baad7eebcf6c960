"""The clauses of profile ``subagents``: runs, children in this process, children that are programs, and delegation."""

from __future__ import annotations

from functools import partial

from probate_model.alphabet.editions import CancelRequest
from probate_model.clauses.registry import EDGES, EXTRAS, Level, define

_clause = partial(define, profile="subagents")

# Runs.
_clause(
    "SUBAGENT-01",
    "A start returns the id of the run, which is fresh, and announces the run once before it returns.",
    "A child is never mistaken for its parent, nor for another run of the same parent.",
    "sheet K.1, K.3; decision 51",
    "subagent/start",
    "settled",
    needs=("start_run",),
)
_clause(
    "SUBAGENT-02",
    "Whose run it is, is said when the run is announced, beside its id.",
    "A fresh id says nothing of the lineage.",
    "S2; decision 51",
    "subagent/start",
    needs=("start_run",),
)
_clause(
    "SUBAGENT-03",
    "A start by the name of no provider is refused, and nothing exists.",
    "There is nobody who could make a child.",
    "sheet K.1",
    "settled",
    "subagent/start",
    needs=("start_run", "remove_provider"),
    codes=("no-provider",),
)
_clause(
    "SUBAGENT-04",
    "Providers of different names coexist; a name that is taken is refused.",
    "To replace a provider silently would send work elsewhere.",
    "sheet K.1",
    "settled",
    needs=("add_provider",),
    codes=("duplicate-provider",),
)
_clause(
    "SUBAGENT-05",
    "A request that needs what its provider can't do is refused before anything exists.",
    "A child that does not hold itself to what was asked is worse than none; a program can be held to nothing.",
    "sheet K.1; K16; decision 51",
    "settled",
    "subagent/start",
    "child/spawned",
    needs=("start_run",),
    codes=("unsupported-capability",),
)
_clause(
    "SUBAGENT-06",
    "The end of a run is announced once, when its result has settled.",
    "Whoever counts runs must come to zero.",
    "sheet K.1; N 17; T23",
    "subagent/end",
    needs=("start_run",),
)
_clause(
    "SUBAGENT-07",
    "The result of a run whose child fails, dies or never begins is an error, and is never raised.",
    "A child that is somebody else's program must not be able to break its parent.",
    "sheet K.2; K6; L20; M111",
    "settled",
    "subagent/end",
    needs=("await_run",),
)
_clause(
    "SUBAGENT-08",
    "The result settles once: whoever asks later is told the same.",
    "What was acted on must not change.",
    "sheet K.1; L20",
    "settled",
    needs=("await_run",),
)
_clause(
    "SUBAGENT-09",
    "A provider that is taken out frees its name, and the runs that it has begun go on.",
    "A plug-in is reloaded while its children work.",
    "sheet K.1; K15; decision 51",
    "settled",
    "child/hears",
    needs=("remove_provider",),
)
_clause(
    "SUBAGENT-10",
    "A dispose of a run returns when nothing of its child is left; whoever comes later joins it.",
    "What is let go too early is never looked for again.",
    "sheet K.2, K.3; K20",
    "settled",
    "agent/status",
    needs=("dispose_run",),
)

# Children in this process.
_clause(
    "INSIDE-01",
    "A child that would be deeper than its request allows is refused, and nothing exists.",
    "An agent that delegates to an agent that delegates must come to an end.",
    "sheet K.3; K23",
    "settled",
    "subagent/start",
    needs=("start_run",),
    codes=("depth-exceeded",),
)
_clause(
    "INSIDE-02",
    "A spawned child begins with nothing; a fork begins with the complete turns of its parent, without the open one.",
    "Half a turn is no conversation.",
    "sheet K.3; M113",
    "subagent/start",
    needs=("start_run",),
)
_clause(
    "INSIDE-03",
    "The output of a run is the last that its child has said itself, and nothing if it said nothing.",
    "The last words of the parent are no answer to what it has asked.",
    "sheet K.3; K22; M113",
    "subagent/end",
    needs=("start_run", "model"),
)
_clause(
    "INSIDE-04",
    "A run stops for the reason of the last turn of its child that a message has opened.",
    "Turns that others inject say nothing of the prompt.",
    "sheet K.3",
    "settled",
    "subagent/end",
    needs=("start_run", "await_run"),
)
_clause(
    "INSIDE-05",
    "To cancel a run is to cancel its child as its parent.",
    "The cause is in the log for good.",
    "sheet K.3; S1 2",
    "agent/cancel-requested",
    choice="cancel_requested",
    needs=("cancel_run",),
    under=(CancelRequest.ANNOUNCED,),
)
_clause(
    "INSIDE-06",
    "A run that is cancelled before its child has a turn is aborted, and no error.",
    "Nothing has failed.",
    "sheet K.3; K19; M114",
    "settled",
    "subagent/end",
    needs=("start_run", "cancel_run"),
)

# Children that are programs.
_clause(
    "CHILD-01",
    "A start by a provider of programs starts one program, before the run is announced.",
    "What there is to end is there from the begin.",
    "S2; sheet K.2; T23",
    "child/spawned",
    needs=("start_run",),
)
_clause(
    "CHILD-02",
    "A program inherits no variable whose name is that of a credential; what is configured for it wins.",
    "What a program can read, a model can be made to send away.",
    "S2; sheet K.2; K12; L21; M107; decision 47",
    "child/spawned",
    needs=("start_run",),
)
_clause(
    "CHILD-03",
    "A program works in the folder of its parent, and knows nothing else of it.",
    "It is somebody else's program.",
    "S2; sheet K.2; decision 51",
    "child/spawned",
    needs=("start_run", "create"),
)
_clause(
    "CHILD-04",
    "A program is asked to initialize, for a session, and then the prompt: each once, after the last was answered.",
    "This is the order of the protocol.",
    "S2; sheet K.2; T23",
    "child/hears",
    needs=("start_run",),
)
_clause(
    "CHILD-05",
    "A run whose signal has fired before is aborted without output, and its program is never driven.",
    "Nobody wants it any more.",
    "sheet K.2; K3; M117",
    "child/hears",
    "subagent/end",
    "settled",
    needs=("start_run", "signal"),
)
_clause(
    "CHILD-06",
    "A run that is cancelled before there is a session is aborted without output, and its program is never prompted.",
    "A prompt that nobody waits for would be worked on to its end.",
    "S2; sheet K.2; K4; T24",
    "child/hears",
    "subagent/end",
    "settled",
    needs=("start_run", "cancel_run", "new-session"),
)
_clause(
    "CHILD-07",
    "A run that is cancelled at its prompt tells its program so, once, and waits for what it answers.",
    "The program may have something to put in order.",
    "sheet K.2; K2, K14",
    "child/hears",
    "subagent/end",
    needs=("start_run", "cancel_run", "answer"),
)
_clause(
    "CHILD-08",
    "A run stops for the reason that its program gives, also after a cancel; an unknown reason is an error.",
    "Only the program knows whether it was done.",
    "S2; sheet K.2; M112",
    "settled",
    "subagent/end",
    needs=("start_run", "await_run", "answer"),
)
_clause(
    "CHILD-09",
    "A run that breaks off after it was cancelled is aborted, and no error.",
    "It has done what was asked of it.",
    "S2; sheet K.2; M106; T25",
    "settled",
    "subagent/end",
    needs=("start_run", "cancel_run"),
)
_clause(
    "CHILD-10",
    "The output of a program is the text of its messages, and nothing else that it says.",
    "Thoughts and calls of tools are no answer.",
    "S2; sheet K.2; K11; M109",
    "subagent/end",
    needs=("start_run", "child_says"),
)
_clause(
    "CHILD-11",
    "What a program has said is kept when the run is aborted or fails.",
    "Half an answer is better than none, as long as it is called one.",
    "sheet K.2; K6; M118; T25",
    "subagent/end",
    needs=("start_run", "child_says"),
)
_clause(
    "CHILD-12",
    "By default a question for permission is answered as cancelled.",
    "There is no person to ask.",
    "S2; sheet K.2; K8",
    "settled",
    needs=("child_asks",),
)
_clause(
    "CHILD-13",
    "Where it is configured, a question is answered with the first option that allows, and never with another.",
    "Whoever takes the first option may forbid for ever what was to be allowed.",
    "S2; sheet K.2; K10; M108",
    "settled",
    needs=("child_asks",),
)
_clause(
    "CHILD-14",
    "A program that can't be started is the error of its run, and harms nobody.",
    "A wrong word in a configuration must not end an agent.",
    "S2; sheet K.2; K7; M104",
    "settled",
    "subagent/end",
    needs=("start_run",),
)
_clause(
    "CHILD-15",
    "The program of a run that is disposed is told to go, and its going is waited for.",
    "A process that nobody waits for is an orphan.",
    "S2; sheet K.2; T23",
    "child/hears",
    "child/gone",
    "settled",
    needs=("dispose_run",),
)
_clause(
    "CHILD-16",
    "A program is told to go by the end of its input, after some time by TERM, and after some time by KILL.",
    "It may use each to do better, and none to stay.",
    "sheet K.2; K26",
    "child/hears",
    level=Level.SHOULD,
    needs=("dispose_run", "pass_grace"),
)

# Delegation.
_clause(
    "DELEGATE-01",
    "The tool that delegates disposes its run, whatever became of it, and returns then, with what the child has said.",
    "A call that fails must not leave a child behind.",
    "sheet K.4; K31; M116",
    "settled",
    "child/hears",
    "agent/status",
    needs=("delegate",),
)

# What is written first is heard first: an answer to a question does not overtake a cancel.
EDGES |= {"CHILD-12": "CHILD-07", "CHILD-13": "CHILD-07"}

EXTRAS |= {
    "subagent/start": "SUBAGENT-01",
    "subagent/end": "SUBAGENT-06",
    "child/spawned": "CHILD-01",
    "child/hears": "CHILD-04",
    "child/gone": "CHILD-15",
}
