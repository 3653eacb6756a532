"""Off-heap columns: how rows cross a language border.

`types` reads type strings, `table` is the writing side, `engine` the reading side, `decode` says in
plain Python what a meta chain means, `seam` offers all of it to the suites.
"""
