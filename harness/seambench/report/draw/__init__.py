"""Charts as SVG, and numbers as text."""
