"""Furniture, a module per part of a house; what a piece is, and the catalogue of all, is in `piece`."""
