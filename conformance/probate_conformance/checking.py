"""Checking: a run of many traces against one backend.

Traces are generated, run and judged one after the other. The first confirmed failure of each clause is shrunk, to the
smallest trace that fails by that clause, and becomes a case.

Running a trace and making something of it are two things: ``runner`` and ``tally``. Here both are done in turn;
``spreading`` has many runners.

All of it is one conversation, so it runs wherever the backend lives.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from probate_conformance import garbage
from probate_conformance.manifest import Manifest
from probate_conformance.plan import Plan
from probate_conformance.runner import Runner
from probate_conformance.tally import Checked, Tally
from probate_conformance.wire import Command, Reply

Progress = Callable[[Checked], None]
Stop = Callable[[], str | None]
"""Tells why to end early; none to go on."""


def _silent(checked: Checked) -> None:
    del checked


def _never() -> None:
    return None


def check(
    manifest: Manifest,
    plan: Plan,
    progress: Progress = _silent,
    *,
    name: str | None = None,
    stop: Stop = _never,
    checked: Checked | None = None,
) -> Generator[Command, Reply, Checked]:
    """Run a plan. A conversation; gives what it showed.

    :param manifest: what the backend said of itself
    :param progress: called after every trace, and after every candidate of shrinking
    :param name: the name that cases call the backend by; that of its manifest if none is given
    :param stop: asked between traces why to end early
    :param checked: what the results are written into, for a caller who must have them even if the backend raises
    """
    checked = checked or Checked()
    checked.manifest, checked.planned = manifest, plan.runs
    runner, tally = Runner(manifest, plan, name or manifest.name), Tally(plan, checked)

    def go_on() -> bool:
        progress(checked)
        return stop() is None

    with garbage.seldom_looked_for():
        while not tally.ended(stop()):
            ran = yield from runner.run(checked.traces, tally.reading)
            for case in tally.add(ran):
                checked.shrinking = case.clause
                checked.replace((yield from runner.shrink(case, go_on)))
                checked.shrinking = None
            progress(checked)
    return checked
