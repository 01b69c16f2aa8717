"""Small agents in real image archives, and a small benchmark that plays them in seconds."""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

from nav_eval.config import BenchmarkConfig, load_benchmark

AGENT = """
import os, sys, time
from nav_eval_sdk import Agent, serve

class Walker(Agent):
    sensors = ["pose"]  # blind: nothing is rendered

    def reset(self, episode):
        self.steps, self.episode = 0, episode
        print("reset", flush=True)

    def act(self, observation):
        time.sleep(float(os.environ.get("STEP_SECONDS", "0")))
        self.steps += 1
        BEHAVE
        return "stop" if self.steps % 9 == 0 else ("move_forward", "turn_left", "move_forward")[self.steps % 3]

print("starting", flush=True)
serve(Walker)
"""


def agent_source(behave: str = "pass") -> str:
    """The source of an agent that does something of its own in each step, such as `os._exit(3)`."""
    return AGENT.replace("BEHAVE", behave)


def layer(files: Mapping[str, bytes | str]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o644
            archive.addfile(info, io.BytesIO(data))
    return target.getvalue()


def image_archive(
    source: str | None = None,
    *,
    command: tuple[str, ...] = ("python", "agent.py"),
    environment: Mapping[str, str] | None = None,
    layers: tuple[bytes, ...] = (),
    working_dir: str = "/app",
) -> bytes:
    """A `docker save` archive whose image runs `source`."""
    stacked = layers or (layer({"app/agent.py": source if source is not None else agent_source()}),)
    digests = [hashlib.sha256(data).hexdigest() for data in stacked]
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": list(command),
            "WorkingDir": working_dir,
            "Env": [f"{name}={value}" for name, value in (environment or {}).items()],
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
    }
    document = json.dumps(config).encode()
    name = f"{hashlib.sha256(document).hexdigest()}.json"
    manifest = [{"Config": name, "RepoTags": ["me:1"], "Layers": [f"{digest}/layer.tar" for digest in digests]}]
    members = {f"{digest}/layer.tar": data for digest, data in zip(digests, stacked, strict=True)}
    return layer({**members, name: document, "manifest.json": json.dumps(manifest)})


BENCHMARK = """
benchmark:
  extends: demo_lh_vln
  name: Room
  dataset:
    data_path: {data}/val.json.gz
    scene_path: {data}
    generate: null
  evaluation:
    max_steps: {max_steps}
    step_timeout: 5.0
"""


def room_benchmark_file(folder: Path, room_data: Path, *, max_steps: int = 12) -> Path:
    """A benchmark with the four episodes of the room, as a file that a phase can name."""
    path = folder / "room_benchmark.yaml"
    path.write_text(BENCHMARK.format(data=room_data, max_steps=max_steps))
    return path


def room_benchmark_config(folder: Path, room_data: Path, **options: int) -> BenchmarkConfig:
    return load_benchmark(str(room_benchmark_file(folder, room_data, **options)), environ={})
