"""What holds of the tables of every format alike."""
