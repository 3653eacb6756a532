"""What the harness knows of Delta: its golden tables and damage."""
