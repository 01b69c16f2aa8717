"""What a client can read, and what it has already: Accept, Accept-Encoding, If-None-Match."""

from starlette.datastructures import Headers


def prefers_csv(headers: Headers) -> bool:
    """Whether a table is wanted rather than JSON."""
    wanted = _qualities(headers.get("accept", ""))
    json = max(wanted.get(kind, 0.0) for kind in ("application/json", "application/*", "*/*"))
    return wanted.get("text/csv", wanted.get("text/*", 0.0)) > json


def accepts_gzip(headers: Headers) -> bool:
    codings = _qualities(headers.get("accept-encoding", ""))
    return codings.get("gzip", codings.get("*", 0.0)) > 0


def has_already(headers: Headers, etag: str) -> bool:
    """Whether If-None-Match names this answer, compressed or not."""
    given = headers.get("if-none-match", "")
    tags = {_core(tag.strip()) for tag in given.split(",")}
    return given.strip() == "*" or _core(etag) in tags


def _core(tag: str) -> str:
    return tag.removeprefix("W/").strip('"').removesuffix("-gzip")


def _qualities(header: str) -> dict[str, float]:
    """`text/csv;q=0.5, */*` as numbers."""
    found: dict[str, float] = {}
    for entry in header.lower().split(","):
        name, *parameters = (part.strip() for part in entry.split(";"))
        quality = next((p.removeprefix("q=") for p in parameters if p.startswith("q=")), "1")
        found[name] = _number(quality)
    return found


def _number(text: str) -> float:
    try:
        return max(0.0, min(1.0, float(text)))
    except ValueError:
        return 0.0
