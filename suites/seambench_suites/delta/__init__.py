"""Delta beyond single cases: random tables against Spark."""
