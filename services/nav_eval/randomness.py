"""Random numbers that depend on what they are for, never on who asked first.

A draw is made from (seed, keys): every team gets the same one, in every process and in every order.
Keys are words such as an episode id, "material.floor" or "noise.depth".
"""

import hashlib

import numpy as np


def derive_seed(seed: int, *keys: str | int) -> int:
    """A 128-bit seed that depends on all of its arguments and on nothing else."""
    return int.from_bytes(derive_digest(seed, *keys), "little")


def derive_digest(seed: int, *keys: str | int) -> bytes:
    """The same as bytes, the lowest first."""
    text = "/".join(map(str, (seed, *keys)))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def make_generator(seed: int, *keys: str | int) -> np.random.Generator:
    """A generator for one purpose."""
    return np.random.Generator(np.random.PCG64(derive_seed(seed, *keys)))
