"""Episodes made from annotated scenes: instructions, goals and expert walks, so that a challenge needs no download."""
