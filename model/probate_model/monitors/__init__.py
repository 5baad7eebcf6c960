"""Monitors: the invariants of the contract, asked of what was seen.

A world holds no history, so a question about the past is asked here: of a recording, which is the events in order and
the items that were carried out. Each monitor yields one sentence for each breach that it finds, and nothing if the
invariant holds. The numbers are those of the fact sheet's list; ``invariants`` asks the same of worlds.

Monitors know no rules. They would find a breach in the model as well as in a backend, and that is what they are for: a
wrong rule is followed by a backend that agrees with it, and no comparison of the two would notice.
"""

from __future__ import annotations

from typing import Final

from probate_model.monitors.comparing import l5_idle_cancel, l22_contained
from probate_model.monitors.effects import l23_effects
from probate_model.monitors.lifecycles import (
    l6_announced_cancel,
    l7_one_driver,
    l8_status,
    l9_ends,
    l9_pairs,
    l10_registries,
    l11_one_entry,
    l12_no_zombie,
    l24_waiters_return,
    l25_disposers_return,
    l27_unloads_return,
    l28_ids_come_free,
)
from probate_model.monitors.logs import l1_balanced_log, l2_turn_numbers, l3_one_fate, l4_fifo, l26_prompts_run
from probate_model.monitors.recording import Call, Monitor, Recording

__all__ = (
    "AT_THE_END",
    "MONITORS",
    "Call",
    "Monitor",
    "Recording",
    "l1_balanced_log",
    "l2_turn_numbers",
    "l3_one_fate",
    "l4_fifo",
    "l5_idle_cancel",
    "l6_announced_cancel",
    "l7_one_driver",
    "l8_status",
    "l9_ends",
    "l9_pairs",
    "l10_registries",
    "l11_one_entry",
    "l12_no_zombie",
    "l22_contained",
    "l23_effects",
    "l24_waiters_return",
    "l25_disposers_return",
    "l26_prompts_run",
    "l27_unloads_return",
    "l28_ids_come_free",
)

MONITORS: Final[tuple[Monitor, ...]] = (
    l1_balanced_log,
    l2_turn_numbers,
    l3_one_fate,
    l4_fifo,
    l6_announced_cancel,
    l7_one_driver,
    l8_status,
    l9_pairs,
    l10_registries,
    l11_one_entry,
    l12_no_zombie,
    l23_effects,
    l28_ids_come_free,
)
"""What holds of any recording, finished or not."""

AT_THE_END: Final[tuple[Monitor, ...]] = (l9_ends, l24_waiters_return, l25_disposers_return)
"""What holds of a recording that ends after the epilogue."""
