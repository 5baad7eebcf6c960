"""A small ACP agent that does one thing wrong: a program of its own, with nothing but the standard library.

``python agent.py BEHAVIOUR [WORD ...]``
"""

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

BEHAVIOUR, *WORDS = sys.argv[1:]
TRAPPING = "import signal,time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(300)"


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(request: dict[str, Any], result: object) -> None:
    say({"id": request["id"], "result": result})


def chunk(text: str, kind: str = "agent_message_chunk") -> None:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    say({"method": "session/update", "params": {"sessionId": "s", "update": update}})


def scatter() -> None:
    """Start one that left us, one that stays and traps TERM, and one that did both."""
    for leaves in (False, True):
        child = subprocess.Popen([sys.executable, "-c", TRAPPING], stdout=subprocess.PIPE, start_new_session=leaves)
        assert child.stdout is not None
        child.stdout.readline()


def die(step: str) -> None:
    if BEHAVIOUR == "dies" and [step] == WORDS:
        os._exit(3)


if BEHAVIOUR == "traps":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if BEHAVIOUR == "garbage":
    sys.stdout.write("Starting up ...\n")
    sys.stdout.flush()
    sys.stdout.buffer.write(b"\xff\xfe{}[]\n[[[\n7\n" * 1000)
    sys.stdout.flush()
die("start")
prompt: dict[str, Any] = {}
while True:
    line = sys.stdin.readline()
    if not line:
        if BEHAVIOUR in ("traps", "deaf"):
            time.sleep(300)
        break
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            die("initialize")
            answer(message, {"protocolVersion": 2 if BEHAVIOUR == "newer" else 1})
        case "session/new":
            die("new")
            if BEHAVIOUR == "scatters":
                scatter()
            answer(message, {"sessionId": 7 if BEHAVIOUR == "nameless" else "s"})
        case "session/prompt":
            prompt = message
            chunk("Working. ")
            die("prompt")
            if BEHAVIOUR == "environment":
                with open(WORDS[0], "w") as file:
                    json.dump(dict(os.environ), file)
            if BEHAVIOUR == "asks":
                options = [{"optionId": "a", "name": "x", "kind": "allow_once"}]
                asked = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options}
                say({"id": "q", "method": "session/request_permission", "params": asked})
                with open(WORDS[0], "w") as file:
                    json.dump([json.loads(sys.stdin.readline())["result"], dict(os.environ)], file)
            if BEHAVIOUR == "flood":
                while True:
                    chunk("x" * 100_000)
            if BEHAVIOUR in ("answers", "asks", "environment", "garbage"):
                chunk("Done.")
                answer(prompt, {"stopReason": WORDS[0] if BEHAVIOUR == "answers" and WORDS else "end_turn"})
            if BEHAVIOUR == "fails":
                say({"id": prompt["id"], "error": {"code": -32603, "message": "turn failed"}})
        case "session/cancel" if BEHAVIOUR == "cancels":
            answer(prompt, {"stopReason": "cancelled"})
        case "session/cancel" if BEHAVIOUR == "tears":
            os._exit(0)
