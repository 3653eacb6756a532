"""Tests of what every part of the library stands on: the core, and its border to Arrow."""
