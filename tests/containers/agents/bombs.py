# ruff: noqa - the code of a team, not ours
"""Agents that hurt: which one this is stands in its weights. Those that survive play on, and `neighbour` is honest."""

import os
import sys
import threading
import time

from nav_eval_sdk import Agent, serve

with open("/weights/bomb") as choice:
    BOMB = choice.read()


def fork_bomb():
    """As many processes as there may be, each of which tries to make more."""
    started = 0
    while True:
        try:
            if os.fork() == 0:
                while True:
                    try:
                        os.fork()
                    except OSError:
                        time.sleep(0.01)
            started += 1
        except OSError as error:
            print(f"fork failed after {started}: {error}", flush=True)
            return


def memory_bomb():
    held = []
    while True:
        held.append(bytearray(os.urandom(1) * (16 << 20)))


def disk_fill():
    for folder in ("/tmp", "/rpc", "/dev/shm", "/scratch"):
        written = 0
        try:
            with open(f"{folder}/fill", "wb") as file:
                while written < 2 << 30:
                    written += file.write(bytes(1 << 20))
                    file.flush()
        except OSError as error:
            print(f"{folder}: {error.strerror} after {written >> 20} MB", flush=True)
        finally:
            try:
                os.unlink(f"{folder}/fill")
            except OSError:
                pass
    print("filled", flush=True)


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


def socket_swap():
    """Its own socket replaced by a link to somebody else's."""
    path = os.environ["NAV_EVAL_SOCKET"]

    def swap():
        while not os.path.exists(path):
            time.sleep(0.01)
        os.unlink(path)
        os.symlink("/proc/1/root/var/run/docker.sock", path)

    threading.Thread(target=swap, daemon=True).start()


class Neighbour(Agent):
    """Its scores must not depend on who runs beside it."""

    name = "neighbour"
    sensors = ["rgb", "depth"]

    def act(self, observation):
        ahead = observation["depth"][80:140, 80:140].min()
        bright = int(observation["rgb"].sum()) % 2
        return "move_forward" if ahead > 0.5 else "turn_left" if bright else "turn_right"


class Bomb(Agent):
    name = "bomb"
    sensors = ["rgb"]

    def act(self, observation):
        if observation.step == 1 and BOMB in ("fork_bomb", "memory_bomb", "disk_fill"):
            globals()[BOMB]()
        return "stop" if observation.step > 2 else "turn_left"


if __name__ == "__main__":
    if BOMB == "crash":
        print("weights.pt is missing", flush=True)
        sys.exit(3)
    if BOMB == "silence":
        time.sleep(3600)
    if BOMB in ("log_flood", "socket_swap", "inode_fill"):
        globals()[BOMB]()
    serve(Neighbour if BOMB == "neighbour" else Bomb)
