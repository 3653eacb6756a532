"""The kernels of `seambench_suites.history` under pytest-benchmark, for work on one checkout."""
