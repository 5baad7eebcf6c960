"""The page about the core contract, ``docs/contract.md``: generated, so that it can't say what is not so.

Its clauses come from the registry, its tables from the docstrings of the alphabet, and its pictures from real runs of
the model. A picture starts as a trace (``traces``). ``recording`` runs it stretch by stretch and notes what made each
stretch possible, ``scene`` turns that into rows, bars and arrows, ``picture`` gives them places and ``svg`` writes
them down. ``chapters`` has the words that stand between, ``tables`` what is read from the alphabet, and ``page`` puts
all of it together.

``python -m probate_conformance.docs FOLDER`` writes the page, its pictures and the traces as files. The same sources
give the same bytes.
"""
