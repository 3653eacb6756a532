"""Transports of others as exchanges, each with nothing but itself."""
