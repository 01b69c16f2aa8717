"""Teams' images and weights on their way to the nodes: checked, written anew, pushed, known by digest.

What the registry does not remember by itself stands in an annotation of the manifest, so that workers keep no notes:
any of them finds what another has pushed. Weights are one more layer, `/weights`, on top of the agent's image: the
root of the pod is read-only, and a node that has the agent pulls the weights once.
"""

import hashlib
import tarfile
import tempfile
from pathlib import Path
from typing import IO, cast

import msgspec

from nav_eval_worker.archives import ArchiveLimits, ImageSummary, rewrite_archive, unpack_weights
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.runtime.base import Image, RuntimeUnavailable, Weights
from nav_eval_worker.runtime.pods.registry import CONFIG, LAYER, Descriptor, Manifest, Registry, sha256

REPOSITORY = "submission"
VOLUMES = "nav-eval.volumes"
WEIGHTS_FOLDER = "weights"


class RegistryImages:
    """Images by `ImageSummary.image_id`, weights by the digest of their upload."""

    def __init__(self, registry: Registry, folder: Path) -> None:
        """`folder` is for uploads while they are checked."""
        self._registry, self._folder = registry, folder

    def find(self, image_id: str) -> Image | None:
        found = self._registry.manifest(_hex(image_id))
        return None if found is None else Image(id=image_id, handle=found[0])

    def admit(self, archive: Path | Readable, *, limits: ArchiveLimits) -> Image:
        """Check, write anew, push. What was uploaded reaches no registry."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="image-", suffix=".part", dir=self._folder) as scratch:
            canonical = Path(scratch) / "image.tar"
            summary = rewrite_archive(archive, canonical, limits=limits)
            found = self.find(summary.image_id)
            handle = found.handle if found else self._push(canonical, summary)
        return Image(id=summary.image_id, handle=handle, summary=summary)

    def volumes(self, image: Image) -> tuple[str, ...]:
        """VOLUME paths of the upload; the image that we wrote has none."""
        manifest = self._manifest(image.handle)
        return msgspec.json.decode(manifest.annotations.get(VOLUMES, "[]"), type=tuple[str, ...])

    def find_weights(self, digest: str) -> Weights | None:
        found = self._registry.manifest(_weights_tag(digest))
        return None if found is None else Weights(digest=digest, handle=found[0])

    def admit_weights(self, archive: Path | Readable, *, digest: str, limits: ArchiveLimits) -> Weights:
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="weights-", suffix=".part", dir=self._folder) as scratch:
            files = Path(scratch) / WEIGHTS_FOLDER
            unpack_weights(archive, files, limits)
            layer = self._push_folder(files)
        config = _config_of_weights(layer)
        manifest = Manifest(config=self._registry.push_bytes(config, media_type=CONFIG), layers=(layer,))
        return Weights(digest=digest, handle=self._registry.push_manifest(manifest, tag=_weights_tag(digest)))

    def with_weights(self, image: Image, weights: Weights) -> str:
        """The digest of an image that has both."""
        manifest, (layer,) = self._manifest(image.handle), self._manifest(weights.handle).layers
        config = msgspec.json.decode(self._registry.blob(manifest.config.digest))
        config["rootfs"]["diff_ids"].append(layer.digest)
        if config.get("history"):
            config["history"].append({"created_by": "weights"})
        described = self._registry.push_bytes(msgspec.json.encode(config, order="sorted"), media_type=CONFIG)
        both = msgspec.structs.replace(manifest, config=described, layers=(*manifest.layers, layer))
        tag = sha256(f"{image.handle} {weights.handle}".encode())
        return self._registry.push_manifest(both, tag=f"with-weights-{_hex(tag)}")

    def _push(self, canonical: Path, summary: ImageSummary) -> str:
        with tarfile.open(canonical) as archive:

            def push(name: str, media_type: str) -> Descriptor:
                member = archive.getmember(name)
                digest = f"sha256:{name.partition('.')[0]}"
                content = cast(IO[bytes], archive.extractfile(member))
                return self._registry.push_blob(content, digest=digest, size=member.size, media_type=media_type)

            layers = tuple(push(f"{_hex(layer.diff_id)}.tar", LAYER) for layer in summary.layers)
            config = push(f"{_hex(summary.image_id)}.json", CONFIG)
        notes = {VOLUMES: msgspec.json.encode(summary.volumes).decode()}
        return self._registry.push_manifest(
            Manifest(config=config, layers=layers, annotations=notes), tag=_hex(summary.image_id)
        )

    def _push_folder(self, files: Path) -> Descriptor:
        with tempfile.TemporaryFile(dir=self._folder) as packed:
            with tarfile.open(fileobj=packed, mode="w") as archive:
                archive.add(files, arcname=WEIGHTS_FOLDER, filter=_as_nobodys)
            size = packed.tell()
            packed.seek(0)
            digest = f"sha256:{hashlib.file_digest(packed, 'sha256').hexdigest()}"
            packed.seek(0)
            return self._registry.push_blob(packed, digest=digest, size=size, media_type=LAYER)

    def _manifest(self, handle: str) -> Manifest:
        found = self._registry.manifest(handle)
        if found is None:  # somebody tidied the registry in this very moment: it is admitted again
            raise RuntimeUnavailable(f"The registry has no {handle} any more.")
        return found[1]


def _as_nobodys(header: tarfile.TarInfo) -> tarfile.TarInfo:
    """The same files, the same bytes: owners and times are zero."""
    header.mode = 0o755 if header.isdir() else 0o644
    header.uid = header.gid = header.mtime = 0
    header.uname = header.gname = ""
    return header


def _config_of_weights(layer: Descriptor) -> bytes:
    """No image that starts; but registries and their tools expect every manifest to have one."""
    what = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [layer.digest]}}
    return msgspec.json.encode(what, order="sorted")


def _weights_tag(digest: str) -> str:
    return f"weights-{_hex(digest)}"


def _hex(digest: str) -> str:
    value = digest.removeprefix("sha256:")
    if len(value) != 64 or set(value) - set("0123456789abcdef"):
        raise ValueError(f"{digest!r} is no sha256")
    return value
