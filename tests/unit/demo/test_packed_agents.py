"""`nav-eval-sdk pack`: an image without Docker, that the server's own checks accept."""

import hashlib
import os
import shutil
import tarfile
from pathlib import Path

import pytest

import nav_eval_demo
from nav_eval_sdk.cli import main
from nav_eval_sdk.errors import SdkError
from nav_eval_sdk.project import pack_folder
from nav_eval_worker.archives import inspect_archive, rewrite_archive
from nav_eval_worker.archives.rootfs import unpack_image

AGENTS = Path(nav_eval_demo.__file__).parent / "agents"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "My Agent"
    (folder / "weights" / "deep").mkdir(parents=True)
    (folder / "agent.py").write_text("print('hello')\n")
    (folder / "weights" / "deep" / "ä.bin").write_bytes(bytes(range(256)) * 4096)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "agent.pyc").write_bytes(b"old")
    return folder


def test_the_server_accepts_it(project, tmp_path):
    summary = inspect_archive(pack_folder(project, tmp_path / "image.tar"))
    assert summary.entrypoint == ("python", "agent.py")
    assert summary.working_dir == "/agent"
    assert not summary.runs_as_root
    assert len(summary.layers) == 1


def test_the_files_come_out_as_they_went_in(project, tmp_path):
    packed = pack_folder(project, tmp_path / "image.tar")
    summary = rewrite_archive(packed, tmp_path / "canonical.tar")
    unpack_image(tmp_path / "canonical.tar", tmp_path / "root", summary)
    there = tmp_path / "root" / "agent"
    found = {path.relative_to(there).as_posix(): path.read_bytes() for path in there.rglob("*") if path.is_file()}
    assert found == {
        "agent.py": b"print('hello')\n",
        "run.sh": b"#!/bin/sh\n",
        "weights/deep/ä.bin": bytes(range(256)) * 4096,
    }
    assert os.access(there / "run.sh", os.X_OK)
    assert not os.access(there / "agent.py", os.X_OK) or os.geteuid() == 0


def test_the_same_folder_gives_the_same_bytes(project, tmp_path):
    first = pack_folder(project, tmp_path / "first.tar").read_bytes()
    copied = tmp_path / "elsewhere" / "My Agent"
    shutil.copytree(project, copied, copy_function=shutil.copy)
    for path in copied.rglob("*"):
        os.utime(path, (1, 1))
    assert pack_folder(copied, tmp_path / "second.tar").read_bytes() == first
    (copied / "agent.py").write_text("print('other')\n")
    assert pack_folder(copied, tmp_path / "second.tar").read_bytes() != first


def test_it_is_what_docker_save_writes(project, tmp_path):
    """Names of members are the digests of their bytes."""
    with tarfile.open(pack_folder(project, tmp_path / "image.tar")) as archive:
        contents = {member.name: archive.extractfile(member).read() for member in archive}
    named = {name.partition(".")[0]: data for name, data in contents.items() if name != "manifest.json"}
    assert len(named) == 2
    assert all(hashlib.sha256(data).hexdigest() == name for name, data in named.items())


def link(folder: Path) -> None:
    (folder / "passwords").symlink_to("/etc/passwd")


def linked_folder(folder: Path) -> None:
    (folder / "etc").symlink_to("/etc")


def pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


@pytest.mark.parametrize("breaking", [link, linked_folder, pipe])
def test_only_files_and_folders(project, tmp_path, breaking):
    breaking(project)
    with pytest.raises(SdkError, match="neither a file nor a folder"):
        pack_folder(project, tmp_path / "image.tar")
    assert not (tmp_path / "image.tar").exists()


def test_the_command_line(project, tmp_path, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["pack", str(project), "--out", str(tmp_path / "image.tar"), "--", "python3", "main.py", "--fast"])
    assert capsys.readouterr().out.strip() == str(tmp_path / "image.tar")
    assert inspect_archive(tmp_path / "image.tar").entrypoint == ("python3", "main.py", "--fast")


@pytest.mark.parametrize("folder", ["empty", "nowhere"])
def test_a_folder_without_an_agent(tmp_path, folder, capsys):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit, match="2"):
        main(["pack", str(tmp_path / folder), "--out", str(tmp_path / "image.tar")])
    assert folder in capsys.readouterr().err


@pytest.mark.parametrize("name", ["random", "forward", "keyword"])
def test_the_demo_agents_can_be_packed(name, tmp_path):
    source = AGENTS / name / "agent.py"
    assert len(source.read_text().splitlines()) < 30, "an agent is a page at most"
    assert inspect_archive(pack_folder(source.parent, tmp_path / "image.tar")).image_id.startswith("sha256:")
