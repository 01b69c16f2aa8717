"""Real archives for the tests: what docker, podman and buildx write, in every packing."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import zstandard

PACKERS = {
    "none": lambda data: data,
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zstd": lambda data: zstandard.ZstdCompressor().compress(data),
}


@dataclass(frozen=True)
class File:
    """One member of a tar."""

    name: str
    data: bytes = b""
    type: bytes = tarfile.REGTYPE
    link: str = ""
    mode: int = 0o644
    device: tuple[int, int] = (0, 0)
    pax: dict[str, str] = field(default_factory=dict)


def folder(name: str) -> File:
    return File(name, type=tarfile.DIRTYPE, mode=0o755)


def symlink(name: str, target: str) -> File:
    return File(name, type=tarfile.SYMTYPE, link=target)


def hardlink(name: str, target: str) -> File:
    return File(name, type=tarfile.LNKTYPE, link=target)


def header(file: File) -> tarfile.TarInfo:
    info = tarfile.TarInfo(file.name)
    info.type, info.linkname, info.mode, info.size = file.type, file.link, file.mode, len(file.data)
    info.devmajor, info.devminor = file.device
    info.pax_headers = dict(file.pax)
    return info


def tar(files: Iterable[File], *, form: int = tarfile.PAX_FORMAT) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=form) as archive:
        for file in files:
            archive.addfile(header(file), io.BytesIO(file.data))
    return target.getvalue()


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def hexdigest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


BASE = tar(
    [
        folder("./"),
        folder("etc/"),
        File("etc/passwd", b"agent:x:10001:10001::/home/agent:/bin/sh\n"),
        File("usr/bin/python3", b"\x7fELF" * 1000, mode=0o755),
        File("usr/bin/su", b"\x7fELF", mode=0o4755),
        File("lib/systemd/system/system-systemd\\x2dcryptsetup.slice", b"[Unit]\n"),
        symlink("bin", "/usr/bin"),
        hardlink("usr/bin/python3.11", "usr/bin/python3"),
        File("dev/null", type=tarfile.CHRTYPE, device=(1, 3)),
        File("opt/" + "long" * 30 + "/name", b"beyond a hundred bytes"),
        File("opt/Főtanúsítvány.crt", b"beyond ascii"),
    ]
)
APP = tar(
    [
        File("app/agent.py", b"print('hello')\n"),
        File("etc/.wh.motd"),
        File("var/cache/.wh..wh..opq"),
        File("etc/gone", type=tarfile.CHRTYPE, device=(0, 0)),
    ],
    form=tarfile.GNU_FORMAT,
)
LAYERS = (BASE, APP)
PROCESS: dict[str, Any] = {
    "Entrypoint": ["python3", "-u"],
    "Cmd": ["/app/agent.py"],
    "Env": ["PATH=/usr/bin", "LANG=C.UTF-8"],
    "WorkingDir": "/app",
    "User": "agent",
}


@dataclass
class Image:
    """An image that can be written in every layout."""

    layers: tuple[bytes, ...] = LAYERS
    tags: tuple[str, ...] = ("my-agent:latest",)
    process: dict[str, Any] = field(default_factory=dict)
    top: dict[str, Any] = field(default_factory=dict)
    layer_packing: str = "none"

    @property
    def config(self) -> bytes:
        document = {
            "architecture": "amd64",
            "os": "linux",
            "created": "2026-01-02T03:04:05Z",
            "author": "somebody",
            "config": PROCESS | self.process,
            "history": [{"created_by": "RUN secret=1"}],
            "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in self.layers]},
        }
        return json.dumps(document | self.top).encode()

    @property
    def blobs(self) -> list[bytes]:
        return [PACKERS[self.layer_packing](layer) for layer in self.layers]

    def docker(self) -> list[File]:
        """`docker save` up to 24."""
        paths = [f"{hexdigest(layer)[:60]}{i:04}/layer.tar" for i, layer in enumerate(self.layers)]
        config = f"{hexdigest(self.config)}.json"
        files = [part for path, blob in zip(paths, self.blobs, strict=True) for part in _legacy_layer(path, blob)]
        manifest = [{"Config": config, "RepoTags": list(self.tags), "Layers": paths}]
        names = {tag.split(":")[0]: {tag.split(":")[-1]: paths[-1].split("/")[0]} for tag in self.tags}
        return [
            *files,
            File(config, self.config),
            File("manifest.json", json.dumps(manifest).encode()),
            File("repositories", json.dumps(names).encode()),
        ]

    def oci(self) -> list[File]:
        """An OCI layout, as buildx and skopeo write it."""
        manifest = self.manifest()
        names = [{"io.containerd.image.name": f"docker.io/library/{tag}"} for tag in self.tags] or [{}]
        items = [descriptor(manifest) | {"annotations": note} for note in names]
        return [*self._blob_files(manifest), *oci_top(items)]

    def both(self) -> list[File]:
        """`docker save` since 25."""
        entry = {
            "Config": f"blobs/sha256/{hexdigest(self.config)}",
            "RepoTags": list(self.tags),
            "Layers": [f"blobs/sha256/{hexdigest(blob)}" for blob in self.blobs],
        }
        return [*self.oci(), File("manifest.json", json.dumps([entry]).encode())]

    def manifest(self) -> bytes:
        document = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": descriptor(self.config, "application/vnd.oci.image.config.v1+json"),
            "layers": [descriptor(blob, "application/vnd.oci.image.layer.v1.tar") for blob in self.blobs],
        }
        return json.dumps(document).encode()

    def _blob_files(self, manifest: bytes) -> list[File]:
        return [
            folder("blobs/"),
            folder("blobs/sha256/"),
            *map(blob_file, dict.fromkeys((*self.blobs, self.config, manifest))),
        ]


def _legacy_layer(path: str, blob: bytes) -> list[File]:
    name = path.split("/", maxsplit=1)[0]
    return [folder(f"{name}/"), File(f"{name}/VERSION", b"1.0"), File(f"{name}/json", b'{"id": "x"}'), File(path, blob)]


def descriptor(blob: bytes, media_type: str = "application/vnd.oci.image.manifest.v1+json", **more: Any) -> dict:
    return {"mediaType": media_type, "digest": digest(blob), "size": len(blob)} | more


def blob_file(blob: bytes) -> File:
    return File(f"blobs/sha256/{hexdigest(blob)}", blob)


def oci_top(items: list[dict]) -> list[File]:
    index = json.dumps({"schemaVersion": 2, "manifests": items}).encode()
    return [File("index.json", index), File("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')]


def index_blob(items: list[dict]) -> bytes:
    return json.dumps({"schemaVersion": 2, "manifests": items}).encode()


INDEX_TYPE = "application/vnd.oci.image.index.v1+json"


def replaced(files: list[File], name: str, data: bytes) -> list[File]:
    """FILES with other bytes in one of them."""
    assert any(file.name == name for file in files)
    return [File(name, data) if file.name == name else file for file in files]


def without(files: list[File], name: str) -> list[File]:
    assert any(file.name == name for file in files)
    return [file for file in files if file.name != name]
