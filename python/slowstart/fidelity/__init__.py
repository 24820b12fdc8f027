"""The same scenarios on the simulated TCP and on the kernel's, quantity by quantity."""
