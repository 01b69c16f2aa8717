# ruff: noqa - the code of a team, not ours
"""Agents that hurt: which one this is stands in its weights. Those that survive play on, and `neighbour` is honest."""

import os
import signal
import subprocess
import sys
import threading
import time

from nav_eval_sdk import Agent, arrays, serve

with open("/weights/bomb") as choice:
    BOMB = choice.read()
SOCKET = os.environ["NAV_EVAL_SOCKET"]
PAUSE = 0.8 if BOMB == "slow_neighbour" else 0.0  # so that it is there for long


# before it serves


def crash():
    print("weights.pt is missing", flush=True)
    sys.exit(3)


def fault():
    print("about to read address 0", flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def silence():
    time.sleep(3600)


def inode_fill():
    made = 0
    try:
        for made in range(10_000_000):
            os.mkdir(f"/rpc/{made}")
    except OSError as error:
        print(f"{error.strerror} after {made} folders", flush=True)


def log_flood():
    def flood():
        line = b"x" * 1023 + b"\n"
        while True:
            os.write(1, line * 64)

    threading.Thread(target=flood, daemon=True).start()


def socket_link():
    """A link to somebody else's socket in place of its own."""
    os.symlink("/proc/1/root/var/run/docker.sock", SOCKET)
    time.sleep(3600)


def ring_hold():
    """Holds every picture for ever, and many that never were."""
    arrays.SharedMemory.held = lambda memory: [*range(1, 5000), 2**63, 2**64 - 1]


# while it plays


def fork_bomb():
    """As many processes as there may be, each of which tries to make more, for ever."""
    told = False
    while True:
        try:
            os.fork()
        except OSError as error:
            if not told:
                print(f"fork: {error.strerror}", flush=True)
            told = True
            time.sleep(0.01)


def memory_bomb():
    held = []
    while True:
        held.append(bytearray(os.urandom(1) * (16 << 20)))


def disk_fill():
    for folder in ("/tmp", "/rpc", "/dev/shm", "/scratch"):
        written = 0
        try:
            with open(f"{folder}/fill", "wb", buffering=0) as file:
                while written < 2 << 30:
                    written += file.write(bytes(1 << 20))
        except OSError as error:
            print(f"{folder}: {error.strerror} after {written >> 20} MB", flush=True)


def file_bomb():
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error:
        print(f"{error.strerror} after {len(held)} files", flush=True)
    for descriptor in held:
        os.close(descriptor)


def processor_hog():
    for _ in range(16):
        subprocess.Popen(["sh", "-c", "while :; do :; done"])


def socket_swap():
    """Its own socket replaced, now that the simulator has found it."""
    os.unlink(SOCKET)
    os.symlink("/proc/1/root/var/run/docker.sock", SOCKET)


def hang():
    time.sleep(3600)


def nonsense():
    return "fly"


EARLY = (crash, fault, silence, inode_fill, log_flood, socket_link, ring_hold)
PLAYING = (fork_bomb, memory_bomb, disk_fill, file_bomb, processor_hog, socket_swap, hang, nonsense)
NAMES = {attempt.__name__: attempt for attempt in (*EARLY, *PLAYING)}


class Neighbour(Agent):
    """Its scores must not depend on who runs beside it."""

    name = "neighbour"
    sensors = ["rgb", "depth"]

    def act(self, observation):
        time.sleep(PAUSE)
        ahead = observation["depth"][80:140, 80:140].min()
        bright = int(observation["rgb"].sum()) % 2
        return "move_forward" if ahead > 0.5 else "turn_left" if bright else "turn_right"


class Bomb(Neighbour):
    """Hurts at its second step, and plays on as its neighbour does if it can."""

    name = "bomb"

    def act(self, observation):
        if observation.step == 1 and NAMES[BOMB] in PLAYING and (action := NAMES[BOMB]()):
            return action
        return super().act(observation)


if __name__ == "__main__":
    if BOMB.endswith("neighbour"):
        serve(Neighbour)
    if NAMES[BOMB] in EARLY:
        NAMES[BOMB]()
    serve(Bomb)
