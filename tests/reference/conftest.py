"""Run each async test of the reference on both event loops."""

import pytest

from tests.reference.kit import World


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Name the event loop."""
    return str(request.param)


@pytest.fixture
def world() -> World:
    """Give a world whose model answers at once, until the test scripts it."""
    return World()
