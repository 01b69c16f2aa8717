"""`python -m nav_eval.cli`: the command where its script is not on the path."""

from nav_eval.cli import main

main()
