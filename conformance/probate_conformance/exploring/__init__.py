"""Exploring: every position of the model within a bound, looked at.

Random traces go where chance takes them. Here nothing is left to chance: all that can be done is done in every state,
and every order of what could run is taken. ``bounds`` says how much of everything there may be; ``walking`` makes a
graph of the model; ``normal`` lets what no rule could tell apart be one state; ``caching`` makes it quick;
``searching`` walks it breadth first; ``properties`` is what is held to; ``casting`` makes a trace of what was found.
What may be done is on the ``menu``, and ``covering`` tells what it came to.
"""
