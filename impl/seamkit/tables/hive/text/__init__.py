"""Rows of text, as Hive's serdes read them."""
