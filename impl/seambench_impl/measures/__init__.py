"""Programs that measure adapters against what these stand on; a table on the screen."""
