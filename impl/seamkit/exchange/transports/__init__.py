"""Ways from a sink to its sources, one module each; what they have in common is in `base`."""
