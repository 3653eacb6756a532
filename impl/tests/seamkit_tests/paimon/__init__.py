"""Tests of Paimon tables."""
