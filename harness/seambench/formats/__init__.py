"""Table formats, one folder each: what the rest of the harness must know of them."""
