"""What an implementation of each seam offers; outcomes, and implementations by name."""
