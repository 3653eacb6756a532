"""The exchange seam: cases, the check that runs one, and the door for programs."""
