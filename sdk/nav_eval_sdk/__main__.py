"""`python -m nav_eval_sdk` is `nav-eval-sdk`, for images that have no scripts on their path."""

from nav_eval_sdk.cli import main

main()
