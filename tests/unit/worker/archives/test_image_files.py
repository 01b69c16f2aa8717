"""An image's layers laid on top of each other in a folder, and nothing outside of it touched."""

from pathlib import Path

import pytest

from nav_eval_worker.archives import ArchiveInvalid, rewrite_archive
from nav_eval_worker.archives.rootfs import resolve_path, unpack_image
from support.archives import File, folder, hardlink, symlink, tar
from support.worker import image_archive


def unpacked(tmp_path: Path, *layers: list[File]) -> Path:
    archive = tmp_path / "upload.tar"
    archive.write_bytes(image_archive(layers=tuple(tar(files) for files in layers)))
    summary = rewrite_archive(archive, tmp_path / "image.tar")
    unpack_image(tmp_path / "image.tar", tmp_path / "root", summary)
    return tmp_path / "root"


def files_of(root: Path) -> dict[str, str]:
    found = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(path.relative_to(root)): path.read_text() for path in found}


def test_later_layers_win(tmp_path: Path) -> None:
    root = unpacked(
        tmp_path,
        [File("app/a", b"1"), File("app/b", b"1"), File("etc/x", b"1")],
        [File("app/b", b"2"), File("app/c", b"2", mode=0o4755)],
    )
    assert files_of(root) == {"app/a": "1", "app/b": "2", "app/c": "2", "etc/x": "1"}
    assert (root / "app/c").stat().st_mode & 0o7777 == 0o755  # no more rights than its user has


def test_whiteouts_delete_what_is_below_and_nothing_beside(tmp_path: Path) -> None:
    root = unpacked(
        tmp_path,
        [File("app/a", b"1"), File("app/b", b"1"), File("old/x", b"1"), File("old/deep/y", b"1"), File("keep", b"1")],
        [File("app/.wh.a"), File("old/new", b"2"), File("old/.wh..wh..opq"), File("app/.wh.never-there")],
    )
    assert files_of(root) == {"app/b": "1", "old/new": "2", "keep": "1"}


def test_links_work_inside(tmp_path: Path) -> None:
    root = unpacked(
        tmp_path,
        [folder("usr/lib"), symlink("lib", "/usr/lib"), File("usr/lib/a", b"1")],
        [folder("lib"), File("lib/b", b"2"), hardlink("app/same", "lib/b")],  # through a link of the layer below
    )
    assert files_of(root) == {"usr/lib/a": "1", "usr/lib/b": "2", "app/same": "2"}
    assert (root / "app/same").stat().st_ino == (root / "usr/lib/b").stat().st_ino


@pytest.mark.parametrize("target", ["/", "../../../../../..", "/etc", "//../.."])
def test_nothing_is_written_through_a_link_that_leads_out(tmp_path: Path, target: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    place = str(tmp_path).lstrip("/")
    root = unpacked(
        tmp_path,
        [symlink("way", target)],
        [File(f"way/{place}/victim", b"stolen"), File("way/new", b"new"), File(f"way/{place}/.wh.victim.tar")],
    )
    assert victim.read_text() == "mine"
    assert "stolen" in files_of(root).values()
    assert not Path("/new").exists()


def test_a_link_to_a_file_outside_is_replaced_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    root = unpacked(tmp_path, [symlink("app/a", str(victim))], [File("app/a", b"2")])
    assert victim.read_text() == "mine"
    assert files_of(root) == {"app/a": "2"}


@pytest.mark.parametrize(
    "layers",
    [
        ([symlink("a", "b"), symlink("b", "a"), File("a/c", b"1")],),  # a circle
        ([File("a", b"1"), File("a/b", b"1")],),  # a file that is a folder
        ([hardlink("a", "nothing")],),
    ],
    ids=["circle", "file and folder", "hard link to nothing"],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, layers: tuple[list[File], ...]) -> None:
    with pytest.raises(ArchiveInvalid):
        unpacked(tmp_path, *layers)


def test_paths_are_resolved_as_if_the_folder_were_the_root(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to("/a")
    (tmp_path / "a" / "up").symlink_to("../../..")
    assert resolve_path(tmp_path, "/b/x") == tmp_path / "a" / "x"
    assert resolve_path(tmp_path, "b/up/up2") == tmp_path / "up2"
    assert resolve_path(tmp_path, "../../x") == tmp_path / "x"
