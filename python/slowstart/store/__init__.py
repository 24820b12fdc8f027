"""Files: finished runs, archives, exports and whole-or-absent output."""
