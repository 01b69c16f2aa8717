"""`nav-eval-sdk test`: a local evaluation with the engine that the server runs.

The engine is the `nav-eval` command of this machine, or an engine image. Both are called the same way:
`nav-eval evaluate BENCHMARK --agent ADDRESS --out DIRECTORY`.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from nav_eval_sdk.checking.image import running
from nav_eval_sdk.errors import SdkError

COMMAND = "nav-eval"


def evaluate(
    benchmark: str,
    *,
    agent: str | None,
    image: str | None,
    out: Path,
    engine_image: str | None = None,
    extra: Sequence[str] = (),
) -> int:
    """Run the evaluation and return its exit code."""
    if (agent is None) == (image is None):
        raise SdkError("Give either --agent ADDRESS or --image IMAGE.")
    with ExitStack() as stack:
        address = agent if image is None else stack.enter_context(running(image)).target
        command = engine_command(benchmark, agent=str(address), out=out, engine_image=engine_image)
        return subprocess.run([*command, *extra], check=False).returncode  # noqa: S603


def engine_command(benchmark: str, *, agent: str, out: Path, engine_image: str | None) -> list[str]:
    """What to run, on this machine or in the engine's image."""
    if engine_image is None:
        found = shutil.which(COMMAND)
        if found is None:
            raise SdkError("There is no nav-eval here: pip install nav-eval, or give --engine-image.")
        return [found, "evaluate", benchmark, "--agent", agent, "--out", str(out)]
    docker = shutil.which("docker") or shutil.which("podman")
    if docker is None:
        raise SdkError("An engine image needs docker, which is not here; pip install nav-eval instead.")
    out.mkdir(parents=True, exist_ok=True)
    command = [docker, "run", "--rm", "--network=host", f"--volume={out.resolve()}:/out"]
    if agent.startswith("unix:"):
        socket = Path(agent[len("unix:") :]).resolve()
        command += [f"--volume={socket.parent}:/rpc"]
        agent = f"unix:/rpc/{socket.name}"
    return [*command, engine_image, "evaluate", benchmark, "--agent", agent, "--out", "/out"]
