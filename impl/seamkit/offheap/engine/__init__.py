"""The engine's side of off-heap columns: chains of addresses become columns."""
