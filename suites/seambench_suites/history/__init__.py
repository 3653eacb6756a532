"""Times of our own kernels by commit: what asv runs. Comparisons of implementations are not here.

asv imports this folder as a top-level package called `history`, from the checkout, while the
packages under test come from each commit's wheel. So nothing here imports `seambench_suites`, and
what a commit may lack is looked up in `setup` (see `kernels.feature`).

A benchmark's `version` is raised by hand, with a reason in the commit, when its numbers before and
after do not compare; asv would otherwise forget history whenever a comment changes.
"""
