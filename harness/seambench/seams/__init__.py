"""The seams, one folder each, all of one shape."""
