"""Asserting: one trace on one backend, as an assertion for tests of one's own.

    with ReferenceBackend() as backend:
        assert_conforms(backend, load(Path("case.json")))

Every call is a conversation of its own. A backend in another process keeps its process from call to call; the
reference begins a loop for each, which is less than a tenth of what a trace costs and leaves nothing behind.
"""

from __future__ import annotations

from functools import cache

from probate_conformance.backends.base import Backend
from probate_conformance.errors import Exit, ProbateError
from probate_conformance.lockstep import Examined, Verdict, examine
from probate_conformance.plan import apart
from probate_conformance.story import story
from probate_conformance.trace import Trace
from probate_conformance.view import view_of
from probate_model.clauses import CLAUSES
from probate_model.worlds import Divergence


class Diverged(AssertionError):
    """A backend did what no run of the model does. Its message is the clause and the story.

    Each clause has a subclass of its own: Hypothesis takes failures of one type at one place for the same bug, and
    would shrink a trace that breaks one clause into one that breaks another.

    :ivar clause: the clause that the backend broke
    :ivar trace: what was run; ``probate_conformance.trace.dump`` makes it a file that ``probate replay`` runs again
    :ivar examined: what it showed
    """

    def __init__(self, trace: Trace, examined: Examined, divergence: Divergence) -> None:
        clause = CLAUSES.get(divergence.clause)
        breaks = f"{divergence.clause}: {clause.sentence}" if clause else divergence.clause
        super().__init__(f"{breaks}\n{story(trace, examined)}")
        self.clause = divergence.clause
        self.trace = trace
        self.examined = examined


class Undecided(ProbateError):
    """A trace that neither passed nor failed. That is never success."""

    exit = Exit.INCONCLUSIVE


def assert_conforms(backend: Backend, trace: Trace) -> Examined:
    """Run a trace on a backend and insist that some run of the model explains all that it does.

    :param backend: the backend, entered if it needs that (one in another process does)
    :param trace: what to run
    :return: what it showed: how many items were carried out, and how often each clause was demanded
    :raises Diverged: an ``AssertionError``, if no run of the model explains it
    :raises Undecided: if too many runs of the model might
    :raises BackendBroke: if the backend broke, or was silent
    """
    __tracebackhide__ = True
    manifest = backend.manifest
    if manifest.bursts == "no":
        trace = trace.with_items(tuple(apart(trace.items)))
    examined = backend.converse(examine(trace, view_of(manifest)))
    if examined.divergence is not None:
        raise _diverged(examined.divergence.clause)(trace, examined, examined.divergence)
    if examined.broke is not None:
        raise examined.broke
    if examined.verdict is not Verdict.PASS:
        raise Undecided(f"neither passed nor failed: {examined.reason}", where=manifest.name)
    return examined


@cache
def _diverged(clause: str) -> type[Diverged]:
    return type(f"Diverged[{clause}]", (Diverged,), {"__module__": __name__})
