"""A worker ends with whoever has started it, even if what it works on never does."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from probate_conformance.crew import Link

HUNG_MILLISECONDS = 60_000

STARTER = """
import os, signal
from probate_conformance.crew import Crew
from probate_conformance.interrupts import Interrupt
from tests.conformance.test_crew import spin

if __name__ == "__main__":
    with Crew(1, spin, Interrupt()) as crew:
        (worker,) = crew.workers
        worker.message()
        print(worker.process.pid, flush=True)
        input()
        os.kill(os.getpid(), signal.SIGKILL)
"""


def spin(link: Link) -> None:
    """Work for ever."""
    link.say("begun")
    while True:
        pass


def test_a_worker_that_works_for_ever_ends_with_its_starter(tmp_path: Path) -> None:
    script = tmp_path / "starter.py"
    script.write_text(STARTER)
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(
        [sys.executable, str(script)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdin is not None
        assert starter.stdout is not None
        worker = os.pidfd_open(int(starter.stdout.readline()))
        starter.stdin.write("\n")
        starter.stdin.flush()
        poll = select.poll()
        poll.register(worker, select.POLLIN)
        gone = poll.poll(HUNG_MILLISECONDS)
        if not gone:
            signal.pidfd_send_signal(worker, signal.SIGKILL)
        os.close(worker)
    assert gone
