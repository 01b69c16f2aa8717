"""The road of an organiser who has no shell: a competition is drafted, checked, created and changed on the pages."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from nav_eval_gateway.pages.translations import Translator
from support.accessibility import find_barriers
from support.browser import Window, World, keep_picture

LOOKS: dict[str, dict[str, Any]] = {
    "desktop": {},
    "phone_dark_zh": {"phone": True, "dark": True, "language": "zh-CN"},
}


def check(page: Page, picture: Path) -> None:
    keep_picture(page, picture)
    assert find_barriers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), picture.name


@pytest.mark.parametrize("look", LOOKS)
def test_a_competition_without_a_shell(window: Callable[..., Window], world: World, pictures: Path, look: str) -> None:
    opened = window(**LOOKS[look])
    page, t = opened.enter("olga"), Translator("zh" if "zh" in look else "en")
    name = f"spring-{look.replace('_', '-')}"
    page.goto(f"{world.url}/organise")
    page.get_by_role("link", name=t("desk.new")).click()
    page.get_by_label(t("field.title_of"), exact=True).fill("Spring")
    page.get_by_label(t("field.slug")).first.fill(name)
    page.get_by_label(t("field.description")).fill("# Rules\n\nBe **fair**.")
    page.get_by_label(t("rule.benchmark")).select_option("demo_vln")
    page.get_by_label(t("phase.closes")).fill("2030-01-31T12:00")
    check(page, pictures / f"desk_new_{look}.png")
    page.get_by_role("button", name=t("desk.draft")).click()

    editor = page.get_by_label(t("desk.text"))
    expect(editor).to_have_value(re.compile("closes: '2030-01-31T12:00:00Z'"))
    check(page, pictures / f"desk_checked_{look}.png")
    editor.fill(editor.input_value().replace("demo_vln", "demo_vnl"))
    page.get_by_role("button", name=t("desk.check"), exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Did you mean 'demo_vln'?")
    check(page, pictures / f"desk_wrong_{look}.png")
    editor.fill(editor.input_value().replace("demo_vnl", "demo_vln"))
    page.get_by_role("button", name=t("desk.check"), exact=True).click()
    say_why(page, t, t("desk.create"))
    expect(page.get_by_role("status")).to_contain_text("Spring")

    page.get_by_role("link", name=t("desk.configuration")).click()
    editor.fill(editor.input_value().replace("title: Spring", "title: Late spring"))
    page.get_by_role("button", name=t("desk.check"), exact=True).click()
    expect(page.locator("table.diff")).to_contain_text("Late spring")
    check(page, pictures / f"desk_diff_{look}.png")
    say_why(page, t, t("desk.apply"))
    page.goto(f"{world.url}/competitions/{name}")
    expect(page.get_by_role("heading", name="Late spring")).to_be_visible()
    opened.complaints = [said for said in opened.complaints if "422" not in said]  # the status of the wrong text


def say_why(page: Page, t: Translator, button: str) -> None:
    page.get_by_label(t("field.reason")).fill("a course begins")
    page.get_by_role("checkbox", name=t("form.sure")).check()
    page.get_by_role("button", name=button).click()


def test_the_queue_is_fresh_without_a_click(window: Callable[..., Window], world: World) -> None:
    page = window().enter("olga")
    page.goto(f"{world.url}/organise")
    page.evaluate("document.querySelector('#live-queue dd').textContent = 'old'")
    expect(page.locator("#live-queue dd").first).not_to_have_text("old", timeout=15_000)
