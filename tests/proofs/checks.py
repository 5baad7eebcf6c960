"""What is shown of the decisions of the model, for all values within the bounds that each check states.

Each check calls the model's own function, and gives the name of the branch that it came through: there is a witness for
each in ``test_proofs``, so none speaks of nothing.
"""

from __future__ import annotations

from probate_model import decisions, environment
from probate_model.alphabet.events import StopCause, TurnOutcome
from probate_model.tasks import fence
from probate_model.world import Stage, Teardown

# The fence.


def owner_check(owner: str | None, caller: str | None) -> str:
    """Whoever has the very token may, and anybody if nobody owns it. Two characters tell all sorts of tokens apart."""
    assert owner is None or len(owner) <= 2
    assert caller is None or len(caller) <= 2
    may = fence.may_access(owner, caller)
    if owner is None:
        assert may
        return "nobody's"
    if caller is None:
        assert not may
        return "no agent"
    if len(owner) == len(caller) and all(mine == theirs for mine, theirs in zip(owner, caller, strict=True)):
        assert may
        return "empty" if not owner else "same"
    assert not may
    return "another"


# The environment.


def folding(letter: str) -> str:
    """Only the letters of ASCII are folded."""
    assert len(letter) == 1
    folded = environment.folded(letter)
    if ord("a") <= ord(letter) <= ord("z"):
        assert ord(folded) + (ord("a") - ord("A")) == ord(letter)
        return "lower"
    assert folded == letter
    return "other"


def matching(name: str, word: str) -> str:
    """A name contains a word that is spelt out at some place in it, and no other."""
    assert len(name) <= 4
    assert 1 <= len(word) <= 2
    contains = environment.contains(name, word)
    spelt = any(name[place : place + len(word)] == word for place in range(4))
    assert contains == spelt
    return "contains" if contains else "lacks"


# The inbox.


def claiming(queued: list[tuple[bool, int]]) -> str:
    """A claim takes the oldest, and leaves the others in their order."""
    assert 1 <= len(queued) <= 3
    prompt, rest = decisions.claim(tuple(queued))
    assert [prompt, *rest] == queued
    return "last" if not rest else "more"


def requeueing(queued: list[int], steering: list[int]) -> str:
    """Steering that is left waits behind the prompts; nothing is lost, doubled or put before another."""
    assert len(queued) <= 2
    assert len(steering) <= 2
    after = decisions.requeue(tuple(queued), tuple(steering))
    assert list(after[: len(queued)]) == queued
    assert list(after[len(queued) :]) == steering
    return "something" if after else "nothing"


def cancelling(active: bool, parked: bool, pending: bool, spares: bool) -> str:
    """A cancel announces what it stops; it leaves a marker only where nobody runs who could see the signal."""
    assert isinstance(active, bool)
    does = decisions.cancel(active=active, parked=parked, pending=pending, spares=spares)
    assert not does.marks or (does.announces and does.sweeps and pending and not active and not parked)
    if active:
        assert does.announces
        assert not does.marks
        return "turn"
    if not pending:
        assert not does.announces
        assert not does.marks
        return "nothing"
    if parked and spares:
        assert does == (False, False, False)
        return "spared"
    assert does.announces
    assert does.sweeps
    assert does.marks == (not parked)
    return "parked" if parked else "queued"


# How a turn ends.


def precedence(due: TurnOutcome, fired: StopCause | None, disposed: bool) -> str:
    """Disposal wins over a cancel, a cancel over an error, an error over the want of tokens, whenever they came."""
    assert due in (TurnOutcome.ERROR, TurnOutcome.MAX_TOKENS, TurnOutcome.COMPLETED)
    ended = decisions.outcome(due, fired, disposed=disposed, first_wins=False)
    if disposed:
        assert ended is TurnOutcome.DISPOSED
        return "disposed"
    if fired is not None:
        assert ended is TurnOutcome.ABORTED
        return "cancelled"
    assert ended is due
    return due.value


