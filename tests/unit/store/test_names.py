"""Names that an eye takes for one are one, in whichever way they were made to differ; and names that differ are two."""

import unicodedata

import pytest
from confusable_homoglyphs.confusables import confusables_data
from hypothesis import given
from hypothesis import strategies as st

from nav_eval_store.errors import StoreError
from nav_eval_store.people.names import make_name_key, normalize_name

INVISIBLE = [
    *"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b\u180e\u200b\u200d\u2060\u2800\u3164\ufe00\ufe0f\ufeff\uffa0",
    *"\U0001d159\U0001d173\U000e0020\U000e0100",
]
ATTACKS = [
    ("Alice", "AIice"),  # a capital i
    ("Alice", "A1ice"),
    ("Alice", "A|ice"),
    ("Alice", "Ali\u0441e"),  # Cyrillic es
    ("Alice", "\U0001d5a0\U0001d5c5\U0001d5c2\U0001d5bc\U0001d5be"),  # mathematical letters
    ("Team", "Tea\u043c"),  # a Cyrillic em is a small capital M
    ("Team", "\u1d1b\u1d07\u1d00\u1d0d"),  # small capitals
    ("Team", "\U0001f1f9\U0001f1ea\U0001f1e6\U0001f1f2"),  # letters of flags
    ("Team", "\U0001f183\U0001f174\U0001f170\U0001f17c"),  # letters in black squares
    ("Team", "\u24e3\u24d4\u24d0\u24dc"),  # letters in circles
    ("Team", "Ｔｅａｍ"),
    ("Team", "T\u0323ea\u0331m\u20dd"),  # accents that hide in the line
    ("modern", "modem"),
    ("www", "vvvvvv"),
    ("frog", "ƒrog"),
    ("bob", "ɓob"),
    ("Jose", "José"),
    ("Lodz", "Łódź"),
    ("istanbul", "ıstanbul"),
    ("PACE", "РАСЕ"),  # all of it Cyrillic
    ("BETA", "ΒΕΤΑ"),  # all of it Greek
    ("scope", "ѕсоре"),
    ("R0b0t", "Robot"),
    ("nav-eval", "nav\u2010eval"),
    ("nav-eval", "nav\u2014eval"),
    ("nav-eval", "nav\u30fceval"),
    ("nav-eval", "nav\u2212eval"),
    ("nav eval", "nav_eval"),
    ("nav eval", "nav\u3000eval"),
    ("nav eval", " nav  eval. "),
    ("O'Brien", "O\u2019Brien"),
    ("O'Brien", "O\u02bcBrien"),
    ('"nav"', "\u201cnav\u201d"),
    ("Team 1", "Team l"),
    ("Team 1", "Team ①"),
]


@pytest.mark.parametrize(("one", "other"), ATTACKS)
def test_names_that_look_equal_have_one_key(one: str, other: str) -> None:
    assert make_name_key(one) == make_name_key(other)


def test_names_that_differ_are_two() -> None:
    names = (
        "Team 1",
        "Team 2",
        "Team",
        "nova",
        "mova",
        "vova",
        "导航",
        "ナビ",
        "ナヒ",
        "Навигатор",
        "Ωmega",
        "π0",
        "🚀",
        "🔥",
    )
    names += ("हिन्दी", "हिन्दु", "ที่", "ทู่", "한국어", "한국", "v1.2", "v12", "C++", "C")
    assert len({make_name_key(name) for name in names}) == len(names)


@pytest.mark.parametrize("blank", INVISIBLE, ids=lambda letter: f"U+{ord(letter):04X}")
@given(name=st.text("abcdefhjknpqstuxyzABCDEFGH 23456", min_size=1).filter(str.strip), place=st.integers(0, 20))
def test_what_shows_nothing_makes_no_other_name(blank: str, name: str, place: int) -> None:
    assert make_name_key(name[:place] + blank + name[place:]) == make_name_key(name)


@pytest.mark.parametrize("letter", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
def test_all_that_unicode_calls_confusable_is_one(letter: str) -> None:
    alike = [entry["c"].strip("\u200e") for entry in confusables_data.get(letter, ())]
    for other in alike:
        if not unicodedata.category(other[0]).startswith("M"):  # signs of scripts that do not mix with ours
            assert make_name_key(f"x{letter}x") == make_name_key(f"x{other}x"), (
                f"{letter} {other} U+{ord(other[0]):04X}"
            )


@given(st.text())
def test_a_key_is_its_own_key_whatever_the_case(name: str) -> None:
    key = make_name_key(name)
    assert make_name_key(key) == key
    assert make_name_key(f" {name}\u200b") == key


@given(st.text("abcdefghijklmnopqrstuvwxyz 0123456789-.'"))
def test_case_makes_no_other_name(name: str) -> None:
    assert make_name_key(name.upper()) == make_name_key(name) == make_name_key(name.title())


@pytest.mark.parametrize(
    "name",
    [
        "",
        "   ",
        "x" * 61,
        "a\u202eb",  # what follows is written backwards
        "a\x00b",
        "line\nbreak\x07",
        "\u3164",
        "\uffa0\u2800",
        "\ufe0f",
        "\u034f \u17b4",
        "...",
        "\u0301",
        "e\u0301\u0302\u0303",  # paints over its neighbours
        "Te\u0430m",  # Latin and Cyrillic
        "Nav\u0561",  # Latin and Armenian
        "a\ud800",
    ],
)
def test_names_that_a_board_cannot_show(name: str) -> None:
    with pytest.raises(StoreError, match="name"):
        normalize_name(name)


@pytest.mark.parametrize(
    "name", ["π0", "β-VAE", "导航 Team", "ナビ2号", "한국 Nav", "Навигатор", "José & Zoë", "🚀", "Ünïted"]
)
def test_names_that_people_have(name: str) -> None:
    assert normalize_name(name) == name


def test_what_shows_nothing_is_not_kept() -> None:
    assert normalize_name("Re\u034fd\ufe0f  Team\u2800") == "Red Team"
