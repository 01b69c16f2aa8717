"""Where a request comes from, and where it may be sent on to."""

from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from nav_eval_gateway.settings import GatewaySettings

HOME = "/"


def is_same_origin(request: HTTPConnection, settings: GatewaySettings) -> bool:
    """Whether a page of ours sent it, as far as the browser says; the form's proof decides the rest."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    claimed = request.headers.get("origin") or request.headers.get("referer")
    if claimed is None:
        return True
    ours = urlsplit(settings.base_url).netloc if settings.base_url else request.headers.get("host", "")
    return urlsplit(claimed).netloc.lower() == ours.lower() != ""


def safe_path(wanted: str | None, *, otherwise: str = HOME) -> str:
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


def path_of_referer(request: HTTPConnection, settings: GatewaySettings, *, otherwise: str = HOME) -> str:
    """The page of ours that a form stood on."""
    referer = request.headers.get("referer")
    if referer is None or not is_same_origin(request, settings):
        return otherwise
    parts = urlsplit(referer)
    return safe_path(parts.path + (f"?{parts.query}" if parts.query else ""), otherwise=otherwise)
