"""`python -m kraftcheck`: the command line."""

from kraftcheck.ci.main import main

main()
