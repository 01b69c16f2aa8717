"""An image's configuration, written anew with what an agent needs and nothing else.

The configuration can open more than its process: a VOLUME is writable and without limit even under a
read-only root, a health check runs commands for ever, a working directory in /proc was a way out of
the container, an environment variable can ask NVIDIA's runtime for every GPU. History, author and
dates go too: two uploads of the same content get the same image id.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

import msgspec

from nav_eval_worker.archives.errors import ArchiveInvalid, ArchiveUnsafe, quote
from nav_eval_worker.archives.manifests import (
    REQUIRED_PLATFORM,
    ImageConfig,
    ImagePlatform,
    ProcessConfig,
    make_platform_error,
)

_EPOCH = "1970-01-01T00:00:00Z"
_KERNEL_PATHS = ("/proc", "/sys", "/dev")
_OUR_PATHS = ("/rpc", "/obs", "/weights", "/tmp")  # noqa: S108 (an agent's own)
"""Where the runtime mounts something: a folder of the image below is covered, and an engine cannot make another."""
_LONGEST_PATH, _LONGEST_PART = 1024, 255
_LONGEST_WORD = 96 * 1024  # the kernel starts no program with a word beyond 128 KiB, our own variables beside it
_MOST_WORDS_BYTES = 512 * 1024
_GPU_REQUESTS = (
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_MIG_CONFIG_DEVICES",
    "NVIDIA_MIG_MONITOR_DEVICES",
    "NVIDIA_IMEX_CHANNELS",
)
_DROPPED = {
    "ExposedPorts": "exposed_ports",
    "Volumes": "volumes",
    "Labels": "labels",
    "Healthcheck": "healthcheck",
    "OnBuild": "on_build",
    "Shell": "shell",
}
_MOST_VOLUMES = 32
_SIGNAL = re.compile(r"(SIG)?[A-Z0-9+-]{1,16}")


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanConfig:
    """What is left of the team's configuration, and what was taken out."""

    document: bytes  #: the canonical JSON
    entrypoint: tuple[str, ...]  #: ENTRYPOINT
    command: tuple[str, ...]  #: CMD
    environment: tuple[str, ...]  #: ENV, as NAME=value
    working_dir: str  #: WORKDIR
    user: str  #: USER; the runtime forces its own
    volumes: tuple[str, ...]  #: VOLUME paths, taken out
    exposed_ports: tuple[str, ...]  #: EXPOSE, taken out
    dropped: tuple[str, ...]  #: names of all that was taken out

    @property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.document).hexdigest()}"


def clean_config(image: ImageConfig) -> CleanConfig:
    """The configuration that we run, or a refusal."""
    _check_platform(image)
    process = image.config or ProcessConfig()
    entrypoint, command = _parse_words(process.entrypoint, "ENTRYPOINT"), _parse_words(process.cmd, "CMD")
    if not entrypoint + command:
        raise ArchiveInvalid("The image has neither ENTRYPOINT nor CMD: add one that starts the agent.")
    environment, requests = _clean_environment(process)
    _check_size((*entrypoint, *command, *environment))
    working_dir, volumes = _clean_working_dir(process), _clean_volumes(process)
    _check_covered(working_dir, volumes)
    clean = {
        "Entrypoint": list(entrypoint) or None,
        "Cmd": list(command) or None,
        "Env": list(environment) or None,
        "WorkingDir": working_dir,
        "User": _clean_user(process),
        "StopSignal": _clean_stop_signal(process),
    }
    return CleanConfig(
        document=_encode_canonical({key: value for key, value in clean.items() if value}, image.rootfs.diff_ids),
        entrypoint=entrypoint,
        command=command,
        environment=environment,
        working_dir=working_dir,
        user=_clean_user(process),
        volumes=volumes,
        exposed_ports=tuple(sorted(process.exposed_ports or ())),
        dropped=(*(name for name, field in _DROPPED.items() if getattr(process, field)), *requests),
    )


def _encode_canonical(process: dict[str, object], diff_ids: list[str]) -> bytes:
    """The document in one spelling: sorted keys, no spaces, no dates."""
    document = {
        "architecture": REQUIRED_PLATFORM.architecture,
        "config": process,
        "created": _EPOCH,
        "os": REQUIRED_PLATFORM.os,
        "rootfs": {"diff_ids": diff_ids, "type": "layers"},
    }
    return msgspec.json.encode(document, order="sorted")


