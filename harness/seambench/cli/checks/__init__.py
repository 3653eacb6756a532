"""Commands about right and wrong: check, and what leads to and from it."""
