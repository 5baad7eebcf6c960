"""The clauses of profile ``tasks``: background tasks, the fence around them, and the notice of their end."""

from __future__ import annotations

from functools import partial

from probate_model.alphabet.editions import Fence
from probate_model.clauses.registry import EXTRAS, define

_clause = partial(define, profile="tasks")

# Tasks.
_clause(
    "TASK-01",
    "A start in the background returns at once with the name of a task, whatever becomes of the command.",
    "The caller has something else to do; how the command fares is told by the task.",
    "S1 3; sheet I.2",
    "settled",
    needs=("launch_task",),
)
_clause(
    "TASK-02",
    "Tasks are named in the order of their start; a start that is refused uses no name, and no name is used twice.",
    "An old name must never mean a new task.",
    "sheet I.1, I.2; I21",
    "settled",
    needs=("launch_task",),
)
_clause(
    "TASK-03",
    "A start whose signal has fired before is refused as aborted, and there is no task.",
    "Nobody wants it any more; a task that nobody wants is one that nobody ends.",
    "sheet I.2; I21",
    "settled",
    needs=("launch_task", "signal"),
    codes=("aborted",),
)
_clause(
    "TASK-04",
    "The end of a task is told to the listeners of the executor once, when its process is gone.",
    "Who hears it twice acts twice; who never hears it waits for ever.",
    "S1 3; sheet I.2; L17",
    "task/done",
)
_clause(
    "TASK-05",
    "A task tells how its process ended, by itself with a code or by a signal, whatever else happened to it.",
    "A command may trap the signal and still return what it has to say.",
    "sheet I.2; I24",
    "task/done",
)
_clause(
    "TASK-06",
    "A kill changes the status at once and tells whether the task was running.",
    "Whoever kills must know whether it was he who ended it.",
    "sheet I.2",
    "settled",
    needs=("kill_task",),
)
_clause(
    "TASK-07",
    "A task that was killed, was called off or could not be run ends as killed, any other as completed.",
    "The status says whether the work was done, the exit only how the process went.",
    "sheet I.2; I20, I22",
    "task/done",
)
_clause(
    "TASK-08",
    "A read gives all that was written since the last read, and nothing of it twice.",
    "A model that reads the same again takes it for news.",
    "sheet I.2; I25",
    "settled",
    needs=("read_task",),
)
_clause(
    "TASK-09",
    "A name that nobody knows is refused as an unknown task, not as somebody else's; the empty one as invalid.",
    "What does not exist belongs to nobody.",
    "sheet I.2; I9",
    "settled",
    needs=("read_task",),
    codes=("unknown-task", "invalid-task-id"),
)
_clause(
    "TASK-10",
    "Who waits for a task returns after its end was told, and never with a failure.",
    "Whoever goes on then finds all of it done.",
    "sheet I.2; T18",
    "settled",
    needs=("await_task",),
)
_clause(
    "TASK-11",
    "An executor that is disposed forgets every task at once, with its owner.",
    "Ownership ends with the executor, and so does all that it was for.",
    "S1 3; sheet I.2; L16",
    "settled",
    needs=("dispose_executor",),
)
_clause(
    "TASK-12",
    "What ends when the executor was disposed is told to no listener.",
    "They may be gone themselves; an end that was asked for is no news.",
    "sheet I.2; I17; L17",
    "task/done",
    needs=("dispose_executor",),
)
_clause(
    "TASK-13",
    "The disposal of the executor returns when every process is gone, for every caller.",
    "What outlives it is nobody's.",
    "S1 3; sheet I.2; I17",
    "settled",
    needs=("dispose_executor",),
)
_clause(
    "TASK-14",
    "A start at an executor that was disposed is refused as executor-inactive.",
    "Nobody would end it.",
    "sheet I.2",
    "settled",
    needs=("dispose_executor", "launch_task"),
    codes=("executor-inactive",),
)
_clause(
    "TASK-15",
    "Loading and unloading the tool touches no task; while it is away its calls are refused as unknown-tool.",
    "The tool is code that changes while the work goes on.",
    "S1 3; sheet I.2; I6",
    "settled",
    "task/done",
    needs=("unload_tool",),
    codes=("unknown-tool",),
)
_clause(
    "TASK-16",
    "The executor lists its tasks in the order of their start, with what each is doing, those that ended too.",
    "What has ended can still be read.",
    "sheet I.2",
    "settled",
    needs=("list_tasks",),
)

