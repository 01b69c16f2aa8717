"""Where a browser may be sent on to: a path of this site, and nothing that could be taken for another one."""

from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from nav_eval_gateway.pages.csrf import is_same_origin
from nav_eval_gateway.settings import GatewaySettings

HOME = "/"


def clean_path(wanted: str | None, *, otherwise: str = HOME) -> str:
    """A path on this site, for `Location`; anything that a browser could take for another site is refused."""
    if wanted is None or not wanted.startswith("/") or not wanted.isprintable() or len(wanted) > 2000:
        return otherwise
    if wanted.startswith(("//", "/\\")) or "\\" in wanted:
        return otherwise
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return otherwise
    return otherwise if parts.scheme or parts.netloc else wanted


def get_referer_path(request: HTTPConnection, settings: GatewaySettings, *, otherwise: str = HOME) -> str:
    """The page of ours that a form stood on."""
    referer = request.headers.get("referer")
    if referer is None or not is_same_origin(request, settings):
        return otherwise
    parts = urlsplit(referer)
    return clean_path(parts.path + (f"?{parts.query}" if parts.query else ""), otherwise=otherwise)
