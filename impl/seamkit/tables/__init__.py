"""Table formats: what to read of a table. No row is touched here."""
