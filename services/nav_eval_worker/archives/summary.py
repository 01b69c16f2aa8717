"""What a checked archive holds, in the words that the runtime, the store and the team need."""

from dataclasses import dataclass

from nav_eval_worker.archives.layers import Layer
from nav_eval_worker.archives.streams import Compression

_ROOT = ("", "0", "root")


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageSummary:
    """One image that may be run."""

    image_id: str  #: digest of the configuration that we write: engine id up to Docker 28, and the dedupe key
    uploaded_config_digest: str  #: digest of the configuration that the team uploaded: its image id at home
    format: str  #: docker, oci, or docker+oci
    compression: Compression  #: of the upload as a whole
    compressed_bytes: int  #: of the upload
    layers: tuple[Layer, ...]  #: bottom first
    names: tuple[str, ...]  #: the team's tags, for display only: none of them reaches an engine
    entrypoint: tuple[str, ...]  #: ENTRYPOINT
    command: tuple[str, ...]  #: CMD
    environment: tuple[str, ...]  #: ENV, as NAME=value
    working_dir: str  #: WORKDIR
    user: str  #: USER; the runtime forces its own
    volumes: tuple[str, ...]  #: VOLUME paths: no volumes any more; cover with tmpfs where an agent must write
    exposed_ports: tuple[str, ...]  #: EXPOSE; taken out
    dropped: tuple[str, ...]  #: names of configuration fields that were taken out
    name: str | None = None  #: ours, in the rewritten archive
    archive_digest: str | None = None  #: sha256 of the rewritten archive's bytes

    @property
    def content_digest(self) -> str:
        """Equal for equal images however they were packed: the configuration names every layer by digest."""
        return self.image_id

    @property
    def runs_as_root(self) -> bool:
        """What the image asks for; it does not get it."""
        return self.user.partition(":")[0] in _ROOT

    @property
    def unpacked_bytes(self) -> int:
        return sum(layer.size for layer in self.layers)

    @property
    def files(self) -> int:
        return sum(layer.files for layer in self.layers)

    @property
    def setuid_files(self) -> int:
        return sum(layer.setuid_files for layer in self.layers)


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightsSummary:
    """Model weights that may be mounted."""

    content_digest: str  #: over every path, mode and content: equal however they were packed
    compression: Compression  #: of the upload
    compressed_bytes: int  #: of the upload
    files: int  #: regular files
    unpacked_bytes: int  #: all files together
