"""What the core does of a merge: keys that meet events, columns put together, sorted runs."""
