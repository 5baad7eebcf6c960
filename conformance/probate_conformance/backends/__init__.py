"""Backends: what the kit checks, and how each is reached."""
