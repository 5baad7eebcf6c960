"""A second look from outside: SPIN on the same small core as our explorer, told in other words (``make spin``)."""
