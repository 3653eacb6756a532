"""Golden and random tables, their mutations, and what merging them costs."""
