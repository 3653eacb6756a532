"""The logs of a Hudi table: blocks, their bytes and their order."""
