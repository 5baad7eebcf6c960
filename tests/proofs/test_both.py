"""Model against reference, for the pure decisions that both make, each written for itself.

The values that tell anything apart are few, so all of them are tried: that is stronger than a search for a difference
that ends when its time is up.
"""

from __future__ import annotations

from itertools import product

from probate_model import decisions, environment
from probate_model.alphabet.events import StopCause, TurnOutcome
from probate_model.tasks import fence
from probate_reference import turns
from probate_reference.environment import CREDENTIAL_WORDS, child_environment, names_credential
from probate_reference.inbox import Inbox
from probate_reference.tools.bash import may_access

_TOKENS = (None, *("".join(letters) for length in range(3) for letters in product("ab", repeat=length)))


def test_the_fence() -> None:
    for owner, caller in product(_TOKENS, repeat=2):
        assert may_access(owner, caller) is fence.may_access(owner, caller), (owner, caller)


def test_the_words_of_the_environment() -> None:
    assert CREDENTIAL_WORDS == environment.WORDS


def test_the_environment_rule_folds_the_same_characters() -> None:
    for code in range(0x10000):
        name = f"K{chr(code)}Y"
        assert names_credential(name) is environment.is_credential(name), hex(code)


def test_the_environment_rule_finds_each_word_anywhere_and_no_word_cut_short() -> None:
    for word in environment.WORDS:
        for before, spelt, after in product(
            ("", "A_", "k"), (word, word.lower(), word[1:], word[:-1]), ("", "_B", "y")
        ):
            name = before + spelt + after
            assert names_credential(name) is environment.is_credential(name), name
            if len(spelt) == len(word):
                assert environment.is_credential(name)


def test_the_environment_of_a_child() -> None:
    ambient = {"PATH": "p", "API_KEY": "k"}
    for path, key, new in product(("absent", None, "x"), repeat=3):
        said = {"PATH": path, "API_KEY": key, "MY_TOKEN": new}
        overlay = {name: value for name, value in said.items() if value != "absent"}
        assert child_environment(ambient, overlay) == environment.child_environment(ambient, overlay)


class _Core:
    """What the reference asks of an agent to say how its turn ended."""

    def __init__(self, *, disposed: bool) -> None:
        self.disposed = lambda: disposed


class _Turn:
    """What it asks of the turn."""

    def __init__(self, *, stopped: bool, failed: bool, max_tokens: bool) -> None:
        self.stopped = lambda: stopped
        self.failure = ("step", "source", "failure") if failed else None
        self.max_tokens = max_tokens


def test_how_a_turn_ends() -> None:
    for disposed, stopped, failed, starved in product((False, True), repeat=4):
        due = TurnOutcome.ERROR if failed else TurnOutcome.MAX_TOKENS if starved else TurnOutcome.COMPLETED
        fired = StopCause.USER if stopped else None
        modelled = decisions.outcome(due, fired, disposed=disposed, first_wins=False)
        turn = _Turn(stopped=stopped, failed=failed, max_tokens=starved)
        made = turns._reason(_Core(disposed=disposed), turn)  # type: ignore[arg-type] # stands in for both
        assert made.value == modelled.value


def test_the_inbox() -> None:
    for queued, steering in product(range(4), range(3)):
        inbox = Inbox()
        prompts = tuple(f"q{number}" for number in range(queued))
        steered = tuple(f"s{number}" for number in range(steering))
        for prompt in prompts:
            inbox.queue(prompt)
        for text in steered:
            inbox.steer(text)
        inbox.requeue_steering()
        left = decisions.requeue(prompts, steered)
        while left:
            first, left = decisions.claim(left)
            assert inbox.claim() == first
        assert not inbox.pending()
