"""What a process runs that stands for somebody's program: it decides nothing, and does as it is told.

It is started by its path, and imports nothing of ours. What it hears, the lines of its input, their end, and the
signal TERM, it passes on as it comes; what it is told to say it says, and acknowledges; and it goes when it is told to,
or when whoever tells it has gone.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn


def main(told_path: str, heard_path: str, said_path: str) -> NoReturn:
    """Do as one is told, for ever.

    :param told_path: the pipe from which come ``say WORDS`` and ``exit``
    :param heard_path: the pipe into which goes what is heard, after one line about ourselves
    :param said_path: the pipe into which goes a byte for everything that was said
    """
    heard, said = os.open(heard_path, os.O_WRONLY), os.open(said_path, os.O_WRONLY)
    signal.signal(signal.SIGTERM, lambda *_: os.write(heard, b"term\n"))
    found = Path("/proc/self/environ").read_bytes().decode().split("\0")
    os.write(heard, json.dumps([entry for entry in found if entry]).encode() + b"\n")
    told = os.open(told_path, os.O_RDONLY)
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(told, select.POLLIN)
    rests = {0: b"", told: b""}
    while True:
        for descriptor, _ in poll.poll():
            data = os.read(descriptor, 65536)
            *lines, rests[descriptor] = (rests[descriptor] + data).split(b"\n")
            if descriptor == 0:
                for line in lines:
                    os.write(heard, b"line " + line + b"\n")
                if not data:
                    os.write(heard, b"eof\n")
                    poll.unregister(0)
                continue
            for line in lines:
                word, _, words = line.partition(b" ")
                if word == b"exit":
                    os._exit(0)
                with suppress(BrokenPipeError):
                    os.write(1, words + b"\n")
                os.write(said, b".")
            if not data:
                os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
