"""What holds for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# An example takes as long as a busy machine lets it: a deadline would fail a test for that, and so would the check of
# how fast examples are made.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
