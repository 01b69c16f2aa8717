"""What axe-core finds on a page that keeps people out, or makes it harder for them."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

KEPT_OUT = ("moderate", "serious", "critical")


def find_barriers(page: Page) -> list[str]:
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{v['impact']} {v['id']}: {v['help']} {[node['html'][:160] for node in v['nodes'][:3]]}"
        for v in found
        if v["impact"] in KEPT_OUT
    ]
