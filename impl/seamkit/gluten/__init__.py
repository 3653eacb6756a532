"""Native batches as Gluten passes them through Spark: handles, rows of columns and back."""
