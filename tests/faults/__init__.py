"""Faults injected into real runs: `python -m tests.faults`, `make faults`, `make soak`."""
