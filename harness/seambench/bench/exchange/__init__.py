"""Exchanges between worker processes of this machine: plans are run, checked and timed."""
