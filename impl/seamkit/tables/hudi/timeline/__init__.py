"""The timeline of a Hudi table: instants, archives, and the schemas that they tell."""
