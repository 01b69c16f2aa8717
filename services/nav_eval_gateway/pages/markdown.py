"""Markdown that organisers write, as HTML that can do nothing: no raw HTML, no pictures, no script in a link."""

from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

SCHEMES = ("https://", "http://", "mailto:", "/", "#")
HIGHEST = 3
"""The level of a text's first headings: above them are the page's own."""


@cache
def _make_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table").disable("image")
    parser.validateLink = lambda url: url.lower().startswith(SCHEMES)  # type: ignore[method-assign]
    return parser


def render_markdown(text: str) -> Markup:
    """As a part of a page."""
    parser, environment = _make_parser(), dict[str, Any]()
    tokens = parser.parse(text, environment)
    for token in _walk(tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, HIGHEST - 1 + int(token.tag[1]))}"
        elif token.type == "link_open":
            token.attrSet("rel", "nofollow noopener")
    return Markup(parser.renderer.render(tokens, parser.options, environment))  # noqa: S704 - HTML in it is escaped


def extract_text(text: str) -> str:
    """The words alone, for a card."""
    tokens = _walk(_make_parser().parse(text, {}))
    shown = (" " if token.type.endswith("break") or token.block else token.content for token in tokens)
    return " ".join("".join(shown).split())


def _walk(tokens: list[Token]) -> list[Token]:
    return [inner for token in tokens for inner in ([token] if token.children is None else _walk(token.children))]
