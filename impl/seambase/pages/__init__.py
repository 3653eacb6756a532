"""What Presto's pages mean, in plain Python: the judge's witness, and what `seamkit inspect` shows.

Nothing of the library's own serde is here, nor does that use it.
"""
