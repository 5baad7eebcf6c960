"""Give the tests of the plug-in tree their world."""

import pytest

from tests.reference.fibers.kit import Tree


@pytest.fixture
def tree() -> Tree:
    """Give a tree in which nothing is plugged in yet."""
    return Tree()
