"""The parts of longer commands: of `seambench run`, of `seambench bars`."""
