"""``python -m probate_reference``: what ``probate acp`` and ``probate run`` hand over to.

``acp [CONFIG]`` serves agents to an editor over ACP; ``run CONFIG`` lets a person talk to configured agents.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from probate_reference.acp.config import Config, ConfigError, read_config
from probate_reference.acp.serving import serve_standard_streams
from probate_reference.last_resort import STATED_SECONDS
from probate_reference.persistence import StorageError
from probate_reference.standard_output import OutputError
from probate_reference.terminal.running import run_terminal

ABOUT = f"""\
Serve agents over the Agent Client Protocol (version 1) on standard input and output, until the input ends.
When it does, or when TERM or INT comes, every turn is stopped, the logs are closed on the disk, what tools have
started is ended, and the process is gone within {STATED_SECONDS:g} seconds.
"""
CONFIG_HELP = "a file of TOML; without one, an agent that echoes, has no tools and keeps nothing"
RUN_ABOUT = f"""\
Start the agents that a configuration names and talk to them: a line is a prompt, `@label` in front of it chooses among
several agents. Ctrl-C cancels what is being worked on; a second one, or one while nothing is, leaves, and so does the
end of the input. The logs are closed on the disk then, and the process is gone within {STATED_SECONDS:g} seconds.
"""
RUN_CONFIG_HELP = "a file of TOML, the same as for acp, with the agents in [[agents]]"
RUN_EXITS = (
    "exit codes: 0 the input has ended, 128+N signal N came, 1 sessions cannot be kept, no agent could be started or "
    "standard output cannot be written to, 2 wrong usage, 70 stuck"
)
EXITS = (
    "exit codes: 0 the client has gone, 128+N signal N came, 1 sessions cannot be kept or standard output cannot be "
    "written to, 2 wrong usage, 70 stuck"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it.

    :return: the exit code
    """
    parser = argparse.ArgumentParser(prog="probate", description="The reference, as a program.", allow_abbrev=False)
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    acp = verbs.add_parser("acp", description=ABOUT, epilog=EXITS, help="serve agents to an editor", allow_abbrev=False)
    acp.add_argument("config", metavar="CONFIG", nargs="?", type=Path, help=CONFIG_HELP)
    acp.add_argument("--loop", choices=("asyncio", "trio"), default="asyncio", help="the event loop")
    acp.set_defaults(serve=serve_standard_streams)
    run = verbs.add_parser(
        "run", description=RUN_ABOUT, epilog=RUN_EXITS, help="talk to configured agents", allow_abbrev=False
    )
    run.add_argument("config", metavar="CONFIG", type=Path, help=RUN_CONFIG_HELP)
    run.add_argument("--loop", choices=("asyncio", "trio"), default="asyncio", help="the event loop")
    run.set_defaults(serve=run_terminal)
    parsed = parser.parse_args(arguments)
    try:
        config = Config() if parsed.config is None else read_config(parsed.config)
        code: int = parsed.serve(config, parsed.loop)
        return code
    except ConfigError as error:
        return complain(str(error), 2)
    except (StorageError, OutputError) as error:
        return complain(str(error), 1)
    except KeyboardInterrupt:  # before there was a handler
        return 128 + signal.SIGINT


def complain(text: str, code: int) -> int:
    """Say what is wrong, in one sentence."""
    sys.stderr.write(f"error: {text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
