"""Install the npm SDK of the protocol, a test peer: ``python -m tests.peers.install``. ``make backends`` runs it."""

from __future__ import annotations

import sys
from pathlib import Path

from probate_conformance.backends.install import NpmRuntime

SDK = NpmRuntime("acp-sdk", Path(__file__).parent / "npm", ("package.json", "package-lock.json"))

if __name__ == "__main__":
    sys.stdout.write(f"acp-sdk is installed in {SDK.install()}\n")
