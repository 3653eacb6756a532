"""The stages of `seambench run`: its plan, the quick run, its end."""
