"""The API's page in Debian's Chromium: every operation on it, and nothing asked of any other host."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from league.bootstrap import Stores
from tests import command_line as cli
from tests.browser.chromium import Watched, needed

pytestmark = [pytest.mark.browser, needed]


def test_the_page_shows_every_operation_and_a_login_opens_the_others(
    stores: Stores, tmp_path: Path, played_run: str, browser: Browser
) -> None:
    home, port = str(tmp_path / "home"), cli.free_port()
    url = f"http://127.0.0.1:{port}"
    token = cli.run("token", "create", "--scope", "admin", "--home", home).stdout.strip()
    with cli.started("serve", "--home", home, "--port", str(port)):
        cli.wait_until(lambda: cli.get(f"{url}/readyz"), "the server")
        watched = Watched(browser.new_context().new_page())
        page = watched.page
        page.goto(f"{url}/docs")
        page.wait_for_selector(".opblock")
        assert page.locator(".opblock").count() >= 50
        page.goto(f"{url}/runs/{played_run}")
        assert "/login" in page.url
        page.fill("#token", token)
        page.click("form.login button")
        page.wait_for_selector("#standings tbody tr")
        assert page.url == f"{url}/runs/{played_run}"
        page.click("form.logout button")
        assert "/login" in page.url
        page.context.close()
        assert watched.hosts == {f"127.0.0.1:{port}"}
        assert watched.problems == []
