"""The logs of a Hudi table: blocks, their order, and the merge events in them."""
