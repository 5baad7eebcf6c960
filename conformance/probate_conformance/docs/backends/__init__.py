"""The pages about runtimes that nobody here wrote: ``docs/backends/``, each about one family of backends.

A page is made of reports and of nothing else. ``families`` says which backends stand side by side on a page, ``runs``
checks each of them under each edition, unless its report is there already, and ``page`` puts the reports together: what
was run, what holds where, and each fault with the smallest trace that shows it.

``python -m probate_conformance.docs.backends REPORTS FOLDER`` does that, with the reports kept in ``REPORTS``. How long
a run took is a figure of the machine that ran it; all the rest is the same wherever it is done.
"""
