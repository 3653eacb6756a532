"""What was found, as files: one record a run and implementation, its verdicts made from rows."""
