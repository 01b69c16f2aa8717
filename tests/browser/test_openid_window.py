"""Login by a provider in a real browser: the button, the provider's own pages, and back; in both languages."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from nav_eval_gateway.openid_settings import OpenIdSettings
from nav_eval_store.people import accounts
from support.challenge import TEST, Challenge, competition_config
from support.gateway import PASSWORD, Server, free_port, gateway_settings, serving
from support.openid import CLIENT_ID, CLIENT_SECRET, install_provider, providing


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    port = free_port()
    openid = OpenIdSettings(
        issuer=f"http://127.0.0.1:{port}",
        client_id=CLIENT_ID,
        client_secret=CLIENT_SECRET,
        title="The Lab",
        ends_session=True,
    )
    folder = install_provider(tmp_path_factory.mktemp("provider"))
    with serving(gateway_settings(tmp_path_factory.mktemp("lab"), openid=openid)) as server:
        Challenge(server.database, competition_config())
        with server.database.begin() as session:
            accounts.create_user(session, "maria", actor=TEST, password=PASSWORD)
        with providing(folder, port, server.url):
            yield server


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Callable[..., Page]]:
    contexts: list[Any] = []

    def make(language: str = "en-GB") -> Page:
        contexts.append(chromium.new_context(locale=language))
        return contexts[-1].new_page()

    yield make
    for context in contexts:
        context.close()


def sign_in_there(page: Page, login: str) -> None:
    """The provider's own pages: who, and whether we may know."""
    page.locator("input[name=login]").fill(login)
    page.locator("input[name=password]").fill("any")
    page.locator("button[type=submit]").click()
    page.locator("button[type=submit]").click()


def test_the_button_leads_there_and_back(lab: Server, open_page: Callable[..., Page]) -> None:
    page = open_page("zh-CN")
    page.goto(f"{lab.url}/login?next=/competitions/cup")
    page.get_by_role("link", name="使用 The Lab 登录").click()
    sign_in_there(page, "Ada Lovelace")
    expect(page.get_by_role("heading", name="选择用户名")).to_be_visible()
    page.get_by_role("textbox", name="用户名").fill("ada")
    page.locator("button.primary").click()
    page.wait_for_url(f"{lab.url}/competitions/cup")
    expect(page.locator(".who")).to_contain_text("ada")
    page.locator(".who button").click()
    page.wait_for_url("**/session/end**")  # and the provider asks whether to log out there, too


def test_a_login_is_linked_from_the_account_page(lab: Server, open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.goto(f"{lab.url}/login?next=/account")
    page.get_by_label("User name or e-mail").fill("maria")
    page.locator("input[name=password]").fill(PASSWORD)
    page.get_by_role("button", name="Log in").first.click()
    page.get_by_role("button", name="Link a login with The Lab").click()
    sign_in_there(page, "mg-1906")
    page.wait_for_url(f"{lab.url}/account")
    expect(page.get_by_role("status")).to_contain_text("The login is now linked")
    expect(page.locator("section", has=page.get_by_role("heading", name="Other ways to log in"))).to_contain_text(
        "mg-1906"
    )
