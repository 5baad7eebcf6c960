"""Run the tests with foreign peers on the loop that each names."""

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Name the event loop."""
    return str(request.param)
