"""Archives that honest tools write: all are read, and all become the same canonical archive."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from nav_eval_worker.archives import ArchiveInvalid, inspect_archive, make_submission_name, rewrite_archive
from support.archives import (
    APP,
    BASE,
    INDEX_TYPE,
    LAYERS,
    PACKERS,
    File,
    Image,
    blob_file,
    descriptor,
    digest,
    index_blob,
    oci_top,
    symlink,
    tar,
)

LAYOUTS = ("docker", "oci", "both")


def members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {item.name: archive.extractfile(item).read() for item in archive}  # type: ignore[union-attr]


def packed(layout: str, packing: str, layer_packing: str = "none", **more) -> io.BytesIO:
    image = Image(layer_packing=layer_packing, **more)
    return io.BytesIO(PACKERS[packing](tar(getattr(image, layout)())))


@pytest.mark.parametrize("layer_packing", PACKERS)
@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_and_packing_becomes_the_same_archive(
    tmp_path: Path, layout: str, packing: str, layer_packing: str
) -> None:
    (tmp_path / "reference").mkdir()
    reference = rewrite_archive(packed("docker", "none"), tmp_path / "reference" / "a.tar")
    summary = rewrite_archive(packed(layout, packing, layer_packing), tmp_path / "b.tar")
    assert summary.compression == packing
    assert summary.format == ("docker+oci" if layout == "both" else layout)
    assert summary.archive_digest == reference.archive_digest
    assert (tmp_path / "b.tar").read_bytes() == (tmp_path / "reference" / "a.tar").read_bytes()
    assert digest((tmp_path / "b.tar").read_bytes()) == summary.archive_digest


def test_the_canonical_archive_holds_the_image_and_our_name_only(tmp_path: Path) -> None:
    summary = rewrite_archive(packed("both", "gzip", tags=("postgres:16", "redis:7-alpine")), tmp_path / "out.tar")
    files = members(tmp_path / "out.tar")
    (entry,) = json.loads(files["manifest.json"])
    assert sorted(files) == list(files) == sorted([entry["Config"], *entry["Layers"], "manifest.json"])
    assert entry["RepoTags"] == [summary.name] == [make_submission_name(summary.image_id)]
    assert [files[path] for path in entry["Layers"]] == list(LAYERS)
    assert digest(files[entry["Config"]]) == summary.image_id
    everything = (tmp_path / "out.tar").read_bytes()
    assert b"postgres" not in everything
    assert b"redis" not in everything


def test_the_rewritten_archive_passes_again_with_the_same_id(tmp_path: Path) -> None:
    first = rewrite_archive(packed("oci", "zstd", "gzip"), tmp_path / "once.tar", name="nav-eval/submission:1")
    again = rewrite_archive(tmp_path / "once.tar", tmp_path / "twice.tar", name="nav-eval/submission:1")
    assert (tmp_path / "once.tar").read_bytes() == (tmp_path / "twice.tar").read_bytes()
    assert again.uploaded_config_digest == again.image_id == first.image_id


@pytest.mark.parametrize(
    "name", ["postgres:16", "nav-eval/submission", "nav-eval/:x", "nav-eval/a:b c", "nav-eval/../a:b"]
)
def test_only_names_of_ours_can_be_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="nav-eval/WORDS"):
        rewrite_archive(packed("docker", "none"), tmp_path / "out.tar", name=name)
    assert list(tmp_path.iterdir()) == []


def test_the_summary_says_what_is_inside() -> None:
    image = Image()
    summary = inspect_archive(io.BytesIO(tar(image.docker())))
    assert summary.uploaded_config_digest == digest(image.config)
    assert summary.image_id != summary.uploaded_config_digest
    assert [layer.diff_id for layer in summary.layers] == [digest(BASE), digest(APP)]
    assert summary.unpacked_bytes == len(BASE) + len(APP)
    assert summary.files == 11 + 4
    assert summary.setuid_files == 1
    assert summary.names == ("my-agent:latest",)
    assert (summary.entrypoint, summary.command) == (("python3", "-u"), ("/app/agent.py",))
    assert (summary.working_dir, summary.user, summary.runs_as_root) == ("/app", "agent", False)


def test_an_image_of_the_same_content_is_recognised() -> None:
    one = inspect_archive(packed("docker", "none", tags=("a:1",), top={"created": "2026-05-05T00:00:00Z"}))
    two = inspect_archive(packed("oci", "gzip", tags=("b:2",), process={"Labels": {"build": "7"}}))
    other = inspect_archive(packed("docker", "none", process={"Cmd": ["/app/other.py"]}))
    assert one.content_digest == two.content_digest
    assert one.uploaded_config_digest != two.uploaded_config_digest
    assert other.content_digest != one.content_digest


def test_what_could_hurt_is_taken_out_and_said(tmp_path: Path) -> None:
    process = {
        "ExposedPorts": {"8080/tcp": {}},
        "Volumes": {"/data/": {}, "/cache": {}},
        "Labels": {"com.docker.compose.project": "nav-eval"},
        "Healthcheck": {"Test": ["CMD-SHELL", "curl evil"]},
        "OnBuild": ["RUN evil"],
        "Env": ["PATH=/usr/bin", "NVIDIA_VISIBLE_DEVICES=all"],
        "User": "0:0",
    }
    summary = rewrite_archive(packed("docker", "none", process=process), tmp_path / "out.tar")
    config = json.loads(members(tmp_path / "out.tar")[f"{summary.image_id[7:]}.json"])
    assert set(config) == {"architecture", "config", "created", "os", "rootfs"}
    assert set(config["config"]) == {"Cmd", "Entrypoint", "Env", "User", "WorkingDir"}
    assert config["config"]["Env"] == ["PATH=/usr/bin"]
    assert summary.volumes == ("/cache", "/data")
    assert summary.exposed_ports == ("8080/tcp",)
    assert summary.runs_as_root
    gone = {"ExposedPorts", "Volumes", "Labels", "Healthcheck", "OnBuild", "NVIDIA_VISIBLE_DEVICES"}
    assert set(summary.dropped) == gone


@pytest.mark.parametrize("user", ["", "0", "root", "root:staff", "0:10001"])
def test_root_is_noted(user: str) -> None:
    assert inspect_archive(packed("docker", "none", process={"User": user})).runs_as_root


def test_several_tags_of_one_image_are_one_image() -> None:
    tags = ("a:1", "b:2", "c:3")
    assert inspect_archive(packed("docker", "none", tags=tags)).names == tags
    assert len(inspect_archive(packed("oci", "none", tags=tags)).names) == 3
    image = Image()
    entry = json.loads(next(file.data for file in image.docker() if file.name == "manifest.json"))[0]
    twice = json.dumps([entry | {"RepoTags": ["x:1"]}, entry | {"RepoTags": ["y:1"]}]).encode()
    files = [file for file in image.docker() if file.name != "manifest.json"]
    assert inspect_archive(io.BytesIO(tar([*files, File("manifest.json", twice)]))).names == ("x:1", "y:1")


def test_repeated_layers_may_be_links_as_old_engines_write_them(tmp_path: Path) -> None:
    image = Image(layers=(BASE, APP, APP))
    files = image.docker()
    repeated = [file.name for file in files if file.name.endswith("layer.tar")][-1]
    first = [file.name for file in files if file.name.endswith("layer.tar")][1]
    files = [symlink(repeated, f"../{first}") if file.name == repeated else file for file in files]
    summary = rewrite_archive(io.BytesIO(tar(files)), tmp_path / "out.tar")
    assert len(summary.layers) == 3
    assert len(members(tmp_path / "out.tar")) == 2 + 2  # each layer's bytes once


def test_buildkit_attestations_and_other_platforms_are_left_out() -> None:
    image, foreign = Image(), b'{"not": "here"}'
    note = b'{"layers": [], "config": {}}'
    items = [
        descriptor(image.manifest(), platform={"os": "linux", "architecture": "amd64"}),
        descriptor(foreign, platform={"os": "linux", "architecture": "arm64", "variant": "v8"}),
        descriptor(note, platform={"os": "unknown", "architecture": "unknown"}),
        descriptor(b"{}", annotations={"vnd.docker.reference.type": "attestation-manifest"}),
    ]
    nested = index_blob(items)
    files = [file for file in image.oci() if file.name not in {"index.json", "oci-layout"}]
    files += [blob_file(nested), blob_file(note), *oci_top([descriptor(nested, INDEX_TYPE)])]
    assert inspect_archive(io.BytesIO(tar(files))).uploaded_config_digest == digest(image.config)


def test_other_builders_spellings_are_read() -> None:
    """`tar -C layout -c .` puts ./ before names; kaniko calls the root `/`; stargz packs a gzip member per file."""
    layer = tar([File("/", type=tarfile.DIRTYPE), File("app/agent.py", b"x")])
    image = Image(layers=(layer,))
    files = [File(f"./{file.name}", file.data, type=file.type, mode=file.mode) for file in image.oci()]
    assert inspect_archive(io.BytesIO(tar(files))).layers[0].files == 1
    half = len(BASE) // 2
    members_of_gzip = PACKERS["gzip"](BASE[:half]) + PACKERS["gzip"](b"") + PACKERS["gzip"](BASE[half:])
    files = Image(layers=(BASE,)).docker()
    files = [File(file.name, members_of_gzip) if file.name.endswith("layer.tar") else file for file in files]
    assert inspect_archive(io.BytesIO(tar(files))).layers[0].diff_id == digest(BASE)


def test_an_empty_layer_is_a_layer() -> None:
    assert inspect_archive(packed("both", "none", layers=(BASE, bytes(1024)))).layers[1].files == 0


def test_a_slow_stream_in_small_pieces_is_read_like_a_file() -> None:
    class Trickle(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(size or 0, 700))

    data = packed("docker", "zstd").getvalue()
    assert inspect_archive(Trickle(data)) == inspect_archive(io.BytesIO(data))


def test_a_path_is_read_like_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "image.tar"
    path.write_bytes(packed("both", "gzip").getvalue())
    assert inspect_archive(path) == inspect_archive(packed("both", "gzip"))


def test_a_full_disk_is_not_the_teams_fault(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file") as caught:
        rewrite_archive(packed("docker", "none"), tmp_path / "missing" / "out.tar")
    assert not isinstance(caught.value, ArchiveInvalid)
