"""The steps of each seam, ready to be timed by `seambench throughput`."""
