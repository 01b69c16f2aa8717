"""Generated worlds: houses, their furniture and textures, and episodes with instructions in them.

Everything is made by code from a seed, so that a challenge needs no download. The package stands beside the engine:
it uses scenes, simulator and configuration, and the engine finds it through entry points only.
"""
