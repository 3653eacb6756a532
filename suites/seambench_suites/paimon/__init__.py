"""Paimon tables at random, against the readers of their writers, and what merging them costs."""
