"""Which paths a member may have: none that leads out (path traversal), none that two readers read differently."""

from nav_eval_worker.archives.errors import ArchiveTooLarge, ArchiveUnsafe, quote
from nav_eval_worker.archives.limits import ArchiveLimits

_COMPONENT_BYTES = 255  # what Linux file systems take
_SHORT = _COMPONENT_BYTES // 4  # characters that cannot be more bytes than that


def clean_path(raw: str, *, where: str, limits: ArchiveLimits, backslashes: bool = False) -> str:
    """RAW as `a/b/c`; the root itself is ``""``.

    Backslashes are refused except in layers: systemd ships units with one in their names.
    """
    if raw.startswith("/"):
        raise ArchiveUnsafe(f"{where} has the absolute path {quote(raw)}: store paths relative to the archive's root.")
    if "\0" in raw or ("\\" in raw and not backslashes):
        raise ArchiveUnsafe(f"{where} has a path with a forbidden character, {quote(raw)}: rename that file.")
    parts = [part for part in raw.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ArchiveUnsafe(f"{where} has the path {quote(raw)}, which climbs out by `..`: store plain paths.")
    _check_size(raw, parts, where=where, limits=limits)
    return "/".join(parts)


def _check_size(raw: str, parts: list[str], *, where: str, limits: ArchiveLimits) -> None:
    if len(parts) > limits.path_depth:
        raise ArchiveTooLarge(f"{where} has a path deeper than {limits.path_depth} folders, {quote(raw)}: flatten it.")
    if len(raw) <= _SHORT <= limits.path_bytes // 4:
        return
    longest = max((len(part.encode("utf-8", "surrogateescape")) for part in parts), default=0)
    if len(raw.encode("utf-8", "surrogateescape")) > limits.path_bytes or longest > _COMPONENT_BYTES:
        raise ArchiveTooLarge(
            f"{where} has a path beyond {limits.path_bytes} bytes ({_COMPONENT_BYTES} per part), {quote(raw)}: "
            "shorten it."
        )


def resolve_link(path: str, target: str, *, where: str, limits: ArchiveLimits) -> str:
    """Where the symlink PATH leads, inside the archive or not at all."""
    if target.startswith("/"):
        raise ArchiveUnsafe(f"{where} has a link to the absolute path {quote(target)}: save it with `docker save`.")
    parts = path.split("/")[:-1]
    for part in target.split("/"):
        if part == ".." and not parts:
            raise ArchiveUnsafe(f"{where} has a link that leads out, to {quote(target)}: save it with `docker save`.")
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return clean_path("/".join(parts), where=where, limits=limits)
