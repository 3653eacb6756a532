"""`python -m seamkit`, the same as `seamkit`."""

from seamkit.command import main

main()
