"""Which files a Hudi table has, and which of them belong together."""
