"""The scan seam: the check that runs a case, and what holds however it is asked."""
