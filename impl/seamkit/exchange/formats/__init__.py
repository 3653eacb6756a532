"""How chunks of an exchange become bytes."""
