"""The numbered cases of the contract, and those of them that the core alphabet can't say, each with the reason.

Both are typed by hand. Edition ``2026-06`` is generation {2} with the seeds on top, so what holds only in {1} is not
tested, and what holds only in {3} is tested in edition ``2026-08`` where the alphabet can say it; what no seed speaks
of is not in the alphabet (decision 2).
"""

from __future__ import annotations

CASES = {
    "A": (1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20, 21, 22, 24, 25, 26, 28, 29, 30, 32, 33, 34, 36, 37, 38,
          40, 41, 42, 44),
    "B": (1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 20, 21, 23, 24, 25, 27, 28, 29, 31, 32, 33, 35),
    "C": (2, 3, 4, 6, 7, 8, 10, 11, 12, 14, 15, 16, 18, 19, 20, 22, 23, 24, 26, 27, 28, 30, 31, 32),
    "D": (1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21),
    "E": (1, 2, 4, 5, 6, 8, 9, 10),
    "F": (1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 20, 21, 23, 24, 25, 27, 28, 29, 31, 32),
    "G": (2, 3, 4, 6, 7, 8, 10, 11, 12),
    "H": (1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21),
    "I": (1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20, 21, 22, 24, 25, 26, 28, 29, 30),
    "J": (1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 20, 21, 23, 24, 25, 27, 28, 29, 31, 32),
    "K": (2, 3, 4, 6, 7, 8, 10, 11, 12, 14, 15, 16, 18, 19, 20, 22, 23, 24, 26, 27, 28, 30, 31, 32),
}  # fmt: skip
"""The numbers of all cases, by chapter."""

EXCLUDED = {
    "A9": "holds in {1} only: a cancel with a free text as its reason",
    "A10": "holds in {1} only: a cancel with a free text as its reason",
    "A17": "the composition of a prefix is not in the alphabet (decision 2)",
    "A36": "the driver's own waiter slot is not observable: no op registers on it",
    "A37": "a cancel that keeps the inbox is not in the alphabet: no seed speaks of it",
    "A40": "that a queued message is removed is not in the alphabet: no seed speaks of it",
    "A44": "keepInbox is not in the alphabet: no seed speaks of it",
    "B8": "continuation listeners are not in the alphabet (decision 2)",
    "B9": "continuation and turn-stop listeners are not in the alphabet (decision 2)",
    "B19": "pre-commit vetoes are not in the alphabet (decision 2)",
    "B20": "pre-commit vetoes are not in the alphabet (decision 2)",
    "B25": "forks and seeds of a log are not in the alphabet of core",
    "B29": "prompt-submit is not in the alphabet (decision 2)",
    "B32": "maintenance, the agent's own work outside of turns, is not in the alphabet: no seed speaks of it",
    "B33": "hooks that rewrite what a step takes in are not in the alphabet (decision 2)",
    "B35": "request hooks are not in the alphabet (decision 2)",
    "C10": "scope-minting listeners are not in the alphabet (decision 2)",
    "C11": "scope-minting listeners are not in the alphabet (decision 2)",
    "C12": "scope-minting listeners are not in the alphabet (decision 2)",
    "C26": "holds in {1} only: an agent id of its own beside the session's",
    "C27": "services that a setup resolves are not in the alphabet of core",
    "C30": "seeds of a log are not in the alphabet of core",
    "E10": "an agent and its session share one id, so that the two can't differ",
    "F1": "a creation that finds its id taken is C6; a store without agents is not in the alphabet (decision 2)",
    "F3": "a detach by a creation listener is C16; a store without agents is not in the alphabet (decision 2)",
    "F4": "there is one session store; bare sessions are not in the alphabet (decision 2)",
    "F5": "that observers of an append are contained is tested with B17",
    "F7": "pre-commit vetoes are not in the alphabet (decision 2)",
    "F8": "data is never shared here: a text is a value, and metadata is copied, which is tested on the reference",
    "F9": "records are typed; that a text must be storable without loss is A34",
    "F11": "the store's own create is tested on the reference, for both stores",
    "F17": "a log is never damaged in the middle by a crash; how both stores refuse that is tested on the reference",
    "F20": "the store's own append is tested on the reference, for both stores",
    "F23": "working directories are not in the alphabet; metadata that differs is tested on the reference",
    "F28": "there is one flush gate for each agent; several listeners are tested on the reference",
    "F29": "bare sessions are not in the alphabet (decision 2); nothing flushes a session that has left the store",
    "F31": "holds in {3} only: write-behind",
    "F32": "holds in {3} only: a retirement that is tried again before the close; on the reference it is tested",
    **dict.fromkeys(
        ("G2", "G3", "G4", "G6", "G7", "G8", "G10", "G11", "G12"),
        "configured agents are not in the alphabet; tests/reference/configured has a test of this number",
    ),
    "H15": "what a loader takes from a module; how the reference reloads modules is tested there, with real files",
    "H17": "modules and their import are outside the model; it is tested on the reference, with real files",
    "H18": "holds in {3} only: a configuration that is edited",
    "H19": "holds in {3} only: a configuration that is edited",
    "H21": "scope-minting is not in the alphabet (decision 2); that every disposal shares one end is H9",
    "I24": "needs a timeout of a foreground run, and so the passing of time; it is tested on the reference",
    "I26": "holds in {3} only: the cleanup of an owner's jobs; that a same-id agent gets no notice there is tested",
    "I28": "holds in {3} only: waits for a job that can be aborted",
    "I29": "holds in {3} only: the preflight of a job; that a refused start uses no name is I21",
    "I30": "holds in {3} only: a producer's own cancel",
    "J23": "updates are not in the alphabet: a client here never rejects one; it is tested on the reference",
    "J27": "holds in {3} only: a prompt that is being admitted",
    "J29": "holds in {3} only: a turn that a hook has cancelled",
    "J32": "holds in {3} only: a hook before the step that rejects a prompt",
    "K18": "no result may reject (L20), so none does here; that one which does is an error is tested on the reference",
    "K27": "holds in {3} only: an error sink; that a failing report harms nobody is tested on the reference",
    "K28": "holds in {3} only: a start that fails after it was called; here it is the result that is an error",
    "K30": "holds in {3} only: a message without text; scripted models always say something",
    "K32": "holds in {3} only: reports and notices of children that can be continued",
}
"""The cases that no test carries, by id, with the reason."""
