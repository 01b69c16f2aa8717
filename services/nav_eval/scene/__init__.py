"""Scenes: reading them, walking in them, making them."""
