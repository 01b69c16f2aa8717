"""Scripts and styles: read once, and addressed by their content, so that browsers may keep them for ever.

All files share one digest, hence a module can import its neighbour by a plain `./name.js`.
"""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request
from starlette.responses import Response

from nav_eval.replay import page as replay_page
from nav_eval_gateway.responses import is_gzip_accepted
from nav_eval_store.errors import NotFound

FOR_EVER = "public, max-age=31536000, immutable"
TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class StaticFile:
    """A file, ready to be sent."""

    body: bytes
    compressed: bytes
    media_type: str


@cache
def load_assets() -> Mapping[str, StaticFile]:
    """All files by name; the replay's own script and style come from the engine."""
    found = {entry.name: entry.read_bytes() for entry in (files(__package__) / "static").iterdir() if entry.is_file()}
    found |= {f"{name}.js": replay_page.read_script(name).encode() for name in ("replay", "pair")}
    found |= {"replay.css": replay_page.read_style().encode()}
    return {
        name: StaticFile(body=body, compressed=gzip.compress(body, mtime=0), media_type=TYPES[name.rpartition(".")[2]])
        for name, body in sorted(found.items())
    }


@cache
def compute_digest() -> str:
    """Of all files together."""
    sums = (hashlib.sha256(name.encode() + b"\0" + asset.body).digest() for name, asset in load_assets().items())
    return hashlib.sha256(b"".join(sums)).hexdigest()[:12]


def make_asset_url(name: str) -> str:
    if name not in load_assets():
        raise NotFound("There is no file {name!r}.", name=name)
    return f"/static/{compute_digest()}/{name}"


@router.get("/static/{version}/{name}")
async def show_asset(version: str, name: str, request: Request) -> Response:
    """A file. Under an old address the new file is given, to be asked for again next time."""
    asset = load_assets().get(name)
    if asset is None:
        raise NotFound("There is no such file.")
    headers = {"Cache-Control": FOR_EVER if version == compute_digest() else "no-cache", "Vary": "Accept-Encoding"}
    if is_gzip_accepted(request.headers):
        headers["Content-Encoding"] = "gzip"
        return Response(asset.compressed, headers=headers, media_type=asset.media_type)
    return Response(asset.body, headers=headers, media_type=asset.media_type)
