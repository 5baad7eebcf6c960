"""Effects: siblings end side by side, the members of one in reverse, each completely before the next.

The last member of every effect of a fiber is called in the one stretch in which the unload begins. From there on each
effect is a chain of its own. A member that fails skips what is left of its chain and changes nothing else. The end of
an effect that still sets up begins when that has ended; a setup that fails is undone first and raises then.
"""

from __future__ import annotations

from probate_model.alphabet.editions import EffectDispose, FailingMember, Siblings
from probate_model.alphabet.events import Raised, Returned
from probate_model.alphabet.fibers import (
    AddEffect,
    DisposerCalled,
    DisposerEnded,
    DisposerOutcome,
    EffectSetup,
    EndEffect,
)
from probate_model.alphabet.gates import FAIL, THROW, GateKind
from probate_model.alphabet.names import Label, Tag
from probate_model.alphabet.refusals import Refusal, code, thrown
from probate_model.clauses import Demand, demand
from probate_model.fibers import services
from probate_model.fibers.access import (
    adopt,
    entered,
    find,
    find_effect,
    find_provision,
    get,
    is_open,
    put,
    put_effect,
    release,
)
from probate_model.fibers.state import Effect, Stage
from probate_model.run import Run
from probate_model.windows import FiberWindow

_REGISTERED = demand("EFFECT-01", outcome="EFFECT-01")
_WAVE = demand("EFFECT-02", edge="EFFECT-02", member="EFFECT-03")
_AFTER_ANOTHER = demand("EFFECT-09", edge="EFFECT-09", member="EFFECT-03")
_ISOLATED = demand("EFFECT-10", edge="EFFECT-03", member="EFFECT-03")
_NEXT = demand("EFFECT-03", edge="EFFECT-03", member="EFFECT-03")
_DESPITE = demand("EFFECT-05", edge="EFFECT-03", member="EFFECT-03")
_UNDONE = demand("EFFECT-06", edge="EFFECT-06", member="EFFECT-06")
_BY_ITSELF = {
    EffectDispose.JOINED: demand("EFFECT-07", member="EFFECT-03"),
    EffectDispose.SINGLE_SHOT: demand("EFFECT-11", member="EFFECT-03"),
}
_LATE = demand("EFFECT-08", edge="EFFECT-08", member="EFFECT-03")


def register(run: Run, op: AddEffect) -> bool:
    """Carry out the begin of the op: refuse, or register; a setup that takes time comes to its gate a step later."""
    fiber = find(run, op.fiber)
    if fiber is None:
        return False
    if not is_open(fiber):
        run.settled(op.label, Raised(code(Refusal.INACTIVE)), _REGISTERED)
        return True
    plain = op.setup is EffectSetup.PLAIN
    put_effect(run, Effect(op.label, op.fiber, op.members, Stage.SETTING_UP if plain else Stage.SET_UP))
    adopt(run, op.fiber, op.label)
    if not plain:
        run.settled(op.label, Returned(), _REGISTERED)
    return True


def end(run: Run, op: EndEffect) -> bool:
    """Carry out the begin of the op, for an effect or a service."""
    if not entered(run):
        return False
    provision = find_provision(run, op.effect)
    if provision is not None and not provision.own:
        services.end(run, op.effect, op.label)
        return True
    effect = find_effect(run, op.effect)
    if effect is None or effect.own:
        return False
    if effect.stage is Stage.ENDED:
        run.owe(op.label, Returned(), services.joined(run))
        return True
    if effect.asked and run.edition.effect_dispose is EffectDispose.SINGLE_SHOT:
        run.owe(op.label, Returned(), "EFFECT-11")
        return True
    if effect.asked and get(run, effect.fiber).phase:
        run.mark("window", FiberWindow.EFFECT_ENDED_IN_UNLOAD)
    late = effect.late or effect.stage is Stage.SETTING_UP
    effect = put_effect(run, effect._replace(asked=True, late=late, enders=(*effect.enders, op.label)))
    if effect.stage is Stage.SET_UP and not late:
        put_effect(run, effect._replace(stage=Stage.ENDING))
        _call(run, op.effect, _BY_ITSELF[run.edition.effect_dispose])
    return True


