"""Tools around our own exchange: its simulator, the exploration of its states, its bars."""
