"""The machine: processors, memory, disks, limits; and libraries whose version or build decides how fast things are."""

import os
import platform
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import nav_eval
from nav_eval_worker.doctor.installation import Finding, Installation, Level, confirm, fail, note, warn

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 (looked at, not written to)
CGROUP = Path("/sys/fs/cgroup")
OLDEST_PYTHON = (3, 11)


def check_python(_: Installation) -> Iterator[Finding]:
    found = f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}"
    if sys.version_info < OLDEST_PYTHON:
        yield fail("python", found, "Install Python 3.11 or newer, then `make setup PYTHON=python3.11`.")
    else:
        yield confirm("python", found)


def check_cores(_: Installation) -> Iterator[Finding]:
    usable = count_usable_cores()
    found = f"{usable:g} of {os.cpu_count()}"
    if usable < 2:
        yield warn("cores", found, "Simulator and agent share one core; give this machine two or more.")
    else:
        yield confirm("cores", found)


def count_usable_cores() -> float:
    """What scheduling and the control group leave to this process."""
    allowed = float(len(os.sched_getaffinity(0)))
    quota, _, period = _read(CGROUP / "cpu.max").partition(" ")
    return min(allowed, int(quota) / int(period)) if quota.isdigit() and period.isdigit() else allowed


def check_memory(here: Installation) -> Iterator[Finding]:
    total, free = measure_memory()
    level = _get_level(free, here.needs.memory_bytes)
    found = f"{_format_size(free)} free of {_format_size(total)}"
    advice = (
        "" if level is Level.OK else "An evaluation takes about 1 GB and the agent what it needs: end other programs."
    )
    yield Finding(check="memory", level=level, found=found, advice=advice)


def measure_memory() -> tuple[int, int]:
    """Total and free, by the machine and by the control group, whichever is less."""
    lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    total, free = (int(lines[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    limit, used = _read(CGROUP / "memory.max"), _read(CGROUP / "memory.current")
    if limit.isdigit() and used.isdigit():
        total, free = min(total, int(limit)), min(free, max(0, int(limit) - int(used)))
    return total, free


def check_open_files(here: Installation) -> Iterator[Finding]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = sys.maxsize if soft == resource.RLIM_INFINITY else soft
    level = _get_level(limit, here.needs.open_files)
    advice = (
        ""
        if level is Level.OK
        else f"Run `ulimit -n 4096` first, or LimitNOFILE=4096 in the service; {hard} is allowed."
    )
    yield Finding(check="open files", level=level, found=f"{soft} at once", advice=advice)


def check_shared_memory(here: Installation) -> Iterator[Finding]:
    if not SHARED_MEMORY.is_dir():
        yield warn(
            "shared memory", f"no {SHARED_MEMORY}", "Mount a tmpfs there: pictures travel in messages without it."
        )
        return
    free = shutil.disk_usage(SHARED_MEMORY).free
    if free < here.needs.shared_memory_bytes:
        advice = "Pictures travel in messages, which is slower: give the container --shm-size=1g."
        yield warn("shared memory", f"{_format_size(free)} free", advice)
    else:
        yield confirm("shared memory", f"{_format_size(free)} free")


def check_disks(here: Installation) -> Iterator[Finding]:
    """Room and files left, on every file system that is written to."""
    places: dict[tuple[int, str], list[str]] = {}
    for name, folder in {**here.folders, "temporary": Path(tempfile.gettempdir())}.items():
        there = _find_existing(folder)
        places.setdefault((there.stat().st_dev, str(there)), []).append(name)
    seen: set[int] = set()
    for (device, path), names in places.items():
        if device not in seen:
            seen.add(device)
            sharing = [n for (d, _), others in places.items() if d == device for n in others]
            yield from _check_disk(here, path, ", ".join(sharing) or ", ".join(names))


def _check_disk(here: Installation, path: str, names: str) -> Iterator[Finding]:
    free = shutil.disk_usage(path).free
    level = _get_level(free, here.needs.disk_bytes)
    advice = (
        "" if level is Level.OK else "Images and replays need room: free some, or set NAV_EVAL_HOME and NAV_EVAL_CACHE."
    )
    yield Finding(check="disk", level=level, found=f"{_format_size(free)} free for {names}", advice=advice)
    status = os.statvfs(path)
    if status.f_files:  # some file systems (btrfs) have as many as they have room
        level = _get_level(status.f_favail, here.needs.inodes)
        advice = "" if level is Level.OK else "Too many small files: delete old runs, or use another file system."
        yield Finding(check="inodes", level=level, found=f"{status.f_favail:,} free for {names}", advice=advice)


def check_folders(here: Installation) -> Iterator[Finding]:
    """Whether one can write there, by writing; for a folder that is not there yet, where it will be made."""
    variables = {"cache": "NAV_EVAL_CACHE", "blobs": "NAV_EVAL_BLOBS"}
    for name, folder in here.folders.items():
        try:
            with tempfile.NamedTemporaryFile(dir=_find_existing(folder), prefix=".nav-eval-doctor-") as file:
                file.write(bytes(65536))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            variable = variables.get(name, "NAV_EVAL_HOME")
            advice = f"Give this user the right to write there, free some room, or set {variable} to another folder."
            yield fail(f"{name} folder", f"{folder}: {error.strerror}", advice)
        else:
            yield confirm(f"{name} folder", str(folder))


def check_kernels(_: Installation) -> Iterator[Finding]:
    """Whether numba's compiled kernels are kept, and are there already."""
    import nav_eval

    package = Path(nav_eval.__file__).parent
    kept = Path(chosen) if (chosen := os.environ.get("NUMBA_CACHE_DIR")) else package
    count = sum(1 for _ in kept.rglob("*.nbi"))
    if not os.access(kept, os.W_OK) and not count:
        yield warn("compiled kernels", f"{kept} cannot be written", "Set NUMBA_CACHE_DIR to a folder that can.")
    elif not count:
        advice = (
            "The first evaluation compiles for half a minute; `python -m nav_eval.scene.navigation.warmup` does it now."
        )
        yield note("compiled kernels", "none yet", advice)
    else:
        yield confirm("compiled kernels", f"{count} in {kept}")


def _find_existing(folder: Path) -> Path:
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())


def _get_level(value: float, needs: tuple[float, float]) -> Level:
    return Level.OK if value >= needs[0] else Level.WARN if value >= needs[1] else Level.FAIL


def _format_size(amount: float) -> str:
    return f"{amount / 1e9:.1f} GB"


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def check_libraries(_: Installation) -> Iterator[Finding]:
    yield confirm("nav-eval", nav_eval.__version__)
    yield from _check_sdk()
    yield from _check_protobuf()


def _check_sdk() -> Iterator[Finding]:
    try:
        yield confirm("nav-eval-sdk", version("nav-eval-sdk"))
    except PackageNotFoundError:
        yield note("nav-eval-sdk", "not installed", "Teams need it, and `nav-eval demo`: pip install nav-eval-sdk.")


def _check_protobuf() -> Iterator[Finding]:
    from google.protobuf.internal import api_implementation

    found = f"grpcio {version('grpcio')}, protobuf {version('protobuf')} ({api_implementation.Type()})"
    if api_implementation.Type() == "python":
        advice = "Messages are read by slow Python code: install a protobuf wheel for this platform, and unset "
        yield warn("grpc", found, advice + "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION.")
    else:
        yield confirm("grpc", found)
