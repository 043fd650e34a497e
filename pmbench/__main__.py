"""`python -m pmbench`."""

from pmbench.cli.main import main

main()
