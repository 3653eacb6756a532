"""What the pages show, worked out of the records: no markup, no script."""
