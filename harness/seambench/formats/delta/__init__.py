"""What the harness knows of Delta: its writer, layouts, golden tables and damage."""
