"""Peers in versions: which there are, and an environment of its own for each."""
