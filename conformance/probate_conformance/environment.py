"""The environment that a child process is given.

Whoever runs the kit has credentials in the environment, and the children that it starts are somebody else's code. So a
child is given the environment without any name that looks like a credential's. The rule is of names and deliberately
coarse: it drops a ``KEYBOARD`` rather than keep an ``aws_Secret_access``. What a child really needs is laid over
afterwards, by name, and wins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_CREDENTIAL: Final = re.compile("KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.ASCII | re.IGNORECASE)


def child_environment(ambient: Mapping[str, str], overlay: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """Give the environment for a child process.

    :param ambient: where to start from; a name is dropped if it contains ``KEY``, ``TOKEN``, ``SECRET``, ``PASSWORD``,
        ``PASSWD`` or ``CREDENTIAL`` anywhere, folding the case of ASCII letters only
    :param overlay: what is laid over afterwards, whatever its names; a value of None removes the name
    """
    environment = {name: value for name, value in ambient.items() if not _CREDENTIAL.search(name)}
    for name, value in (overlay or {}).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return environment
