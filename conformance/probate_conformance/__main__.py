"""``python -m probate_conformance`` is the same as ``probate``."""

from __future__ import annotations

import sys

from probate_conformance.cli import main

if __name__ == "__main__":
    sys.exit(main())
