"""`nav-eval data check` on folders of our own making, whole and broken, and on the real files where they are."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nav_eval.cli import app
from nav_eval.errors import NavEvalError
from nav_eval.evaluation.dataset_check import NothingKnown, check_data
from nav_eval.evaluation.scene_check import CheckedDataset, FindingKind
from support.paths import ROOT, TESTS

sys.path.insert(0, str(TESTS / "unit" / "dataset"))

from dataset_factories import (
    expert,
    image_document,
    long_task,
    object_document,
    point_episode,
    r2r_document,
    r2r_episode,
    rxr_episode,
    situation,
    step_task,
    write_content,
    write_json,
    write_sqa3d_pair,
    write_task_folder,
)

SHARED = ROOT / "../shared/data/episodes"
HM3D_SCAN, MP3D_SCAN = "TEEsavR23oF", "zsNo4HB9uLZ"
TRIANGLE = """ply
format ascii 1.0
element vertex 3
property float x
property float y
property float z
element face 1
property list uchar int vertex_indices
end_header
0 0 0
4 0 0
0 4 0
3 0 1 2
"""


@pytest.fixture
def glb(room_data: Path) -> bytes:
    return (room_data / "room.glb").read_bytes()


def put(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def only(collections: list[CheckedDataset]) -> CheckedDataset:
    (collection,) = collections
    return collection


def make_hm3d(root: Path, glb: bytes) -> None:
    put(root / f"hm3d/val/00800-{HM3D_SCAN}/{HM3D_SCAN}.basis.glb", glb)
    put(root / f"hm3d/val/00800-{HM3D_SCAN}/{HM3D_SCAN}.basis.navmesh", b"MSET")


def make_mp3d(root: Path, glb: bytes) -> None:
    put(root / f"mp3d/{MP3D_SCAN}/{MP3D_SCAN}.glb", glb)


def make_gibson(root: Path, glb: bytes) -> None:
    put(root / "gibson/Adrian.glb", glb)
    put(root / "gibson/Adrian.navmesh", b"MSET")


def make_replica(root: Path, glb: bytes) -> None:
    put(root / "replica/room_0/mesh.ply", TRIANGLE)


def make_scannet(root: Path, glb: bytes) -> None:
    put(root / "scannet/scans/scene0050_00/scene0050_00_vh_clean_2.ply", TRIANGLE)


def make_r2r(root: Path, glb: bytes) -> None:
    write_json(root / "R2R/val_unseen/val_unseen.json.gz", r2r_document())
    write_json(root / "R2R/val_unseen/val_unseen_gt.json.gz", {"1": expert()})


def make_rxr(root: Path, glb: bytes) -> None:
    for role in ("guide", "follower"):
        write_json(root / f"RxR/val_seen/val_seen_{role}.json.gz", {"episodes": [rxr_episode()]})


def make_objectnav(root: Path, glb: bytes) -> None:
    write_content(root / "objectnav/hm3d/v2", "val", {HM3D_SCAN: object_document()})


def make_imagenav(root: Path, glb: bytes) -> None:
    write_content(root / "instance_imagenav/hm3d/v3", "val", {HM3D_SCAN: image_document()})


def make_pointnav(root: Path, glb: bytes) -> None:
    write_content(root / "pointnav/gibson/v1", "val", {"Adrian": {"episodes": [point_episode()]}})


def make_lhvln(root: Path, glb: bytes) -> None:
    batch = {"0": {"lh_task": long_task(), "st_task": [step_task()]}}
    write_json(root / "lh_vln/episode_task/batch_6.json.gz", batch)


def make_lhvln_folders(root: Path, glb: bytes) -> None:
    write_task_folder(root / "lh_vln")


def make_sqa3d(root: Path, glb: bytes) -> None:
    write_sqa3d_pair(root / "sqa3d")


def make_sqa3d_localization(root: Path, glb: bytes) -> None:
    write_json(root / "sqa3d/v1_balanced_localization_val_scannetv2.json", {"annotations": [situation()]})


@pytest.mark.parametrize(
    ("make", "name", "counts"),
    [
        (make_hm3d, "HM3D", {"scenes": 1, "navigation meshes": 1, "read in full": 1}),
        (make_mp3d, "MP3D", {"scenes": 1, "read in full": 1}),
        (make_gibson, "Gibson", {"scenes": 1, "navigation meshes": 1, "read in full": 1}),
        (make_replica, "Replica", {"scenes": 1, "read in full": 1}),
        (make_scannet, "ScanNet", {"scenes": 1, "read in full": 1}),
        (make_r2r, "R2R-CE", {"splits": 1, "episodes read": 1, "expert files": 1}),
        (make_rxr, "RxR-CE", {"splits": 2, "episodes read": 2}),
        (make_objectnav, "ObjectNav", {"splits": 1, "episodes read": 1}),
        (make_imagenav, "ImageNav", {"splits": 1, "episodes read": 1}),
        (make_pointnav, "PointNav", {"splits": 1, "episodes read": 1}),
        (make_lhvln, "LH-VLN", {"splits": 1, "episodes read": 1}),
        (make_lhvln_folders, "LH-VLN", {"splits": 1, "episodes read": 1}),
        (make_sqa3d, "SQA3D", {"splits": 1, "episodes read": 1}),
        (make_sqa3d_localization, "SQA3D", {"splits": 1, "episodes read": 1}),
    ],
)
def test_every_dataset_is_recognised(
    make: Callable[[Path, bytes], None], name: str, counts: dict[str, int], tmp_path: Path, glb: bytes
) -> None:
    make(tmp_path, glb)
    collection = only(check_data(tmp_path))
    assert (collection.name, collection.counts) == (name, counts)
    assert collection.sound, collection.findings


def test_its_own_folder_will_do(tmp_path: Path, glb: bytes) -> None:
    """Whether one gives the data folder, the dataset's folder or the split's."""
    make_hm3d(tmp_path, glb)
    for folder in (tmp_path, tmp_path / "hm3d", tmp_path / "hm3d/val"):
        assert only(check_data(folder)).root == tmp_path / "hm3d"


def test_many_datasets_in_one_folder(tmp_path: Path, glb: bytes) -> None:
    makers = (make_hm3d, make_mp3d, make_replica, make_scannet, make_r2r, make_objectnav, make_sqa3d)
    for make in makers:
        make(tmp_path, glb)
    names = {collection.name for collection in check_data(tmp_path)}
    assert names == {"HM3D", "MP3D", "Replica", "ScanNet", "R2R-CE", "ObjectNav", "SQA3D"}


SCENE = f"hm3d/val/00800-{HM3D_SCAN}/{HM3D_SCAN}"


@pytest.mark.parametrize(
    ("spoil", "kind", "words"),
    [
        (lambda root, glb: (root / f"{SCENE}.basis.glb").unlink(), FindingKind.MISSING, "has no mesh"),
        (lambda root, glb: put(root / f"{SCENE}.basis.glb", glb[:5000]), FindingKind.CORRUPT, "is cut off: 5,000 of"),
        (lambda root, glb: put(root / f"{SCENE}.basis.glb", b""), FindingKind.CORRUPT, "is empty"),
        (lambda root, glb: put(root / f"{SCENE}.basis.glb", b"<html>sorry"), FindingKind.CORRUPT, "is no GLB"),
        (
            lambda root, glb: put(root / f"{SCENE}.basis.glb", "version https://git-lfs.github.com/spec/v1\n"),
            FindingKind.CORRUPT,
            "Git LFS pointer",
        ),
        (lambda root, glb: put(root / f"{SCENE}.semantic.txt", "x\n"), FindingKind.MISSING, "half annotated"),
        (
            lambda root, glb: put(root / f"{SCENE}.basis.glb", glb[:12] + bytes(len(glb) - 12)),
            FindingKind.CORRUPT,
            "",  # whatever the reader says
        ),
    ],
    ids=["no mesh", "cut off", "empty", "web page", "pointer", "half annotated", "rotten inside"],
)
def test_what_is_wrong_with_a_scene_is_said(
    spoil: Callable[[Path, bytes], None], kind: FindingKind, words: str, tmp_path: Path, glb: bytes
) -> None:
    make_hm3d(tmp_path, glb)
    spoil(tmp_path, glb)
    collection = only(check_data(tmp_path))
    assert not collection.sound
    assert any(finding.kind is kind and words in finding.text for finding in collection.findings), collection.findings


@pytest.mark.parametrize(
    ("spoil", "kind", "words"),
    [
        (lambda root: put(root / "R2R/val_unseen/val_unseen.json.gz", b"\x1f\x8bno"), None, "Nothing under"),
        (lambda root: write_json(root / "R2R/val_unseen/val_unseen_gt.json.gz", {}), FindingKind.CORRUPT, "no entry"),
        (lambda root: (root / "R2R/val_unseen/val_unseen_gt.json.gz").unlink(), FindingKind.NOTE, "nDTW"),
        (
            lambda root: write_json(
                root / "R2R/val_unseen/val_unseen.json.gz", r2r_document(r2r_episode(start_position=[1.0, 2.0]))
            ),
            FindingKind.CORRUPT,
            "start_position",
        ),
    ],
    ids=["not gzip", "expert of others", "no expert", "bad episode"],
)
def test_what_is_wrong_with_episodes_is_said(
    spoil: Callable[[Path], object], kind: FindingKind | None, words: str, tmp_path: Path, glb: bytes
) -> None:
    make_r2r(tmp_path, glb)
    spoil(tmp_path)
    if kind is None:
        with pytest.raises(NothingKnown, match=words):
            check_data(tmp_path)
        return
    collection = only(check_data(tmp_path))
    assert collection.sound is (kind is FindingKind.NOTE)
    assert any(finding.kind is kind and words in finding.text for finding in collection.findings), collection.findings


def test_content_that_is_gone_is_said(tmp_path: Path, glb: bytes) -> None:
    make_objectnav(tmp_path, glb)
    next((tmp_path / "objectnav/hm3d/v2/val/content").iterdir()).unlink()
    assert not only(check_data(tmp_path)).sound


def test_half_of_a_pair_is_said(tmp_path: Path, glb: bytes) -> None:
    make_sqa3d(tmp_path, glb)
    (tmp_path / "sqa3d/v1_balanced_sqa_annotations_test_scannetv2.json").unlink()
    assert not only(check_data(tmp_path)).sound


def test_missing_batches_are_named(tmp_path: Path, glb: bytes) -> None:
    make_lhvln(tmp_path, glb)
    scenes, note = only(check_data(tmp_path)).findings
    assert {scenes.kind, note.kind} == {FindingKind.NOTE}
    assert "not looked for: --scenes FOLDER" in scenes.text
    assert "batch_1" in note.text
    assert "batch_6" not in note.text


def test_scenes_of_episodes_are_looked_for(tmp_path: Path, glb: bytes) -> None:
    make_r2r(tmp_path, glb)
    wanted = f"1 of 1 scenes are not under {tmp_path}: mp3d/{MP3D_SCAN}/{MP3D_SCAN}.glb"
    before = only(check_data(tmp_path, scenes=tmp_path))
    assert [finding.text for finding in before.findings if finding.kind is FindingKind.MISSING] == [f"{wanted}."]
    make_mp3d(tmp_path / "scene_datasets", glb)
    after = {collection.name: collection for collection in check_data(tmp_path)}  # found without being told
    assert after["R2R-CE"].sound
    assert after["R2R-CE"].counts["scenes found"] == 1


def test_all_reads_all(tmp_path: Path, glb: bytes) -> None:
    for number in range(3):
        put(tmp_path / f"gibson/House{number}.glb", glb)
    write_json(tmp_path / "R2R/val_seen.json.gz", r2r_document(*(r2r_episode(number) for number in range(30))))
    some = {collection.name: collection.counts for collection in check_data(tmp_path)}
    every = {collection.name: collection.counts for collection in check_data(tmp_path, everything=True)}
    assert (some["Gibson"]["read in full"], every["Gibson"]["read in full"]) == (1, 3)
    assert (some["R2R-CE"]["episodes read"], every["R2R-CE"]["episodes"]) == (20, 30)


def test_a_link_in_a_circle_ends(tmp_path: Path, glb: bytes) -> None:
    make_gibson(tmp_path, glb)
    (tmp_path / "gibson/again").symlink_to(tmp_path, target_is_directory=True)
    assert only(check_data(tmp_path)).counts["scenes"] == 1


@pytest.mark.parametrize("folder", ["empty", "not/there"])
def test_nothing_to_recognise(folder: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NavEvalError, match=r"docs/data\.md|is no folder"):
        check_data(tmp_path / folder)


def test_the_command(tmp_path: Path, glb: bytes) -> None:
    make_hm3d(tmp_path, glb)
    run = CliRunner().invoke(app, ["data", "check", str(tmp_path)])
    assert run.exit_code == 0, run.output
    assert "HM3D" in run.stdout
    assert "has 1 of the release's 100 scenes" in run.stdout
    (tmp_path / f"{SCENE}.basis.glb").unlink()
    broken = CliRunner().invoke(app, ["data", "check", str(tmp_path), "--json"])
    assert broken.exit_code == 1
    (report,) = json.loads(broken.stdout)
    assert report["sound"] is False
    assert {finding["kind"] for finding in report["findings"]} == {"missing", "note"}


def test_names_of_strangers_reach_no_terminal(tmp_path: Path, glb: bytes) -> None:
    put(tmp_path / "gibson/[red]\x1b[31mHouse.glb", b"no")
    run = CliRunner().invoke(app, ["data", "check", str(tmp_path)])
    assert run.exit_code == 1
    assert "\x1b[31m" not in run.stdout
    assert "[red]" in run.stdout


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real files of ../shared/data are not here")
def test_the_real_files() -> None:
    collections = check_data(SHARED, everything=True)
    assert all(collection.sound for collection in collections)
    counts = {collection.name: collection.counts["episodes"] for collection in collections}
    assert counts == {"ObjectNav": 30, "ImageNav": 48, "SQA3D": 3519}
