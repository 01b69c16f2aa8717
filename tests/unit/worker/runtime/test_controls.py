"""Control experiments: an image of ours in the teams' form, and engines' words without the host's paths."""

import hashlib
from pathlib import Path

import pytest
from docker.errors import APIError, DockerException

from nav_eval.agents.failures import AgentCrash, EpisodeFailure, ImageInvalid
from nav_eval_worker.archives import inspect_archive
from nav_eval_worker.runtime.base import RuntimeUnavailable
from nav_eval_worker.runtime.containers.controls import (
    blame_load,
    blame_start,
    hide_host_paths,
    write_control_archive,
)


@pytest.mark.parametrize("size", [0, 1, 512, 3_000_001])
def test_the_control_image_is_one_that_we_would_take(tmp_path: Path, size: int) -> None:
    name = write_control_archive(tmp_path / "control.tar", size=size)
    summary = inspect_archive(tmp_path / "control.tar")
    assert summary.unpacked_bytes == 512 + size + -size % 512
    assert name == f"nav-eval/submission:{summary.uploaded_config_digest.removeprefix('sha256:')}"
    assert len(hashlib.sha256((tmp_path / "control.tar").read_bytes()).hexdigest()) == 64


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            'error mounting "/data/docker/volumes/x-rpc/_data" to rootfs at "/rpc": not a directory',
            'error mounting "/" to rootfs at "/rpc": not a directory',
        ),
        ("mkdir /srv/engine/overlay2/0a1b/merged/app/x: not a directory", "mkdir /app/x: not a directory"),
        ("link /srv/engine/overlay2/0a1b/diff/a: no such file", "link …: no such file"),
        ('exec: "/agent/run": permission denied', 'exec: "/agent/run": permission denied'),
        ("open /run/containerd/io.containerd.runtime.v2.task/moby/1f/config.json: no", "open …: no"),
    ],
)
def test_no_path_of_the_host_is_told(said: str, told: str) -> None:
    assert hide_host_paths(said) == told


def refuse(status: int = 500) -> APIError:
    class Response:
        status_code = status

    return APIError("refused", response=Response(), explanation="no space left on device")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "is_well", "failure"),
    [
        (refuse(), True, AgentCrash),
        (refuse(), False, RuntimeUnavailable),
        (refuse(409), True, RuntimeUnavailable),  # its name is taken: by something of ours
        (ConnectionError("gone"), True, RuntimeUnavailable),
    ],
)
def test_a_start_that_fails_is_whose_fault(error: Exception, is_well: bool, failure: type[EpisodeFailure]) -> None:
    with pytest.raises(failure), blame_start(lambda: is_well):
        raise error


@pytest.mark.parametrize(
    ("error", "is_well", "failure"),
    [
        (refuse(), True, ImageInvalid),
        (refuse(), False, RuntimeUnavailable),
        (DockerException("gone"), True, RuntimeUnavailable),
    ],
)
def test_a_load_that_fails_is_whose_fault(error: Exception, is_well: bool, failure: type[EpisodeFailure]) -> None:
    with pytest.raises(failure), blame_load(lambda: is_well):
        raise error
