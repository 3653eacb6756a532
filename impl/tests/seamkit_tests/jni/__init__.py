"""Scanners written in Java."""
