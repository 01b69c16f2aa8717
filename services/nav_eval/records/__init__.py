"""What everybody shares: vectors and poses, causes, results of episodes, and the arithmetic of scores.

The bottom layer: it imports nothing else of ours.
"""
