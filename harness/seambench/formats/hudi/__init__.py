"""What the harness knows of Hudi: its writer, golden tables, damage and buckets."""
