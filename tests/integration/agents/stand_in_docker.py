"""Enough of `docker` for `check IMAGE`, without an engine: the container is a process of this machine.

It refuses options that it does not know, and mounts volumes by replacing paths in the environment.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

HOME = Path(os.environ["STAND_IN_DOCKER_HOME"])
KNOWN = ("--network=none", "--read-only", "--user=20001:10001", "--cap-drop=ALL", "--pids-limit=512", "--init")
ALSO = ("--security-opt=", "--no-healthcheck", "--tmpfs=", "--memory", "--detach", "--name=", "--env=", "--volume=")


def inspect(image: str) -> None:
    file = HOME / f"{image}.json"
    if not file.exists():
        sys.exit(f"Error: No such image: {image}")
    print(json.dumps([json.loads(file.read_text())]))


def run(*words: str) -> None:
    *options, image = words
    unknown = [word for word in options if word not in KNOWN and not word.startswith(ALSO)]
    if unknown or not set(KNOWN) <= set(options):
        sys.exit(f"unknown or missing options: {unknown}")
    name = next(word for word in options if word.startswith("--name=")).partition("=")[2]
    mounts = [word.partition("=")[2].split(":")[:2] for word in options if word.startswith("--volume=")]
    variables = dict(word.partition("=")[2].split("=", 1) for word in options if word.startswith("--env="))
    for host, inside in mounts:
        variables = {key: value.replace(inside, host, 1) for key, value in variables.items()}
    command = json.loads((HOME / f"{image}.json").read_text())["Config"]["Cmd"]
    with (HOME / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            command, env={**os.environ, **variables}, stdout=log, stderr=log, start_new_session=True
        )
    (HOME / f"{name}.pid").write_text(str(process.pid))


def remove(name: str) -> None:
    pid = HOME / f"{name}.pid"
    with suppress(ProcessLookupError):  # it has ended by itself
        os.killpg(int(pid.read_text()), signal.SIGKILL)
    pid.unlink()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["image", "inspect", image]:
            inspect(image)
        case ["run", *words]:
            run(*words)
        case ["rm", "--force", "--volumes", name]:
            remove(name)
        case ["logs", "--tail=30", name]:
            print((HOME / f"{name}.log").read_text())
        case words:
            sys.exit(f"what is {words}?")
