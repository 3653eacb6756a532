"""A table looked at: layout, damage, what merging costs, what other readers say, what to do."""
