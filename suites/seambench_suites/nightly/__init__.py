"""All that is checked regularly, in one command, and what changed since it last was."""
