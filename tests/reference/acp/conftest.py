"""Give a world with a bridge."""

import pytest

from tests.reference.acp.client import Bridged
from tests.reference.kit import World


@pytest.fixture
def bridged(world: World) -> Bridged:
    """Give a recording world and its bridge, which is made inside of the test's loop."""
    return Bridged(world)
