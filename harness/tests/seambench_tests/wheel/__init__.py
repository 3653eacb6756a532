"""Checks that run from the installed wheel, in an environment of their own."""
