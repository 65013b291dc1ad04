"""One browser, one server and one league, launched from the form, for every test of a module.

Not for the whole session: while Playwright is open its event loop is this thread's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests import command_line as cli
from tests.browser.chromium import ARGUMENTS, CHROMIUM, Watched

CONFIG = """\
name: from-the-form
game: native:connect_four
stop: {minutes: 30}
players:
  - {role: main, share: 2, snapshot: {min_steps: 200000, max_steps: 500000}}
  - {role: main_exploiter, snapshot: {min_steps: 200000, max_steps: 400000}}
anchors: [random, "mcts:20"]
network: {hidden: [64]}
rollout: {num_envs: 1024}
"""


@dataclass(frozen=True)
class Watchable:
    """A league that plays behind a server."""

    url: str
    run_id: str

    @property
    def page(self) -> str:
        return f"{self.url}/runs/{self.run_id}"

    @property
    def api(self) -> str:
        return f"{self.url}/api/v1/runs/{self.run_id}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def league(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watchable]:
    """Launched from the form, which says what is wrong while one types."""
    home, port = tmp_path_factory.mktemp("browser") / "home", cli.free_port()
    url = f"http://127.0.0.1:{port}"
    with cli.started("serve", "--supervise", "--home", str(home), "--port", str(port)):
        cli.wait_until(lambda: cli.get(f"{url}/readyz"), "the server")
        page = browser.new_page()
        page.goto(f"{url}/")
        page.click("text=New run")
        page.fill("#yaml", CONFIG.replace("role: main,", "role: mian,"))
        page.wait_for_selector("#checked:has-text('did you mean main')")
        assert page.is_disabled("button[type=submit]")
        page.fill("#yaml", CONFIG)
        page.wait_for_selector("#checked:has-text('Good: native:connect_four')")
        page.click("button[type=submit]")
        page.wait_for_selector("#standings")
        league = Watchable(url, page.url.rpartition("/")[2])
        page.wait_for_selector("tr[data-player='main.0.v1']", timeout=90_000)
        page.close()
        yield league


@pytest.fixture
def watched(browser: Browser, league: Watchable) -> Iterator[Watched]:
    """A page of its own; that it asked no other host and had nothing to say is checked at the end."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    watched = Watched(context.new_page())
    yield watched
    context.close()
    assert watched.hosts == {league.url.partition("//")[2]}
    assert watched.problems == []


@pytest.fixture
def page(watched: Watched) -> Page:
    return watched.page
