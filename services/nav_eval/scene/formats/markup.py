"""XML that other programs read and the standard does not: mended, where it can only mean one thing.

Gazebo's own examples have `--` in comments, `<gz::priority>` and prefixes that nobody declares; some exporters write
`name=blade` or `name="<STL>"`, and descriptions hold a bare `&`.
"""

import re

_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_BARE_AND = re.compile(rb"&(?!(?:#\d+|#x[0-9a-fA-F]+|lt|gt|amp|quot|apos);)")
_QUOTED = re.compile(rb"=\s*\"[^\"]*\"|=\s*'[^']*'")
_TAG = re.compile(rb"</?[A-Za-z_][^<>]*>")
_PREFIX = re.compile(rb"(?<=[</\s])([A-Za-z_][\w.-]*):+(?=[\w.-]+[\s=/>])")
_UNQUOTED = re.compile(rb"=\s*([^\s\"'=<>]+?)(?=\s|/?>)")


def repair_markup(content: bytes) -> bytes:
    """The same document without comments, with plain names, and with quotes and signs as XML wants them."""
    content = _BARE_AND.sub(b"&amp;", _COMMENT.sub(b"", content))
    content = _QUOTED.sub(lambda value: value[0].replace(b"<", b"&lt;").replace(b">", b"&gt;"), content)
    return _TAG.sub(lambda tag: _repair_tag(tag[0]), content)


def _repair_tag(tag: bytes) -> bytes:
    """Without prefixes, and with quotes around every value."""
    pieces = []
    end = 0
    for value in _QUOTED.finditer(tag):
        pieces += [_repair_names(tag[end : value.start()]), value[0]]
        end = value.end()
    return b"".join([*pieces, _repair_names(tag[end:])])


def _repair_names(text: bytes) -> bytes:
    return _UNQUOTED.sub(rb'="\1"', _PREFIX.sub(rb"\1_", text + b"=")[:-1])
