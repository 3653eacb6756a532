"""Tests of the library as it is installed and imported."""
