"""Tasks: what an agent has to do and when it is done."""
