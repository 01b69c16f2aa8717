"""Scenes: their files, what things in them are called, where one can walk in them."""
