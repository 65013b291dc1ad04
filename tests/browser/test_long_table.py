"""A standings longer than what is there of it at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from league.bootstrap import Stores
from tests import command_line as cli
from tests.browser.chromium import Watched, needed
from tests.load import large_run

pytestmark = [pytest.mark.browser, needed]
PLAYERS = 700


def test_one_scrolls_through_more_rows_than_are_there(
    stores: Stores, tmp_path: Path, browser: Browser
) -> None:
    run, port = large_run(stores, PLAYERS, 20_000), cli.free_port()
    url = f"http://127.0.0.1:{port}"
    with cli.started("serve", "--home", str(tmp_path / "home"), "--port", str(port)):
        cli.wait_until(lambda: cli.get(f"{url}/readyz"), "the server")
        watched = Watched(browser.new_context(viewport={"width": 1280, "height": 900}).new_page())
        page = watched.page
        page.goto(f"{url}/runs/{run}")
        page.wait_for_function("() => document.documentElement.dataset.ready === 'true'")
        scroller = page.locator(".tall")
        assert page.locator("tr[data-player]").count() == 200
        height = scroller.evaluate("e => e.scrollHeight")
        row = page.locator("tr[data-player]").first.evaluate("e => e.getBoundingClientRect().height")
        assert height == pytest.approx(PLAYERS * row, rel=0.02)
        scroller.evaluate("e => { e.scrollTop = e.scrollHeight; }")
        page.wait_for_selector(f"tr[data-rank='{PLAYERS}']")
        page.wait_for_function(  # it is in sight
            "n => { const row = document.querySelector(`tr[data-rank='${n}']`)?.getBoundingClientRect();"
            " const frame = document.querySelector('.tall').getBoundingClientRect();"
            " return row && row.top >= frame.top && row.bottom <= frame.bottom + 1; }",
            arg=PLAYERS,
        )
        scroller.evaluate("(e, y) => { e.scrollTop = y; }", 350 * row)
        page.wait_for_selector("tr[data-rank='352']")
        page.click("thead th:has-text('Elo') a")
        page.wait_for_selector("th[aria-sort=descending]:has-text('Elo')")
        assert page.url.endswith("?by=elo")
        page.goto(f"{url}/runs/{run}?text=v699&by=nash")
        assert page.locator("tr[data-player]").count() == 0
        assert "Nobody fits these filters" in page.inner_text("#standings")
        page.context.close()
        assert watched.problems == []