def _check_platform(image: ImageConfig) -> None:
    if (image.os, image.architecture) != (REQUIRED_PLATFORM.os, REQUIRED_PLATFORM.architecture):
        raise make_platform_error(ImagePlatform(os=image.os, architecture=image.architecture))
    if image.rootfs.type != "layers":
        raise ArchiveInvalid(f"The image's file system is of the kind {quote(image.rootfs.type)}: build a Linux image.")


def _parse_words(value: list[str] | str | None, name: str) -> tuple[str, ...]:
    words = (value,) if isinstance(value, str) else tuple(value or ())
    if any("\0" in word for word in words):
        raise ArchiveUnsafe(f"The image's {name} has a NUL: write it as a list of plain words.")
    return words


def _clean_environment(process: ProcessConfig) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is kept, and the names of what asks the host for devices."""
    pairs = _parse_words(process.env, "ENV")
    if any(not pair.partition("=")[0] for pair in pairs):
        raise ArchiveInvalid("The image has an ENV without a name: write ENV NAME=value.")
    requests = tuple(pair.partition("=")[0] for pair in pairs if pair.partition("=")[0] in _GPU_REQUESTS)
    return tuple(pair for pair in pairs if pair.partition("=")[0] not in _GPU_REQUESTS), requests


def _clean_user(process: ProcessConfig) -> str:
    user = process.user or ""
    if not user.isprintable() or len(user) > 128:
        raise ArchiveUnsafe(f"The image's USER {quote(user)} is no name: write USER name or USER uid:gid.")
    return user


def _clean_stop_signal(process: ProcessConfig) -> str:
    signal = process.stop_signal or ""
    if signal and not _SIGNAL.fullmatch(signal):
        raise ArchiveInvalid(f"The image's STOPSIGNAL {quote(signal)} is no signal: write STOPSIGNAL SIGTERM.")
    return signal


def _clean_working_dir(process: ProcessConfig) -> str:
    return _clean_inner_path(process.working_dir, "WORKDIR") if process.working_dir else ""


def _clean_volumes(process: ProcessConfig) -> tuple[str, ...]:
    paths = tuple(sorted({_clean_inner_path(path, "VOLUME") for path in process.volumes or ()}))
    if len(paths) > _MOST_VOLUMES or "/" in paths:
        raise ArchiveUnsafe(f"The image has {len(paths)} VOLUMEs or one that covers everything: remove them.")
    return paths


def _clean_inner_path(raw: str, name: str) -> str:
    """A path of the container's own, not one of the kernel's."""
    path = PurePosixPath(raw)
    if not path.is_absolute() or ".." in path.parts or not raw.isprintable():
        raise ArchiveUnsafe(f"The image's {name} {quote(raw)} is no plain absolute path: write one such as /app.")
    parts = [part for part in path.parts if part.strip("/")]
    if len(raw.encode()) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_PART for part in parts):
        raise ArchiveUnsafe(
            f"The image's {name} {quote(raw)} is beyond {_LONGEST_PATH} bytes ({_LONGEST_PART} per part): shorten it."
        )
    clean = "/" + "/".join(parts)
    if any(clean == kernel or clean.startswith(f"{kernel}/") for kernel in _KERNEL_PATHS):
        raise ArchiveUnsafe(f"The image's {name} {quote(raw)} belongs to the kernel: use a folder such as /app.")
    if any(clean.startswith(f"{ours}/") for ours in _OUR_PATHS):
        raise ArchiveUnsafe(f"The image's {name} {quote(raw)} lies below a folder of ours: use one such as /app.")
    return clean


def _check_covered(working_dir: str, volumes: tuple[str, ...]) -> None:
    """A VOLUME begins empty, so a working folder below it is not there when the agent starts."""
    for volume in volumes:
        if working_dir.startswith(f"{volume}/"):
            raise ArchiveInvalid(
                f"The image's WORKDIR {quote(working_dir)} lies below its VOLUME {quote(volume)}, which begins empty: "
                "remove the VOLUME."
            )


def _check_size(words: tuple[str, ...]) -> None:
    """What a program gets when it starts has a limit in every kernel."""
    sizes = [len(word.encode("utf-8", "surrogatepass")) for word in words]
    if any(size > _LONGEST_WORD for size in sizes) or sum(sizes) > _MOST_WORDS_BYTES:
        raise ArchiveInvalid(
            f"The image's ENTRYPOINT, CMD and ENV have {sum(sizes)} bytes, beyond {_MOST_WORDS_BYTES} "
            f"({_LONGEST_WORD} per word): put them into a file."
        )
