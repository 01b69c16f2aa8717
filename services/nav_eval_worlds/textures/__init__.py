"""Textures that are painted by code."""
