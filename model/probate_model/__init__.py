"""The executable spec of agent lifecycles: pure, synchronous, the standard library only."""
