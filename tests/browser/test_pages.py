"""Every page in Debian's Chromium: a league is launched, steered, watched and played against, all by mouse.

Screenshots of every page, light, dark or on a phone, go to the folder $LEAGUE_SCREENSHOTS where it is set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from tests import command_line as cli
from tests.browser.test_standings_page import ARGUMENTS, CHROMIUM

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium: apt-get install chromium"),
]

# Of the pages those that are looked at in the dark and on a phone, too: they have all there is.
AGAIN = ("standings", "player", "play", "replay", "payoffs")
SHOTS = os.environ.get("LEAGUE_SCREENSHOTS")
# Of each page one picture is kept, of these more.
KEPT = {
    ("standings", "dark"), ("standings", "phone"), ("player", "dark"), ("play", "phone"), ("payoffs", "dark"),
    ("replay", "dark"),
}  # fmt: skip
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


@pytest.fixture
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


class Watched:
    """A page of which nothing wrong goes unnoticed."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.hosts: set[str] = set()
        page.on("console", lambda m: self.problems.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: self.problems.append(str(e)))
        page.on("request", lambda r: self.hosts.add(r.url.split("/")[2]) if "//" in r.url else None)


def test_a_league_is_launched_steered_watched_and_played(tmp_path: Path, browser: Browser) -> None:
    home, port = tmp_path / "home", cli.free_port()
    url = f"http://127.0.0.1:{port}"
    with cli.started("serve", "--supervise", "--home", str(home), "--port", str(port)):
        cli.wait_until(lambda: cli.get(f"{url}/readyz"), "the server")
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        watched = Watched(context.new_page())
        page = watched.page

        # Launched from the form, which says what is wrong while one types.
        page.goto(f"{url}/")
        page.click("text=New run")
        page.fill("#yaml", CONFIG.replace("role: main,", "role: mian,"))
        page.wait_for_selector("#checked:has-text('did you mean main')")
        assert page.is_disabled("button[type=submit]")
        watched.problems.clear()  # the refused check is a 422, which the console tells
        page.fill("#yaml", CONFIG)
        page.wait_for_selector("#checked:has-text('Good: native:connect_four')")
        page.click("button[type=submit]")
        page.wait_for_selector("#standings")
        run = page.url.rpartition("/")[2]

        # A rating changes while one looks.
        page.wait_for_selector("tr[data-player='main.0.v1']", timeout=90_000)
        before = page.inner_text("tr[data-player='main.0']")
        page.wait_for_function(
            "text => document.querySelector(\"tr[data-player='main.0']\").innerText !== text", arg=before
        )

        # A player is frozen, and unfrozen.
        page.click("tr[data-player='main_exploiter.0'] a")
        page.click("text=Freeze")
        page.wait_for_selector(".title .state:has-text('frozen')")
        assert cli.get(f"{url}/api/v1/players/{run}:main_exploiter.0")["state"] == "frozen"
        page.click("text=Unfreeze")
        page.wait_for_selector(".title .state:has-text('learning')")

        # A replay is stepped through.
        cli.wait_until(lambda: cli.get(f"{url}/api/v1/runs/{run}/episodes")["items"], "a game written down")
        page.goto(f"{url}/runs/{run}/games")
        page.click("#games tbody tr >> nth=0 >> a >> nth=0")
        page.wait_for_selector("#board svg.board")
        assert page.locator("#board .disc.first, #board .disc.second").count() == 0
        page.click("#on")
        page.click("#on")
        assert page.locator("#board .disc.first, #board .disc.second").count() == 2
        assert page.locator("#thoughts li").count() >= 1
        page.keyboard.press("ArrowLeft")
        assert page.get_attribute("#replay", "data-ply") == "1"

        # A whole game is played, and found in the matches.
        page.goto(f"{url}/runs/{run}/play?player=random")
        page.fill("input[name=name]", "ada")
        page.check("input[name=rated]")
        page.click("text=New game")
        for _ in range(25):
            page.wait_for_function("() => play.dataset.state === 'over' || document.querySelector('.choice')")
            if page.get_attribute("#play", "data-state") == "over":
                break
            moves = page.get_attribute("#play", "data-moves")
            page.locator(".choice").first.click()
            page.wait_for_function("n => document.querySelector('#play').dataset.moves !== n", arg=moves)
        assert page.get_attribute("#play", "data-state") == "over"
        assert "It counts" in page.inner_text("#status")

        def played() -> bool:
            page.goto(f"{url}/runs/{run}/matches?player=human.ada")
            return page.locator("#matches tbody tr").count() == 1

        cli.wait_until(played, "the game among the matches", 20)
        assert "random" in page.inner_text("#matches tbody")

        # In an unrated one there are hints, and moves are taken back.
        page.goto(f"{url}/runs/{run}/play?player=main.0")
        page.click("text=New game")
        page.wait_for_selector(".choice")
        page.click("#hint")
        page.wait_for_selector("#status:has-text('would play')")
        page.locator(".choice").nth(3).focus()
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.querySelector('#play').dataset.moves === '2'")
        page.click("#undo")
        page.wait_for_function("() => document.querySelector('#play').dataset.moves === '0'")

        # The map is read by keyboard, and leads to the two.
        page.goto(f"{url}/runs/{run}/payoffs")
        page.wait_for_function("() => Number(document.querySelector('#map').dataset.cells) > 4")
        page.focus("#canvas")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("#reading:has-text('games'), #reading:has-text('has not met')")
        page.keyboard.press("Enter")
        page.wait_for_url("**/against/**")

        # Filters are in the address; a second tab follows the first one's stream.
        page.goto(f"{url}/runs/{run}?role=anchor&by=elo")
        assert page.locator("#standings tbody tr").count() == 2
        page.goto(f"{url}/runs/{run}")
        page.wait_for_function("() => document.documentElement.dataset.stream === 'leads'")
        second = Watched(context.new_page())
        second.page.goto(f"{url}/runs/{run}")
        before = second.page.inner_text(".figures")
        second.page.wait_for_function(
            "text => document.querySelector('.figures').innerText !== text", arg=before
        )
        assert second.page.get_attribute("html", "data-stream") == "follows"
        page.close()
        second.page.wait_for_function("() => document.documentElement.dataset.stream === 'leads'")
        assert second.problems == []

        assert watched.hosts == {f"127.0.0.1:{port}"}
        assert watched.problems == []
        game = cli.get(f"{url}/api/v1/runs/{run}/episodes?player=main.0")["items"][0]["id"]
        look_at_every_page(browser, url, run, game)


