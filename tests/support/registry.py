"""A real OCI registry for tests: Debian's docker-registry, on the loopback, in a folder of its own."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from support.load import Deadline
from support.tools import program

CONFIG = """
version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: "{folder}"}}, delete: {{enabled: true}}}}
http: {{addr: "127.0.0.1:{port}"}}
{auth}
"""
LOGIN = ("worker", "a password")
HTPASSWD = "worker:$2b$04$VMeJRhXgDjEgZlYRcgUqneUK0wmIAfZ7HQm..YwSqELz4VogwcTUW\n"
"""The same, as a registry wants it."""
AUTH = 'auth: {{htpasswd: {{realm: tests, path: "{file}"}}}}'


@contextmanager
def running_registry(folder: Path, *, locked: bool = False) -> Iterator[str]:
    """Its address, http://127.0.0.1:PORT; if `locked`, for those who know LOGIN."""
    registry = program("docker-registry", package="docker-registry")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    (folder / "htpasswd").write_text(HTPASSWD)
    auth = AUTH.format(file=folder / "htpasswd") if locked else ""
    (folder / "registry.yml").write_text(CONFIG.format(folder=folder / "blobs", port=port, auth=auth))
    url = f"http://127.0.0.1:{port}"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [registry, "serve", str(folder / "registry.yml")], stdout=log, stderr=log, cwd=folder
        )
    try:
        _wait_for(url, folder / "log")
        yield url
    finally:
        process.terminate()
        process.wait(timeout=120)


def _wait_for(url: str, log: Path) -> None:
    deadline = Deadline(20)
    while True:
        try:
            httpx.get(f"{url}/v2/", trust_env=False)
            return
        except httpx.HTTPError:
            assert not deadline.is_over, log.read_text()
            time.sleep(0.05)
