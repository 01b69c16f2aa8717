"""Cutting JSON into values: whatever the text and however it arrives, nothing is lost or added."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.dataset.json_file import FileLimits, JsonScanner, SourceFile
from nav_eval.errors import DatasetError

tricky_texts = st.text(alphabet='a"\\{}[],: \n\té漢', max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | tricky_texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(tricky_texts, inner, max_size=4),
    max_leaves=12,
)
indents = st.sampled_from([None, 0, 2])


@dataclass(frozen=True, kw_only=True)
class TextInPieces(SourceFile):
    """A source whose reads are as small as one likes."""

    text: str
    chunk: int

    def chunks(self):
        data = self.text.encode()
        return (data[start : start + self.chunk] for start in range(0, len(data), self.chunk))


def scanner_of(text, *, chunk=4, **limits):
    return JsonScanner(TextInPieces(path=Path("text.json"), text=text, chunk=chunk, limits=FileLimits(**limits)))


@given(document=st.lists(values, max_size=4), chunk=st.integers(1, 9), indent=indents, ascii_only=st.booleans())
@settings(max_examples=40, deadline=None)
def test_elements_are_cut_where_json_cuts_them(document, chunk, indent, ascii_only):
    scanner = scanner_of(json.dumps(document, indent=indent, ensure_ascii=ascii_only), chunk=chunk)
    assert [json.loads(scanner.value()) for _ in scanner.elements()] == document
    scanner.finish()


@given(document=st.dictionaries(tricky_texts, values, max_size=4), chunk=st.integers(1, 9), indent=indents)
@settings(max_examples=40, deadline=None)
def test_members_are_cut_where_json_cuts_them(document, chunk, indent):
    scanner = scanner_of(json.dumps(document, indent=indent), chunk=chunk)
    assert {key: json.loads(scanner.value()) for key in scanner.members()} == document
    scanner.finish()


@given(document=st.dictionaries(tricky_texts, values, max_size=4), chunk=st.integers(1, 9), data=st.data())
@settings(max_examples=40, deadline=None)
def test_skipping_leads_to_the_same_place_as_taking(document, chunk, data):
    wanted = {key for key in document if data.draw(st.booleans())}
    scanner = scanner_of(json.dumps(document), chunk=chunk)
    taken = {}
    for key in scanner.members():
        if key in wanted:
            taken[key] = json.loads(scanner.value())
        else:
            scanner.skip()
    scanner.finish()
    assert taken == {key: document[key] for key in wanted}


@given(document=st.lists(values, min_size=1, max_size=3), chunk=st.integers(1, 9), data=st.data())
@settings(max_examples=30, deadline=None)
def test_a_text_that_ends_early_is_always_noticed(document, chunk, data):
    text = json.dumps(document)
    cut = data.draw(st.integers(0, len(text) - 1))
    scanner = scanner_of(text[:cut], chunk=chunk)
    with pytest.raises(DatasetError, match="ends in the middle"):
        [scanner.value() for _ in scanner.elements()]


def test_a_long_string_in_small_pieces_takes_linear_time():
    """With a refill per piece and a rescan per refill this would be 10¹⁰ steps."""
    text = json.dumps(["\\" * 200_000, "x" * 400_000])
    scanner = scanner_of(text, chunk=4)
    assert [len(json.loads(scanner.value())) for _ in scanner.elements()] == [200_000, 400_000]


def test_a_skipped_value_may_be_larger_than_what_may_be_held():
    scanner = scanner_of(json.dumps([[[1, 2], "x"] * 1000, 5]), chunk=64, value=256)
    assert [scanner.skip() for _ in scanner.elements()] == [None, None]
    scanner.finish()