def look_at_every_page(browser: Browser, url: str, run: str, game: int) -> None:
    """No fault of accessibility, no message on the console, in both themes and on a phone."""
    pages = {
        "runs": "/",
        "launch": "/launch",
        "standings": f"/runs/{run}",
        "charts": f"/runs/{run}/charts",
        "payoffs": f"/runs/{run}/payoffs",
        "against": f"/runs/{run}/players/main.0/against/random",
        "matches": f"/runs/{run}/matches?player=main.0",
        "games": f"/runs/{run}/games",
        "replay": f"/runs/{run}/games/{game}#8",
        "lineage": f"/runs/{run}/lineage",
        "events": f"/runs/{run}/events",
        "play": f"/runs/{run}/play",
        "player": f"/runs/{run}/players/main.0",
    }
    views = {
        "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
        "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
        "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
    }
    faults = []
    for view, options in views.items():
        context = browser.new_context(**options, reduced_motion="reduce")  # type: ignore[arg-type]
        watched = Watched(context.new_page())
        for name, path in pages.items():
            if view != "light" and name not in AGAIN:
                continue
            watched.page.goto(url + path)
            watched.page.wait_for_timeout(900 if SHOTS else 250)
            if name == "play":
                watched.page.click("text=New game")
                watched.page.wait_for_selector(".choice")
            found = Axe().run(watched.page).response["violations"]
            faults += [
                (view, name, fault["id"], fault["nodes"][0]["html"][:200])
                for fault in found
                if fault["impact"] in ("serious", "critical")
            ]
            wide = watched.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 1, (view, name, "is wider than the window")
            if SHOTS and (view == "light" or (name, view) in KEPT):
                watched.page.screenshot(path=Path(SHOTS) / f"{name}-{view}.png")
        assert watched.problems == [], (view, watched.problems)
        context.close()
    assert not faults, "\n".join(map(str, faults))
