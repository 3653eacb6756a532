"""What Hudi lets the type of a column become, and how Java writes values as text."""
