"""The benchmarks: what the kit costs, what it buys, and the reference beside a runtime that nobody here wrote."""
