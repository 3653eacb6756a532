"""The log of a Delta table: its files, their actions, and the version that they add up to."""
