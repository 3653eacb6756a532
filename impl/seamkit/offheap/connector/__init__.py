"""The row-at-a-time seam: scanners that append one value at a time to off-heap tables."""
