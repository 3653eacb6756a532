"""`python -m seamkit.command`, the same as `seamkit`."""

from seamkit.command import main

main()
