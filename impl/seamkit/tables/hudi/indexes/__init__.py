"""What rules out files of a Hudi table by record keys or by ranges before they are opened."""
