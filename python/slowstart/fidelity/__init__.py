"""Validates the simulated TCP against the Linux kernel, quantity by quantity."""

# The name under which `slowstart study` runs the validation, too.
STUDY = "linux-fidelity"
