"""Files that an Iceberg table names: data, and the deletes that apply to it."""
