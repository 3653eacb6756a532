"""Whether the judge of writers finds who writes wrongly."""
