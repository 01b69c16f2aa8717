"""Competitions and phases: what the YAML says, what an organiser switches by hand, who may see what."""
