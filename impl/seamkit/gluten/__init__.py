"""Native batches as Gluten passes them through Spark: handles, and rows made of columns and back."""