def first_wins(due: TurnOutcome, fired: StopCause | None, disposed: bool) -> str:
    """Where the first cause wins, an error stays one, and a turn is as its signal was fired."""
    assert due in (TurnOutcome.ERROR, TurnOutcome.MAX_TOKENS, TurnOutcome.COMPLETED)
    ended = decisions.outcome(due, fired, disposed=disposed, first_wins=True)
    if due is TurnOutcome.ERROR:
        assert ended is due
        return "error"
    if fired is None:
        assert ended is due
        return "unstopped"
    if disposed and fired is StopCause.DISPOSED:
        assert ended is TurnOutcome.DISPOSED
        return "disposed"
    assert ended is TurnOutcome.ABORTED
    return "cancelled"


# The teardown.


def teardown_order(stage: Teardown, scope_last: bool, unwound: bool) -> str:
    """A teardown goes on by one stage, never back, and past none: stopped, detached, unwound, done.

    Only where the entries go last is there no stage of its own for that.
    """
    assert isinstance(stage, Teardown)
    after = decisions.teardown_after(stage, scope_last=scope_last, unwound=unwound)
    if stage in (Teardown.NONE, Teardown.DONE):
        assert after is stage
        return "rests"
    if stage is Teardown.SCOPE:
        assert after is (Teardown.DONE if unwound else Teardown.SCOPE)
        return "ends" if unwound else "unwinds"
    if stage is Teardown.STOPPED and not scope_last:
        assert after is Teardown.SCOPE
        return "unwinds first"
    assert after == stage + 1
    return "goes on"


def teardown_ends(stage: Teardown, scope_last: bool) -> str:
    """A teardown that was begun is done after four stages at the most, and comes to its scope after it was stopped."""
    assert stage is not Teardown.NONE
    come_to: list[Teardown] = [stage]
    for _ in range(4):
        come_to.append(decisions.teardown_after(come_to[-1], scope_last=scope_last, unwound=True))
    assert come_to == sorted(come_to)
    assert come_to[-1] is Teardown.DONE
    assert stage > Teardown.STOPPED or Teardown.SCOPE in come_to
    assert stage > Teardown.ASKED or Teardown.STOPPED in come_to
    return "ends"


def teardown_begins(stage: Stage, is_status: bool) -> str:
    """What is pending has no teardown; what is being published is asked first, where disposal is a status."""
    assert isinstance(stage, Stage)
    begun = decisions.teardown_begun(stage, is_status=is_status)
    if stage is Stage.LIVE:
        assert begun is Teardown.STOPPED
        return "live"
    if stage is Stage.PUBLISHING:
        assert begun is (Teardown.ASKED if is_status else Teardown.STOPPED)
        return "asked" if is_status else "stopped"
    assert begun is Teardown.NONE
    return "pending"


# The registries, as pairs of a label and an id.


def detaching(pairs: list[tuple[int, int]], label: int, name: int) -> str:
    """A detach removes the very entry and nothing else, also of those under the same id, and twice is once."""
    assert len(pairs) <= 3
    entry = (label, name)
    left = decisions.detach(tuple(pairs), entry)
    assert list(left) == [pair for pair in pairs if pair[0] != label or pair[1] != name]
    assert decisions.detach(left, entry) == left
    if len(left) < len(pairs):
        return "entered"
    return "replaced" if any(other == name for _, other in pairs) else "never entered"


def entering(pairs: list[tuple[int, int]], label: int, name: int) -> str:
    """An entry comes last, its id is taken from then on, and its detach leaves what was there before."""
    assert len(pairs) <= 2
    assert (label, name) not in pairs
    entries = decisions.enter(tuple(pairs), (label, name))
    assert entries[-1] == (label, name)
    assert decisions.holds(entries, name)
    assert decisions.detach(entries, (label, name)) == tuple(pairs)
    return "beside others" if pairs else "alone"


def holding(pairs: list[tuple[int, int]], name: int) -> str:
    """An id is taken exactly if some entry has it."""
    assert len(pairs) <= 3
    ids = [other for _, other in pairs]
    assert decisions.holds(pairs, name) == (name in ids)
    return "taken" if name in ids else "free"
