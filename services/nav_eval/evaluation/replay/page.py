"""A replay as a page: one file that opens from disk, or the parts from which a web server builds its own.

Everything that comes from a run is escaped by the template or, in the data that the script reads, cannot end its
element; the script only ever sets text. The file's content security policy names its script and its style by
their hashes and allows no request. A server gives `body` URLs instead (`sources`) and serves `script` and `style`
as files, so its policy needs no `unsafe-inline`.
"""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined

from nav_eval.errors import UnknownName
from nav_eval.evaluation.replay.model import Replay, View
from nav_eval.evaluation.replay.words import WORDS
from nav_eval.evaluation.report import write_atomically
from nav_eval.evaluation.terminal import number

PACKAGE = "nav_eval.evaluation.replay"
NO_SOURCES: Mapping[str, str] = {}


def write_page(path: Path, replay: Replay, *, language: str = "en") -> None:
    """Write the page whole or not at all."""
    write_atomically(path, render_page(replay, language=language).encode())


def render_page(replay: Replay, *, language: str = "en") -> str:
    """The page as text, with everything in it."""
    data = {"data": in_script(data_json(replay)), "words": in_script(words_json(language))}
    data |= {f"view-{place}": in_script(frames_json(view)) for place, view in enumerate(replay.views)}
    return (
        _environment()
        .get_template("replay.html.j2")
        .render(
            replay=replay,
            words=words_of(language),
            language=language,
            sources=NO_SOURCES,
            data=data,
            script=script(),
            style=style(),
        )
    )


def render_body(replay: Replay, *, sources: Mapping[str, str], language: str = "en") -> str:
    """What goes into a server's page; `sources` are the URLs of `data`, `words`, `view-0`, `view-1`, …"""
    return (
        _environment()
        .get_template("replay_body.html.j2")
        .render(replay=replay, words=words_of(language), language=language, sources=sources)
    )


@cache
def script() -> str:
    """The page's script."""
    return (files(PACKAGE) / "templates" / "replay.js").read_text("utf-8")


@cache
def style() -> str:
    """The report's look, and what a replay adds to it."""
    report = files("nav_eval.evaluation") / "templates" / "report.css"
    return report.read_text("utf-8") + (files(PACKAGE) / "templates" / "replay.css").read_text("utf-8")


def data_json(replay: Replay) -> bytes:
    """What the script draws: all but the camera pictures."""
    bare = [msgspec.structs.replace(view, frames=[]) for view in replay.views]
    return msgspec.json.encode(msgspec.structs.replace(replay, views=bare))


def frames_json(view: View) -> bytes:
    """The pictures of one camera, base64, one per step."""
    return msgspec.json.encode(view.frames)


def words_json(language: str) -> bytes:
    return msgspec.json.encode(words_of(language))


def words_of(language: str) -> Mapping[str, str]:
    if language not in WORDS:
        raise UnknownName(f"Replays do not speak {language!r}. Known: {', '.join(WORDS)}.")
    return WORDS[language]


def in_script(json: bytes) -> str:
    """JSON that is inert inside of a script element, whatever texts it holds."""
    text = json.decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(PACKAGE, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "metres": _metres, "hash": _hash}
    return environment


def _metres(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
