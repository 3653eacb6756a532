"""What scanners written in Java cost."""