def begin_end(run: Run, label: Label) -> None:
    """End an effect with its fiber: call its last member now, or when its setup has ended."""
    effect = find_effect(run, label)
    if effect is None or effect.asked or effect.stage in (Stage.ENDING, Stage.ENDED):
        return
    if effect.stage is Stage.SETTING_UP:
        run.mark("window", FiberWindow.UNLOAD_IN_SETUP)
        put_effect(run, effect._replace(asked=True, late=True))
    else:
        put_effect(run, effect._replace(asked=True, stage=Stage.ENDING))
        _call(run, label, _WAVE if run.edition.siblings is Siblings.TOGETHER else _AFTER_ANOTHER)


def can_advance(effect: Effect) -> bool:
    """Tell whether an effect has something to do."""
    match effect.stage:
        case Stage.SETTING_UP:
            return effect.setup is None or effect.setup.over
        case Stage.SET_UP:
            return effect.asked
        case Stage.ENDING:
            return effect.wait is None or effect.wait.over
        case _:
            return False


def advance(run: Run, label: Label) -> None:
    """Go on with an effect to its next wait."""
    effect = find_effect(run, label)
    assert effect is not None
    match effect.stage:
        case Stage.SETTING_UP if effect.setup is None:
            put_effect(run, effect._replace(setup=run.arrive(GateKind.EFFECT, label)))
        case Stage.SETTING_UP:
            _set_up(run, effect)
        case Stage.SET_UP:
            put_effect(run, effect._replace(stage=Stage.ENDING))
            _call(run, label, _LATE)
        case _ if effect.wait is None:
            _call(run, label, _next(run, effect))
        case _:
            _ended(run, effect)


def _set_up(run: Run, effect: Effect) -> None:
    assert effect.setup is not None
    if effect.setup.outcome == THROW:
        put_effect(run, effect._replace(setup=None, failure=thrown(Tag("effect")), stage=Stage.ENDING))
        _call(run, effect.label, _UNDONE)
        return
    put_effect(run, effect._replace(setup=None, stage=Stage.SET_UP))
    run.owe(effect.label, Returned(), "EFFECT-01")


def _next(run: Run, effect: Effect) -> Demand:
    if effect.marred:
        return _ISOLATED
    if effect.failure is not None:
        return _UNDONE
    return _DESPITE if get(run, effect.fiber).marred else _NEXT


def _call(run: Run, label: Label, due: Demand) -> None:
    """Call the last member that is left; a member is called before it comes to the gate."""
    effect = find_effect(run, label)
    assert effect is not None
    run.emit(None, DisposerCalled(label, effect.left), due)
    wait = run.arrive(GateKind.DISPOSER, label)
    effect = find_effect(run, label)
    assert effect is not None
    put_effect(run, effect._replace(left=effect.left - 1, wait=wait))


def _ended(run: Run, effect: Effect) -> None:
    assert effect.wait is not None
    failed = effect.wait.outcome == FAIL
    outcome = DisposerOutcome.FAIL if failed else DisposerOutcome.OK
    run.emit(None, DisposerEnded(effect.label, effect.left + 1, outcome), _next(run, effect))
    current = find_effect(run, effect.label)
    assert current is not None
    skips = failed and run.edition.failing_member is FailingMember.SKIPS_REST
    if failed:
        put(run, get(run, effect.fiber)._replace(marred=True))
        if current.left and skips:
            run.silence_about("EFFECT-04", f"effect {effect.label}", "effect/dispose")
            run.mark("window", FiberWindow.MEMBER_FAILED)
    current = put_effect(run, current._replace(left=0 if skips else current.left, marred=failed, wait=None))
    if not current.left:
        _finish(run, current)


def _finish(run: Run, effect: Effect) -> None:
    put_effect(run, effect._replace(stage=Stage.ENDED, enders=()))
    release(run, effect.fiber, effect.label)
    for call in effect.enders:
        run.owe(call, Returned(), services.joined(run))
    if effect.failure is not None:
        run.owe(effect.label, Raised(effect.failure), "EFFECT-06")
