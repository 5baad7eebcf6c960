"""``make bench``: all sections in one run, as tables and, on demand, as JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path

from bench.acp import acp
from bench.beside import beside
from bench.catching import catching
from bench.compiled import compiled
from bench.conversing import now
from bench.crashing import crashing
from bench.exploring import exploring
from bench.rates import rates
from bench.tasks import tasks
from bench.volume import volume

SECTIONS = {
    "crashes": crashing,
    "peer": rates,
    "compiled": compiled,
    "catch": catching,
    "coverage": volume,
    "dsh": beside,
    "acp": acp,
    "tasks": tasks,
    "explore": exploring,
}


def main() -> int:
    """Run the sections. Never fails for being slow; fails if what was to be timed was not done."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds: a look, not a measurement")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the raw figures to a file")
    parser.add_argument("--only", action="append", choices=SECTIONS, metavar="SECTION", help=", ".join(SECTIONS))
    arguments = parser.parse_args()
    machine = (
        f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}"
    )
    load = os.getloadavg()[0]
    quiet = "" if load <= 1 else ", which is not quiet"
    _say(f"{machine}; load {load:.1f}{quiet}{'; quick' if arguments.quick else ''}\n")
    began = now()
    sections = {}
    for name in arguments.only or SECTIONS:
        started = now()
        section = SECTIONS[name](quick=arguments.quick)
        sections[name] = section
        _say(f"{section.text()}\n  ({now() - started:.0f} s)\n")
    _say(f"all in {now() - began:.0f} s, load {os.getloadavg()[0]:.1f}")
    if arguments.json is not None:
        kept = {
            "machine": machine,
            "quick": arguments.quick,
            "load": load,
            "sections": {name: section.json() for name, section in sections.items()},
        }
        arguments.json.write_text(json.dumps(kept, indent=1) + "\n")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
