"""Check a team's image archive, and write it anew."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from nav_eval_worker.archives.configuration import CleanConfig, clean_config
from nav_eval_worker.archives.contents import Contents, read_contents
from nav_eval_worker.archives.documents import ImageConfig, decode
from nav_eval_worker.archives.errors import ArchiveDamaged, shown
from nav_eval_worker.archives.limits import IMAGE_LIMITS, ArchiveLimits, Budget
from nav_eval_worker.archives.selection import Choice, choose_image
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.archives.summary import ImageSummary
from nav_eval_worker.archives.writing import check_name, submission_name, write_canonical


def inspect_archive(source: Path | Readable, *, limits: ArchiveLimits = IMAGE_LIMITS) -> ImageSummary:
    """What SOURCE holds, after every byte of it was checked; nothing is written anywhere."""
    with opened(source) as stream:
        return _check(stream, limits=limits).summary


def rewrite_archive(
    source: Path | Readable,
    target: Path,
    *,
    name: str | None = None,
    limits: ArchiveLimits = IMAGE_LIMITS,
) -> ImageSummary:
    """Check SOURCE and write its image to TARGET in canonical form, under NAME alone.

    Layers wait beside TARGET in a file without a name, which not even a killed process leaves behind.
    """
    if name is not None:
        check_name(name)
    with opened(source) as stream, tempfile.TemporaryFile(dir=target.parent) as file:
        spool = cast(BinaryIO, file)
        checked = _check(stream, limits=limits, spool=spool)
        name = name or submission_name(checked.summary.image_id)
        members = checked.choice.layers
        digest = write_canonical(target, name=name, config=checked.config, members=members, spool=spool)
        return replace(checked.summary, name=name, archive_digest=digest)


@contextmanager
def opened(source: Path | Readable) -> Iterator[Readable]:
    """A path is opened and closed, a stream is taken as it is."""
    if isinstance(source, Path):
        with source.open("rb", buffering=0) as file:
            yield cast(Readable, file)
    else:
        yield source


class _Checked(NamedTuple):
    choice: Choice
    config: CleanConfig
    summary: ImageSummary


def _check(stream: Readable, *, limits: ArchiveLimits, spool: BinaryIO | None = None) -> _Checked:
    budget = Budget(limits)
    contents = read_contents(stream, budget=budget, spool=spool)
    choice = choose_image(contents, limits=limits)
    image = decode(contents.document(choice.config.path), ImageConfig, where="The image's configuration")
    config = clean_config(image)
    _check_layers(choice, image.rootfs.diff_ids)
    return _Checked(choice, config, _summary(choice, config, contents=contents, budget=budget))


def _check_layers(choice: Choice, diff_ids: list[str]) -> None:
    """The layers are those that the configuration names, in its order."""
    if len(choice.layers) != len(diff_ids) or not diff_ids:
        raise ArchiveDamaged(
            f"The image's configuration names {len(diff_ids)} layers but the archive has {len(choice.layers)}: "
            "save the image again with `docker save`."
        )
    for member, diff_id in zip(choice.layers, diff_ids, strict=True):
        if member.layer is None:
            raise ArchiveDamaged(f"The layer {shown(member.path)} is no tar: save the image again with `docker save`.")
        if member.layer.diff_id != diff_id:
            raise ArchiveDamaged(
                f"The layer {shown(member.path)} has the digest {member.layer.diff_id}, but the image's configuration "
                f"says {shown(diff_id)}: save the image again with `docker save`."
            )


def _summary(choice: Choice, config: CleanConfig, *, contents: Contents, budget: Budget) -> ImageSummary:
    return ImageSummary(
        image_id=config.digest,
        uploaded_config_digest=choice.config.digest,
        format=choice.format,
        compression=contents.compression,
        compressed_bytes=budget.spent["compressed_bytes"],
        layers=tuple(member.layer for member in choice.layers if member.layer),
        names=choice.names,
        entrypoint=config.entrypoint,
        command=config.command,
        environment=config.environment,
        working_dir=config.working_dir,
        user=config.user,
        volumes=config.volumes,
        exposed_ports=config.exposed_ports,
        dropped=config.dropped,
    )
