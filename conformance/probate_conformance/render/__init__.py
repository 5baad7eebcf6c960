"""Renderers: a report as text, as lines of JSON, and the progress of a run. They decide nothing."""
