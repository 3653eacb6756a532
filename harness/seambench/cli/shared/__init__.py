"""What commands share: option types, consoles, parsers, progress, records of what was checked."""
