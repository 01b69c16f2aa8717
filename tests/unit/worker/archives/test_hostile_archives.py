"""Archives that want something else than to be run: each is refused, by the right reason, and leaves nothing."""

import io
import tarfile
from pathlib import Path

import pytest

from nav_eval.records.results import Cause
from nav_eval_worker.archives import (
    ArchiveInvalid,
    ArchiveLimits,
    inspect_archive,
    rewrite_archive,
)
from support.archives import (
    Image,
    tar,
)
from support.hostile_archives import GOOD, HOSTILE


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_archives_are_refused_with_a_reason_and_leave_nothing(tmp_path: Path, case: str) -> None:
    make, error, reason = HOSTILE[case]
    data = make()
    with pytest.raises(error, match=reason) as caught:
        rewrite_archive(io.BytesIO(data), tmp_path / "out.tar")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(type(caught.value)):
        inspect_archive(io.BytesIO(data))
    message = str(caught.value)
    assert caught.value.cause is Cause.IMAGE_INVALID
    assert message.isprintable(), "a team's bytes must not reach a terminal"
    assert message.endswith((".", ")."))
    assert ": " in message, "what to do next stands after a colon"
    assert len(message) < 600


LIMITS: dict[str, tuple[dict[str, float], str]] = {
    "compressed bytes": ({"compressed_bytes": 20_000}, "more than 20000 bytes"),
    "archive bytes": ({"archive_bytes": 20_000}, "unpacks to more than"),
    "layer bytes": ({"layer_bytes": 10_000}, "layers unpack to"),
    "members": ({"members": 8}, "more than 8 members"),
    "layer files": ({"layer_files": 14}, "more than 14 files"),
    "layers": ({"layers": 1}, "2 layers"),
    "file size": ({"file_bytes": 3_000}, "a file of"),
    "path length": ({"path_bytes": 90}, "path beyond 90"),
    "path depth": ({"path_depth": 2}, "deeper than 2"),
    "document": ({"document_bytes": 100}, "sensible size"),
    "documents": ({"documents_bytes": 200}, "JSON documents"),
    "extension header": ({"header_bytes": 100}, "PAX header of"),
    "time": ({"seconds": 0}, "longer than 0 s"),
}


@pytest.mark.parametrize("case", LIMITS)
def test_every_limit_holds(case: str) -> None:
    changes, reason = LIMITS[case]
    with pytest.raises(ArchiveInvalid, match=reason):
        inspect_archive(io.BytesIO(GOOD), limits=ArchiveLimits(**changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "tag", ["postgres:16", "redis:7-alpine", "nav-eval/gateway:latest", "docker.io/library/postgres:16"]
)
@pytest.mark.parametrize("layout", ["docker", "oci", "both"])
def test_a_teams_tag_reaches_no_engine(tmp_path: Path, layout: str, tag: str) -> None:
    summary = rewrite_archive(io.BytesIO(tar(getattr(Image(tags=(tag,)), layout)())), tmp_path / "out.tar")
    assert any(tag in name for name in summary.names)
    assert tag.encode() not in (tmp_path / "out.tar").read_bytes()
    with tarfile.open(tmp_path / "out.tar") as archive:
        assert not {"repositories", "index.json", "oci-layout"} & set(archive.getnames())


def test_an_older_target_survives_a_refusal(tmp_path: Path) -> None:
    target = tmp_path / "out.tar"
    target.write_bytes(b"older")
    with pytest.raises(ArchiveInvalid):
        rewrite_archive(io.BytesIO(GOOD[:-5000]), target)
    assert target.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [target]


def test_a_lost_connection_leaves_nothing(tmp_path: Path) -> None:
    class Breaking(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > len(GOOD) // 2:
                raise ConnectionResetError("gone")
            return super().read(min(size or 0, 4096))

    with pytest.raises(ConnectionResetError):
        rewrite_archive(Breaking(GOOD), tmp_path / "out.tar")
    assert list(tmp_path.iterdir()) == []
