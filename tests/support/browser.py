"""What browser tests work with: the site they look at, and windows that remember complaints."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from playwright.sync_api import BrowserContext, Page

from nav_eval_store.audit import make_user_actor
from nav_eval_store.models import TokenKind
from nav_eval_store.people import accounts
from nav_eval_store.people.accounts import ALL_SCOPES
from support.gateway import PASSWORD, Server
from support.site import Site


@dataclass
class World:
    """A running site, and the things in it that tests look at."""

    server: Server
    site: Site
    hostile: UUID  #: a completed submission of a team with a hostile name, with a replay
    adas: UUID  #: one of Ada's own
    ada_team: UUID
    more: dict[str, UUID] = field(default_factory=dict)  #: submissions in other states, by the state

    @property
    def url(self) -> str:
        return self.server.url


@dataclass
class Window:
    """A browser of its own; its complaints are collected."""

    context: BrowserContext
    world: World
    complaints: list[str] = field(default_factory=list)

    def page(self) -> Page:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: self._heard(message.type, message.text))
        return page

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def enter(self, name: str) -> Page:
        """Logged in already, in whatever language."""
        with self.world.server.database.begin() as session:
            user = accounts.get_user(session, name)
            issued = accounts.issue_token(
                session, user, "browser", actor=make_user_actor(user), scopes=ALL_SCOPES, kind=TokenKind.SESSION
            )
        self.context.add_cookies([{"name": "nav_eval_session", "value": issued.secret, "url": self.world.url}])
        return self.page()

    def log_in(self, name: str) -> Page:
        page = self.page()
        page.goto(f"{self.world.url}/login")
        page.get_by_label("User name or e-mail").fill(name)
        page.locator("input[name=password]").fill(PASSWORD)
        page.get_by_role("button", name="Log in").first.click()
        page.wait_for_url(f"{self.world.url}/")
        return page


def keep_picture(page: Page, file: Path, *, full_page: bool = True) -> None:
    """A screenshot, where NAV_EVAL_SCREENSHOTS asks for them: to draw a whole page takes longer than to test it."""
    if os.environ.get("NAV_EVAL_SCREENSHOTS"):
        page.screenshot(path=file, full_page=full_page)
