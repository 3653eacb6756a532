"""Records of runs: the model, the writer that judges, and the reader."""
