"""What pages say: one word per concept, British spelling, and every refusal of the code in Chinese."""

import re

import pytest

from nav_eval.replay.page import WORDS
from nav_eval_gateway.pages.translations import load_catalogue, load_refusals

AMERICAN = r"\b(color|center|behavior|favorite|organiz\w+|recogniz\w+|canceled|canceling|labeled|traveled|catalog)\b"
TRANSLATED = (
    r"\b(the way of the agent|bumped into|come back later|not valid, or no longer|is called .* already|"
    r"takes no (upload|submission)|has named no|"
    r"found (one|a team)|which ranks|to go on|make a (new )?(one|token|team))\b"
)
"""Turns of phrase that nobody would write who thinks in English."""
RETIRED = ("队伍", "账户", "比赛", "网络钩子", "你", "影像", "重放核验")
"""Second words for what has one: 参赛队, 账号, 竞赛, Webhook, 您, 回放 or 视频, 已验证."""


def read_english() -> dict[str, str]:
    refusals = {pattern: pattern for pattern in load_refusals("zh")}
    return {**load_catalogue("en"), **WORDS["en"], **refusals}


@pytest.mark.parametrize("unwanted", [AMERICAN, TRANSLATED], ids=["american", "translated"])
def test_english_is_british_and_natural(unwanted: str) -> None:
    assert {key: text for key, text in read_english().items() if re.search(unwanted, text, re.IGNORECASE)} == {}


def test_chinese_has_one_word_per_concept() -> None:
    texts = {**load_catalogue("zh"), **WORDS["zh"], **load_refusals("zh")}
    found = {key: text for key, text in texts.items() if any(word in text for word in RETIRED)}
    assert found == {}


def test_chinese_is_punctuated_as_chinese() -> None:
    texts = {**load_catalogue("zh"), **load_refusals("zh")}
    found = {key: text for key, text in texts.items() if re.search(r"[\u4e00-\u9fff][,;:!?]", text)}
    assert found == {}


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("board.verified", "verified"),
        ("board.like", "statistically tied with {team}, p = {p}"),
        ("rule.ranking", "Ranked by"),
        ("team.found", "Create a team"),
        ("rule.hours", "Times out after"),
        ("rule.concurrent", "Concurrent submissions"),
    ],
)
def test_words_of_the_glossary(key: str, text: str) -> None:
    assert load_catalogue("en")[key] == text


def test_infrastructure_failures_are_free() -> None:
    assert load_catalogue("en")["rule.fair"].startswith("Infrastructure failures do not use up your quota.")
