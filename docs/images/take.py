"""The pictures of pages in these docs, of `nav-eval demo` as it serves:

    nav-eval demo &
    python docs/images/take.py http://127.0.0.1:8080

`page_live.png` is a run under way, which the demo shows only for minutes: it is the picture `running_desktop.png` of
`NAV_EVAL_SCREENSHOTS=FOLDER pytest tests/browser/test_every_page.py`, without what follows the log.
"""

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).parent
BOARD = "/competitions/demo/dev/board"
STEP = 120  #: of the replay


def main(site: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 860}, locale="en-GB")
        page.goto(site + BOARD)
        take(page, "page_board.png")
        page.set_viewport_size({"width": 1280, "height": 760})
        page.goto(site + BOARD)
        take(page, "leaderboard.png")
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(f"{site}/competitions/demo/dev/best")
        page.goto(f"{page.url.partition('#')[0]}#step={STEP}")
        page.wait_for_selector("#replay[data-ready=true]")
        page.wait_for_load_state("networkidle")
        take(page, "page_replay.png")
        browser.close()


def take(page: Page, name: str) -> None:
    """In 256 colours, which is a third of the bytes and looks the same."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(FOLDER / name, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
