"""The C core in Python: the foreign functions, tracked memory, Arrow data, return codes."""
