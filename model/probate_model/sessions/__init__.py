"""Profile ``sessions``: logs that survive the process, and agents that go on with them."""
