"""The clauses of profile ``sessions``: resume, and what is durable."""

from __future__ import annotations

from functools import partial

from probate_model.alphabet.editions import ClosingFlush
from probate_model.alphabet.names import Tag
from probate_model.alphabet.refusals import Refusal, thrown
from probate_model.clauses.core import FAILURES
from probate_model.clauses.registry import EDGES, define

# Without a flush at the end of a turn there is no moment at which a log is promised to be stored.
_clause = partial(define, profile="sessions", choice="closing_flush", under=(ClosingFlush.IN_TURN,))

# Resume.
_clause(
    "RESUME-01",
    "A resume that nothing ended returns its agent, after load, setup and publication.",
    "It is a creation, and its caller owns the agent just so.",
    "S1 2; sheet C.2, O T16",
    "settled",
    needs=("resume",),
)
_clause(
    "RESUME-02",
    "A resume where no logs are kept is refused as no-persistence.",
    "To answer not-found would say that the log is lost.",
    "sheet C.2",
    "settled",
    needs=("resume", "crash"),
    codes=("no-persistence",),
)
_clause(
    "RESUME-03",
    "A resume of an id that has no log raises not-found.",
    "An empty agent under the id would hide that its history is gone.",
    "sheet F.3",
    "settled",
    needs=("resume",),
    codes=("not-found",),
)
_clause(
    "RESUME-04",
    "A resume whose load throws raises exactly what was thrown.",
    "A store that failed is no reason to call a log absent, nor to begin without it.",
    "sheet C.2, G.2",
    "settled",
    needs=("resume", "load"),
    codes=("thrown:*",),
)
_clause(
    "RESUME-05",
    "The first record after a resume has the seq that follows the stored ones.",
    "Two records with one seq make a log that nobody can read.",
    "S2; sheet C28, L14",
    "log",
    needs=("resume",),
)
_clause(
    "RESUME-06",
    "The first turn after a resume has the number that follows the stored ones.",
    "Turn numbers count along the log, across all lives of the agent.",
    "sheet C28, L2",
    "log",
    needs=("resume",),
)
_clause(
    "RESUME-07",
    "A resume logs nothing: what is loaded is not appended again.",
    "Every record happened once.",
    "sheet C.2, O T16",
    "log",
    needs=("resume",),
)
_clause(
    "RESUME-08",
    "A resume whose id was published while it loaded is announced nowhere, and raises id-exists.",
    "The id was free when it began, and loading takes time.",
    "S1 Session owner tokens; sheet C.2",
    "session/created",
    "settled",
    needs=("resume", "load"),
)
_clause(
    "RESUME-09",
    "A resume that is ended while it loads raises why, and does not wait for the load.",
    "A load may never return, and whoever unloads must not wait for that.",
    "sheet C23, C24, L27",
    "settled",
    needs=("resume", "load"),
)
_clause(
    "RESUME-10",
    "agent/session-start of a resumed agent says resume.",
    "Whoever greets a new session must not greet an old one.",
    "sheet C.2, O T16",
    "agent/session-start",
    needs=("resume",),
)

# What is stored.
_clause(
    "STORE-01",
    "What a flush has acknowledged is stored, all that was logged when it began.",
    "That is the meaning of a flush.",
    "S1 2; sheet F.3, L13, L14",
    "settled",
    needs=("stored",),
)
_clause(
    "STORE-02",
    "What a flush could not make safe is written by the next one that can.",
    "A disk that is full for a moment must not cost a turn.",
    "sheet F.3",
    "settled",
    needs=("stored", "flush"),
)
_clause(
    "STORE-03",
    "When an agent has ended, all that it logged is stored, its last turn/end too, whatever became of its flushes.",
    "The closing record is what tells an end from a crash.",
    "S1 2 Teardown order; sheet D2, F25",
    "settled",
    needs=("stored",),
)
_clause(
    "STORE-04",
    "A flush of a session whose id has a log of another life fails, as agent/error of source flush at step 0.",
    "The agent can live without its log; nobody may be told that it is kept.",
    "sheet F.3, F12",
    "agent/error",
)
_clause(
    "STORE-05",
    "A log is never made again, nor written by a session that it is not the log of.",
    "A history that is overwritten is gone.",
    "sheet F11, F12, L15",
    "settled",
    needs=("stored",),
)
_clause(
    "STORE-06",
    "A session that logged nothing that was flushed leaves no log.",
    "An empty log would refuse the next session of its id.",
    "sheet F.1, F.3",
    "settled",
    needs=("stored",),
    codes=("not-found",),
)
_clause(
    "STORE-07",
    "After a crash a log holds all that was acknowledged, and of what was not, no more than was logged.",
    "It is the promise that durable means.",
    "sheet L14, F.3",
    "settled",
    needs=("stored", "crash"),
)
_clause(
    "STORE-08",
    "A load closes what a crash has left open, durably and only by appending: calls, step, turn.",
    "The next turn must not begin inside the last, and what happened is never dropped.",
    "sheet F.3, F13, F15",
    "settled",
    needs=("stored", "resume", "crash"),
)
_clause(
    "STORE-09",
    "A torn last line is dropped, and everything before it is kept.",
    "It was never acknowledged; what stands before it may have been.",
    "sheet F16",
    "settled",
    needs=("stored", "crash"),
)
_clause(
    "STORE-10",
    "A reload of the store in a turn writes what was logged of it, and does not close it.",
    "The live session is the authority: the turn goes on.",
    "sheet F.3, F21",
    "settled",
    needs=("stored", "reload"),
)
_clause(
    "STORE-11",
    "A reload of the store writes all that live sessions have logged.",
    "Nothing may be left behind in what is being closed.",
    "sheet F25",
    "settled",
    needs=("stored", "reload"),
)
_clause(
    "STORE-12",
    "A reload of the store returns.",
    "Whoever reloads waits for it.",
    "sheet F25",
    "settled",
    needs=("reload",),
)

FAILURES |= {Refusal.NOT_FOUND: "RESUME-03", thrown(Tag("load")): "RESUME-04"}

EDGES |= {"RESUME-03": "CREATE-13", "RESUME-04": "CREATE-13", "RESUME-09": "CREATE-13"}
