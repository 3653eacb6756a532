"""The state machines of an exchange: no clock, no thread, no I/O."""
