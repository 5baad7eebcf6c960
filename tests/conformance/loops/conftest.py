from __future__ import annotations

import pytest

from probate_conformance.loops import HOSTS, Host


@pytest.fixture(params=sorted(HOSTS))
def host(request: pytest.FixtureRequest) -> Host:
    return HOSTS[request.param]()
