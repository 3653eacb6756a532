"""Paimon tables: append tables and tables with a primary key, as read units."""
