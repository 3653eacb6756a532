"""`python -m seambench.cli`, the same as `seambench`."""

from seambench.cli import main

main()
