"""What rows of one key become: merge engines and their functions."""
