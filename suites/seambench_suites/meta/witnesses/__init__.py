"""What is expected: the oracles and witnesses held against what real engines wrote."""
