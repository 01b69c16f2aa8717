"""Episodes and where they come from."""
