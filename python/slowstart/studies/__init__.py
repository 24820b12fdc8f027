"""Studies: published documents repeated, with a verdict on each of their claims."""
