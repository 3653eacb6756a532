"""The column seam: cases, their oracle, and the check that runs one."""
