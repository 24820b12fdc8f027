"""Validates the simulated TCP against the Linux kernel, quantity by quantity."""
