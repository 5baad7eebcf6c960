"""The pytest plug-in: ``pytest --probate-backend NAME`` gives one test for each clause of the contract.

pytest loads this module in every run of everybody who has the kit installed. So it knows nothing but its options; the
kit is imported when a backend is named, and ``pytest_clauses`` does the rest.
"""

from __future__ import annotations

import pytest

_OPTIONS = {
    "probate_cases": "--probate-cases",
    "probate_seed": "--probate-seed",
    "probate_edition": "--probate-edition",
    "probate_profile": "--probate-profile",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what there is to say."""
    group = parser.getgroup("probate", "conformance of agent runtimes (probate)")
    group.addoption(
        "--probate-backend",
        action="append",
        default=[],
        dest="probate_backends",
        metavar="NAME",
        help="check this backend, one test for each clause; NAME is what `probate check` takes, as module:factory; "
        "can be given again",
    )
    group.addoption(
        "--probate-cases", type=int, metavar="N", help="traces for each backend (default: that of `probate check`)"
    )
    group.addoption("--probate-seed", type=int, metavar="N", help="of the traces (default: 0)")
    group.addoption("--probate-edition", metavar="E", help="of the contract (default: 2026-06)")
    group.addoption("--probate-profile", metavar="P", help="of the contract (default: core)")


def pytest_configure(config: pytest.Config) -> None:
    """Get the clauses ready, if a backend is named.

    :raises pytest.UsageError: if something that is named does not exist, or no backend is
    """
    if config.getoption("probate_backends"):
        from probate_conformance.pytest_clauses import Clauses  # noqa: PLC0415 - see above

        config.pluginmanager.register(Clauses(config), "probate-clauses")
        return
    for name, option in _OPTIONS.items():
        if config.getoption(name) is not None:
            raise pytest.UsageError(f"{option} means nothing without --probate-backend NAME")
