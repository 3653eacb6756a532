"""What a table says of itself: its properties, how it merges, what its types may become."""