# The fence.
_clause(
    "FENCE-01",
    "A task that one agent owns can be neither read nor killed by another, and the attempt changes nothing.",
    "What a task writes, and that it runs, is its owner's business.",
    "S1 3; sheet I.2; I1",
    "settled",
    codes=("access-denied",),
)
_clause(
    "FENCE-02",
    "A task that nobody owns can be read and killed by all, and by nobody in particular.",
    "There is nobody to protect.",
    "S1 3; sheet I.2",
    "settled",
    needs=("launch_task",),
)
_clause(
    "FENCE-03",
    "Who is no agent reaches no task that has an owner.",
    "To have no name is not to have every name.",
    "S1 3; sheet I.2; I2",
    "settled",
    codes=("access-denied",),
)
_clause(
    "FENCE-04",
    "Loading the tool anew leaves every task whose it was.",
    "A tool that remembers the owners itself makes every old task nobody's, and open to all.",
    "S1 3; sheet I.2; I6; L16",
    "settled",
    needs=("unload_tool", "load_tool"),
    codes=("access-denied",),
)
_clause(
    "FENCE-05",
    "A task that has ended is still whose it was.",
    "What it wrote is no less private for being complete.",
    "S1 3; sheet I.2; I5; L16",
    "settled",
    codes=("access-denied",),
)
_clause(
    "FENCE-06",
    "The executor tells a task's owner as it was given, an empty one too, and none if there is none or no such task.",
    "It is the one way to ask; what the token means is not the executor's business.",
    "S1 3; sheet I.2; I8",
    "settled",
    needs=("owner_of_task",),
)
_clause(
    "FENCE-07",
    "An agent that has the id of a task's owner reaches the task, also one that was created later.",
    "The id names the conversation; who takes it up takes up its tasks.",
    "S1 Session owner tokens; sheet I4, N.13",
    "settled",
    choice="fence",
    under=(Fence.TOKEN,),
)
_clause(
    "FENCE-08",
    "Only the very agent that started a task reaches it, and no later one with its id.",
    "The new one never asked for what the old one left behind.",
    "sheet I.3",
    "settled",
    choice="fence",
    codes=("access-denied",),
    under=(Fence.EXACT_OWNER,),
)

# The notice.
_clause(
    "NOTICE-01",
    "When a task has ended, the live agent with its owner's id gets one notice as context, before the task is done.",
    "The owner wants to know, and is not to be woken for it.",
    "S1 3; sheet I.2; I10; T18",
    "log",
)
_clause(
    "NOTICE-02",
    "Nobody gets a notice of a task that nobody owns.",
    "There is nobody whose news it is.",
    "sheet I.2; I14",
    "log",
    needs=("launch_task",),
)
_clause(
    "NOTICE-03",
    "What ends while the tool is away is never told to its owner.",
    "The one offer fell into the gap; telling it late would tell it of a world that has moved on.",
    "S1 3; sheet I.2, N.14",
    "log",
    needs=("unload_tool",),
)
_clause(
    "NOTICE-04",
    "With no registry of agents to be found, no agent of that id, or one that is ending, there is no notice.",
    "The completion comes from the executor, which must not assume that there are agents.",
    "S1 3; sheet I.2; I12, I13",
    "log",
    needs=("set_registry",),
)
_clause(
    "NOTICE-05",
    "A notice that fails is contained, and the task is done all the same.",
    "Whoever waits for the task did not ask for the notice.",
    "sheet I.2; I12",
    "settled",
    needs=("set_registry", "await_task"),
)

EXTRAS |= {"task/done": "TASK-04"}
