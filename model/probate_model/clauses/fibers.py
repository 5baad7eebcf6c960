"""The clauses of profile ``fibers``: the plug-in tree, effects, services."""

from __future__ import annotations

from functools import partial

from probate_model.alphabet.editions import EffectDispose, FailingMember, Siblings
from probate_model.clauses.registry import EXTRAS, Level, define

_clause = partial(define, profile="fibers")

# Fibers.
_clause(
    "FIBER-01",
    "A body runs in a later step, and only while every service that its fiber declares has an active provider.",
    "Whoever plugs something in can still say more about it; and a body finds what it was promised.",
    "sheet H.2 1, 3",
    "fiber/body",
    needs=("plug",),
)
_clause(
    "FIBER-02",
    "A fiber that can be loaded is announced as loading there and then.",
    "A transition that has been decided is a fact.",
    "sheet H.2 1, 3",
    "fiber/state",
    needs=("plug",),
)
_clause(
    "FIBER-03",
    "A fiber is active when its body has returned, and not before.",
    "What depends on it would find it half set up.",
    "sheet H.2 1, 3",
    "fiber/state",
    needs=("plug",),
)
_clause(
    "FIBER-04",
    "A body that fails leaves its fiber failed, after all that it had set up is undone.",
    "Half a plug-in is worse than none.",
    "sheet H.2 3; H11",
    "fiber/state",
    needs=("plug", "body"),
)
_clause(
    "FIBER-05",
    "One transition runs at a time; what changes meanwhile counts at its end, and nothing does if all is as it was.",
    "A body that is torn down while it runs leaves anything behind; and a flap is no news.",
    "sheet H.2 2; M82",
    "fiber/state",
    needs=("body",),
)
_clause(
    "FIBER-06",
    "A fiber that is to unload is announced as unloading there and then, if it is in no transition.",
    "From here on it takes nothing on.",
    "sheet H.2 4, 11",
    "fiber/state",
    needs=("plug",),
)
_clause(
    "FIBER-07",
    "An unload has ended when all that belonged to the fiber has, and not before.",
    "Unloaded means gone.",
    "sheet H.2 4; L23",
    "fiber/state",
    needs=("plug",),
)
_clause(
    "FIBER-08",
    "Everybody who disposes a fiber returns after the one end of it.",
    "A second caller who returns early acts on what is still there.",
    "sheet H.2 9, 11; decision 48",
    "settled",
    needs=("unplug",),
)
_clause(
    "FIBER-09",
    "A fiber that unloads ends its children with it.",
    "Structured ownership: nothing outlives what it was plugged into.",
    "sheet H.2 11",
    "fiber/state",
    needs=("plug", "children"),
)
_clause(
    "FIBER-10",
    "A restart loads a fiber again, and returns when no transition is left; a disposed fiber refuses it.",
    "To restart is to be as new.",
    "sheet H.2 14",
    "settled",
    "fiber/state",
    needs=("restart",),
)
_clause(
    "FIBER-11",
    "An agent that was created through a fiber ends with it, in its own order, and the fiber's end waits for it.",
    "Torn apart into siblings, the agent would lose its session before its closing record is flushed.",
    "S1 2; sheet D1, D5, M56",
    "agent/status",
    "fiber/state",
    needs=("create", "plug"),
)
_clause(
    "FIBER-12",
    "A fiber takes a child on while it is pending, loading or active, and nobody disposes it.",
    "What a dying fiber took on would never be ended.",
    "sheet H.2 6",
    "settled",
    needs=("plug",),
)
# Effects.
_clause(
    "EFFECT-01",
    "A fiber takes an effect on while it is pending, loading or active, and nobody disposes it; else it is refused.",
    "What a dying fiber took on would never be undone.",
    "sheet H.2 6; H6",
    "settled",
    needs=("effect",),
)
_clause(
    "EFFECT-02",
    "The effects of a fiber that unloads begin to end in one go, the newest first, and then end side by side.",
    "What one of them waits for may be another.",
    "S1 2; sheet H.2 4; H1, T26",
    "effect/dispose",
    choice="siblings",
    under=(Siblings.TOGETHER,),
)
_clause(
    "EFFECT-03",
    "The members of one effect are undone in reverse, each completely before the next begins.",
    "This is the one place where an order can be relied on.",
    "S1 2; sheet H.2 5; H2, T26, L23",
    "effect/dispose",
    "effect/disposed",
)
_clause(
    "EFFECT-04",
    "A member that fails skips the rest of its own effect.",
    "What comes after it was promised that it had been done.",
    "sheet H.2 5; H3; decision 48",
    "effect/dispose",
    choice="failing_member",
    under=(FailingMember.SKIPS_REST,),
    needs=("disposer",),
)
_clause(
    "EFFECT-05",
    "A failing member changes nothing for other effects, nor for the unload, which completes.",
    "One careless plug-in must not wedge the others.",
    "sheet H.2 4; H3, M79",
    "effect/dispose",
    "fiber/state",
    needs=("disposer",),
)
_clause(
    "EFFECT-06",
    "A setup that fails is undone in reverse before its call raises.",
    "What it had set up belongs to nobody else.",
    "sheet H.2 7, 10; H7, M83",
    "settled",
    "effect/dispose",
    needs=("effect",),
)
_clause(
    "EFFECT-07",
    "Everybody who disposes an effect returns after the one end of it.",
    "As with a fiber, and with an agent.",
    "sheet H.2 9; H9; decision 48",
    "settled",
    choice="effect_dispose",
    under=(EffectDispose.JOINED,),
    needs=("end_effect",),
)
_clause(
    "EFFECT-08",
    "The end of an effect that still sets up waits for that, and then undoes all of it.",
    "A setup that is overtaken by its own end leaves what it adds later.",
    "sheet H.2 8; H10",
    "effect/dispose",
    needs=("effect",),
)
# What a backend may declare to do instead; it is held to that.
_clause(
    "EFFECT-09",
    "Where siblings are declared to end one by one: each begins, the newest first, when the one before has ended.",
    "Slow, and in an order that can be relied on.",
    "sheet H.2 4; decision 48",
    "effect/dispose",
    choice="siblings",
    under=(Siblings.ONE_BY_ONE,),
)
_clause(
    "EFFECT-10",
    "Where failures are declared to be isolated: a member that fails keeps no other from being undone.",
    "Nothing is left behind, and members must not rely on each other.",
    "sheet H.2 5; decision 48",
    "effect/dispose",
    choice="failing_member",
    under=(FailingMember.ISOLATED,),
    needs=("disposer",),
)
_clause(
    "EFFECT-11",
    "Where a disposer is declared to be single-shot: only the first caller waits for the end of an effect.",
    "Whoever else must wait has to ask the owner.",
    "sheet H.2 9; decision 48",
    "settled",
    choice="effect_dispose",
    under=(EffectDispose.SINGLE_SHOT,),
    needs=("end_effect",),
)
# Services.
_clause(
    "SERVICE-01",
    "A service is provided by one fiber at a time: a second one under its name is refused, and so is a dying fiber.",
    "Who gets which of the two would be left to chance.",
    "sheet H.2 12; H14",
    "settled",
    needs=("provide", "services"),
)
_clause(
    "SERVICE-02",
    "When a provider begins to end, every fiber that is loaded with its service begins to unload.",
    "A dependent never lives on with a provider that is gone.",
    "sheet H.2 12; T27",
    "fiber/state",
    needs=("plug", "services"),
)
_clause(
    "SERVICE-03",
    "The end of a provider, or of its service, waits until the dependents that it was told to have unloaded.",
    "They may still use it while they undo what they did.",
    "sheet H.2 12; T27, M81",
    "fiber/state",
    "settled",
    needs=("plug", "services"),
)
_clause(
    "SERVICE-04",
    "A fiber whose provider is replaced is loaded again, once, with the other one.",
    "What it was set up with is not there any more.",
    "sheet H.2 1, 2; H5, M82",
    "fiber/state",
    needs=("plug", "services"),
)
_clause(
    "SERVICE-05",
    "A fiber can use what it, or an ancestor, declares or provides, until its own unload has ended.",
    "Disposers use what bodies have used.",
    "sheet H.2 12, 13",
    "settled",
    needs=("use", "services"),
)
_clause(
    "SERVICE-06",
    "Looked up by its name, a service is what an active fiber provides at that very moment, or nothing.",
    "A foreign fiber has no declaration, and must still be able to ask.",
    "S1 3; sheet H.2 13; decision 49",
    "settled",
    needs=("use", "services"),
)
_clause(
    "SERVICE-07",
    "The name of a service is free from the moment its provider begins to end.",
    "A successor need not wait for slow dependents.",
    "sheet H.2 12; decision 49",
    "settled",
    needs=("provide", "services"),
)
_clause(
    "SERVICE-08",
    "A provider does not wait for a dependent whose own end waits for the provider.",
    "Nobody would ever end.",
    "sheet H.2 12, and ours",
    "fiber/state",
    level=Level.SHOULD,
    needs=("plug", "services"),
)

EXTRAS |= {
    "fiber/state": "FIBER-05",
    "fiber/body": "FIBER-01",
    "effect/dispose": "EFFECT-03",
    "effect/disposed": "EFFECT-03",
}
