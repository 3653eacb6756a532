"""`python -m seambench`, the same as `seambench`."""

from seambench.cli import main

main()
