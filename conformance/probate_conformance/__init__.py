"""The kit that checks any backend against the model."""
