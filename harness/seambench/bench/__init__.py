"""Performance: turns, scans, queries and plans of workers, each answer checked."""
