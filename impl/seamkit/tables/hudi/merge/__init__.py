"""From log blocks to merge events: keys, ordering values, deletes, partial updates."""
