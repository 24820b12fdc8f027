"""The parts of all figures: canvas, colours, theme, and the figures of networks and exchanges."""
