"""Whose fault it was that an engine refused a team's image or container: found out by a control experiment.

What an engine says when it refuses cannot be trusted to tell: its words differ between versions, and a team can put
"no space left on device" into a file's name. So the same is tried with something of ours: an image of the same size,
a container with the same walls. When that works, the image was to blame; when it fails as well, the engine is.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import docker
import msgspec
from docker.errors import APIError, DockerException, ImageLoadError, NotFound
from requests.exceptions import RequestException

from nav_eval.agents.failures import AgentCrash, ImageInvalid
from nav_eval.agents.messages import shorten
from nav_eval_worker.archives.images import make_header, make_submission_name
from nav_eval_worker.runtime.base import RuntimeUnavailable

_BLOCK = 512
_CHUNK = bytes(1 << 20)
_CONFLICT = 409
_TROUBLE = (DockerException, RequestException, OSError)
_PATH = re.compile(r"/[^\s\"',;:()]+")
_INNER = re.compile(r"/(?:merged|_data|rootfs)(?=/|$)(?P<rest>.*)")
_HOST_FOLDERS = frozenset(
    ("overlay2", "overlayfs", "containerd", "docker", "runc", "moby", "volumes", "snapshots", "containers", "runsc")
)


@contextmanager
def blame_load(is_well: Callable[[], bool]) -> Iterator[None]:
    """Loading a team's image: a refusal is the image's fault if the engine is well."""
    try:
        yield
    except (APIError, ImageLoadError) as error:
        said = _get_words(error)
        if is_well():
            raise ImageInvalid(
                f"The engine cannot unpack the image ({hide_host_paths(said)}): build it again with `docker build`."
            ) from error
        raise RuntimeUnavailable(f"The Docker engine loads no images: {said}") from error
    except _TROUBLE as error:
        raise RuntimeUnavailable(f"The Docker engine does not answer: {error}") from error


@contextmanager
def blame_start(is_well: Callable[[], bool]) -> Iterator[None]:
    """Starting a team's container, likewise: most often its command is not in the image."""
    try:
        yield
    except NotFound as error:  # the image was dropped in this very moment: it is admitted again
        raise RuntimeUnavailable(f"The agent's image is gone: {error.explanation}") from error
    except APIError as error:
        said = _get_words(error)
        if error.status_code != _CONFLICT and is_well():
            raise AgentCrash(f"The image cannot be started: {hide_host_paths(said)}") from error
        raise RuntimeUnavailable(f"The Docker engine cannot start the agent: {said}") from error
    except _TROUBLE as error:
        raise RuntimeUnavailable(f"The Docker engine does not answer: {error}") from error


def can_load(client: docker.DockerClient, scratch: Path, *, size: int) -> bool:
    """Whether the engine takes an image of ours with so many bytes; SCRATCH gets a file that is nearly all holes."""
    archive = scratch / "control.tar"
    name = write_control_archive(archive, size=size)
    try:
        with archive.open("rb") as file:
            client.images.load(file)
        client.images.get(name)
    except _TROUBLE:
        return False
    finally:
        archive.unlink()
        with suppress(*_TROUBLE):
            client.images.remove(name, force=True)
    return True


def can_start(client: docker.DockerClient, image: str, options: dict[str, Any]) -> bool:
    """Whether a container of ours starts with these options."""
    try:
        container = client.containers.create(image, entrypoint=["true"], **options)
        try:
            container.start()
        finally:
            container.remove(force=True, v=True)
    except _TROUBLE:
        return False
    return True


def write_control_archive(target: Path, *, size: int) -> str:
    """An image with one file of SIZE zeros, in the form in which teams' images are loaded; its name."""
    zeros = make_header("zeros", size).tobuf()
    length = len(zeros) + size + -size % _BLOCK
    diff_id = _hash_zeros(zeros, length - len(zeros))
    config = msgspec.json.encode(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Cmd": ["/zeros"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{diff_id}"]},
        }
    )
    config_id, layer = hashlib.sha256(config).hexdigest(), f"{diff_id}.tar"
    name = make_submission_name(config_id)
    manifest = msgspec.json.encode([{"Config": f"{config_id}.json", "Layers": [layer], "RepoTags": [name]}])
    with target.open("wb") as file:
        _write_member(file, f"{config_id}.json", config)
        _write_member(file, layer, zeros, length=length)
        _write_member(file, "manifest.json", manifest)
        file.truncate(file.tell() + 2 * _BLOCK)
    return name


def _write_member(file: IO[bytes], path: str, data: bytes, *, length: int | None = None) -> None:
    length = len(data) if length is None else length
    file.write(make_header(path, length).tobuf() + data)
    file.seek(length - len(data) + -length % _BLOCK, 1)


def _hash_zeros(head: bytes, zeros: int) -> str:
    digest = hashlib.sha256(head)
    while zeros:
        digest.update(_CHUNK[: min(zeros, len(_CHUNK))])
        zeros -= min(zeros, len(_CHUNK))
    return digest.hexdigest()


def _get_words(error: DockerException) -> str:
    return str(getattr(error, "explanation", None) or error)


def hide_host_paths(said: str) -> str:
    """What the engine said, without where it keeps things on its host."""
    return shorten(_PATH.sub(_hide_path, said.rpartition("container init: ")[2]).strip(), limit=300)


def _hide_path(match: re.Match[str]) -> str:
    path = match[0]
    if (inner := _INNER.search(path)) is not None:
        return inner["rest"] or "/"
    return "…" if _HOST_FOLDERS & set(path.split("/")) else path
