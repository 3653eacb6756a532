"""Mistakes put into the judge on purpose, and whether its own tests find them."""
