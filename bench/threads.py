"""How software pictures use cores: threads of one renderer against several processes with one thread each.

Every process draws the same first walk of a generated house, all of them at the same time. Frames per second add up;
CPU is per frame. On a machine that does other things too only CPU says something.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from nav_eval.scene.formats import write_glb
from nav_eval.sensors import Channel
from nav_eval.simulator.rendering import Device
from nav_eval.simulator.rendering.throughput import Lens, measure
from nav_eval_worlds.houses import generate_house

WIDTH, HEIGHT, STEPS, ROUNDS = 640, 480, 150, 2
WAYS = [(1, "0"), (1, "1"), (1, "2"), (1, "4"), (2, "0"), (2, "1"), (2, "2")]


def run() -> dict[str, object]:
    figures: dict[str, object] = {"cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "house.glb"
        write_glb(generate_house(1).scene, file)
        _draw(file, processes=1, threads="0")  # prepares the scene for all
        for processes, threads in WAYS:
            rounds = [_draw(file, processes=processes, threads=threads) for _ in range(ROUNDS)]
            name = f"{processes}_processes_{threads}_threads"
            figures[f"{name}_fps"] = max(sum(each["fps"] for each in drawn) for drawn in rounds)
            figures[f"{name}_cpu_ms"] = min(max(each["cpu_ms"] for each in drawn) for drawn in rounds)
    return figures


def _draw(file: Path, *, processes: int, threads: str) -> list[dict[str, float]]:
    environment = os.environ | {"LP_NUM_THREADS": threads}
    command = [sys.executable, "-m", "bench.threads", str(file)]
    started = [
        subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for process in started:
        assert process.stdout
        process.stdout.readline()  # it is ready
    for process in started:
        assert process.stdin
        print("go", file=process.stdin, flush=True)
    return [json.loads(process.communicate()[0]) for process in started]


def _walk(file: Path) -> dict[str, float]:
    lens = Lens(channels=frozenset({Channel.RGB, Channel.DEPTH}), width=WIDTH, height=HEIGHT, hfov=90.0)
    device, cache = Device.open(), file.parent / "cache"
    measure(file, lens=lens, steps=2, poses=None, cache=cache, device=device)
    print("ready", flush=True)
    sys.stdin.readline()
    found = measure(file, lens=lens, steps=STEPS, poses=None, cache=cache, device=device)
    return {"fps": found.fps, "cpu_ms": found.cpu_ms_per_frame}


if __name__ == "__main__":
    print(json.dumps(_walk(Path(sys.argv[1]))))
