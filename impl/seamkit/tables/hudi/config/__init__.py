"""What a Hudi table says of itself: its properties, and how its records are merged."""
