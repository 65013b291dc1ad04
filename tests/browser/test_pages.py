"""Every page in Debian's Chromium: a league is launched, steered, watched and played against, all by mouse.

Screenshots of every page, light, dark or on a phone, go to the folder $LEAGUE_SCREENSHOTS where it is set.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests import command_line as cli
from tests.browser.chromium import Watched, needed
from tests.browser.conftest import Watchable

pytestmark = [pytest.mark.browser, needed]

# Of the pages those that are looked at in the dark and on a phone, too: they have all there is.
AGAIN = ("standings", "player", "play", "replay", "payoffs")
SHOTS = os.environ.get("LEAGUE_SCREENSHOTS")
# Of each page one picture is kept, of these more.
KEPT = {
    ("standings", "dark"), ("standings", "phone"), ("player", "dark"), ("play", "phone"), ("payoffs", "dark"),
    ("replay", "dark"),
}  # fmt: skip


def table(page: Page) -> dict[str, str]:
    """Returns the shown rows, text by player."""
    rows: dict[str, str] = page.eval_on_selector_all(
        "#standings tbody tr", "rows => Object.fromEntries(rows.map(r => [r.dataset.player, r.innerText]))"
    )
    return rows


def number(page: Page, selector: str, attribute: str) -> int:
    return int(page.get_attribute(selector, attribute) or 0)


def test_table_chart_and_map_move_without_a_reload(league: Watchable, page: Page) -> None:
    loads: list[str] = []
    page.on("framenavigated", lambda frame: loads.append(frame.url))
    page.goto(league.url)
    page.click(f"a[href='/runs/{league.run_id}']")
    page.wait_for_selector("#history .scatterlayer .trace path.js-line")
    page.wait_for_selector("#payoff .heatmaplayer image, #payoff .heatmaplayer .hm image")
    loads.clear()
    rows = table(page)
    points, cells = number(page, "#history", "data-points"), number(page, "#payoff", "data-cells")
    assert {"main.0", "main_exploiter.0", "random", "mcts:20", "main.0.v1"} <= set(rows)
    assert points > 0
    assert cells > 0
    page.wait_for_function(
        "([rows, points, cells]) => {"
        " const now = Object.fromEntries([...document.querySelectorAll('#standings tbody tr')]"
        "  .map(r => [r.dataset.player, r.innerText]));"
        " return Object.keys(now).length > Object.keys(rows).length && now['main.0'] !== rows['main.0']"
        "  && Number(document.getElementById('history').dataset.points) > points"
        "  && Number(document.getElementById('payoff').dataset.cells) > cells; }",
        arg=[rows, points, cells],
        timeout=60_000,
    )
    assert loads == []
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / "standings.png", full_page=True)
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("document.documentElement.scrollWidth <= 390")


def test_a_player_is_frozen_and_unfrozen(league: Watchable, page: Page) -> None:
    page.goto(league.page)
    page.click("tr[data-player='main_exploiter.0'] a")
    page.click("button:text-is('Freeze')")
    page.wait_for_selector(".title .state:has-text('frozen')")
    shown = cli.get(f"{league.url}/api/v1/players/{league.run_id}:main_exploiter.0")
    assert shown["state"] == "frozen"
    page.click("button:text-is('Unfreeze')")
    page.wait_for_selector(".title .state:has-text('learning')")


def test_a_control_waits_for_its_script(league: Watchable, browser: Browser) -> None:
    """A press before the script has come would do nothing and say nothing."""
    with browser.new_context() as context:
        context.route("**/static/actions.js", lambda route: route.abort())
        context.route("**/static/play.js", lambda route: route.abort())
        page = context.new_page()
        page.goto(f"{league.page}/players/main.0")
        buttons = page.locator("button[data-post]")
        assert buttons.count() >= 3
        assert all(button.is_disabled() for button in buttons.all())
        page.goto(f"{league.page}/play?player=random")
        assert page.is_disabled("#begin button")


def test_a_replay_is_stepped_through(league: Watchable, page: Page) -> None:
    cli.wait_until(lambda: cli.get(f"{league.api}/episodes")["items"], "a game written down")
    page.goto(f"{league.page}/games")
    page.click("#games tbody tr >> nth=0 >> a >> nth=0")
    page.wait_for_selector("#board svg.board")
    assert page.locator("#board .disc.first, #board .disc.second").count() == 0
    page.click("#on")
    page.click("#on")
    assert page.locator("#board .disc.first, #board .disc.second").count() == 2
    assert page.locator("#thoughts li").count() >= 1
    page.keyboard.press("ArrowLeft")
    assert page.get_attribute("#replay", "data-ply") == "1"


def test_a_whole_game_is_played_and_found_in_the_matches(league: Watchable, page: Page) -> None:
    page.goto(f"{league.page}/play?player=random")
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
        page.goto(f"{league.page}/matches?player=human.ada")
        return page.locator("#matches tbody tr").count() == 1

    cli.wait_until(played, "the game among the matches", 20)
    assert "random" in page.inner_text("#matches tbody")


def test_in_an_unrated_game_there_are_hints_and_moves_are_taken_back(league: Watchable, page: Page) -> None:
    page.goto(f"{league.page}/play?player=main.0")
    page.click("text=New game")
    page.wait_for_selector(".choice")
    page.click("#hint")
    page.wait_for_selector("#status:has-text('would play')")
    page.locator(".choice").nth(3).focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#play').dataset.moves === '2'")
    page.click("#undo")
    page.wait_for_function("() => document.querySelector('#play').dataset.moves === '0'")


def test_the_map_is_read_by_keyboard_and_leads_to_the_two(league: Watchable, page: Page) -> None:
    page.goto(f"{league.page}/payoffs")
    page.wait_for_function("() => Number(document.querySelector('#map').dataset.cells) > 4")
    page.focus("#canvas")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#reading:has-text('games'), #reading:has-text('has not met')")
    page.keyboard.press("Enter")
    page.wait_for_url("**/against/**")
    page.goto(f"{league.page}/payoffs?order=lineage")
    page.wait_for_function("() => Number(document.querySelector('#map').dataset.cells) > 4")
    assert page.input_value("#order") == "lineage"
    page.select_option("#order", "cycles")
    assert page.url.endswith("order=cycles")


def test_filters_are_in_the_address(league: Watchable, page: Page) -> None:
    page.goto(f"{league.page}?role=anchor&by=elo")
    assert page.locator("#standings tbody tr").count() == 2


def test_players_are_ticked_and_compared(league: Watchable, page: Page) -> None:
    page.goto(league.page)
    for name in ("main.0", "random", "mcts:20"):
        page.check(f"tr[data-player='{name}'] input")
    moves = page.inner_text(".figures")
    page.wait_for_function("text => document.querySelector('.figures').innerText !== text", arg=moves)
    assert page.is_checked("tr[data-player='random'] input"), "a refresh keeps what is ticked"
    page.click("text=Compare ticked")
    page.wait_for_selector("#history[data-bands=true] .scatterlayer .trace")
    assert page.locator("#compared thead th").count() == 4
    assert "have not met" in page.inner_text("#mutual") or "% of" in page.inner_text("#mutual")


def test_bands_are_a_switch_and_resets_are_marked(league: Watchable, page: Page) -> None:
    cli.wait_until(
        lambda: cli.get(f"{league.api}/events/log?kind=reset")["items"], "an exploiter that was reset", 120
    )
    page.goto(league.page)
    page.wait_for_selector("#history[data-bands=false] .scatterlayer .trace")
    assert number(page, "#history", "data-marks") >= 1
    page.check("#bands")
    page.wait_for_selector("#history[data-bands=true]")


def test_what_is_played_now_is_shown_by_process(league: Watchable, page: Page) -> None:
    page.goto(f"{league.page}/now")
    page.wait_for_selector("#now h2:has-text('moves/s')")
    assert page.locator("#now .health.late").count() == 0
    assert "main.0" in page.inner_text("#learners")
    before = page.inner_text("#now")
    page.wait_for_function("text => document.querySelector('#now').innerText !== text", arg=before)


def test_scores_against_the_anchors_are_charted(league: Watchable, page: Page) -> None:
    page.goto(f"{league.page}/charts")
    page.wait_for_function("() => Number(document.querySelector('#anchors').dataset.lines) >= 1")


def test_a_second_tab_follows_the_first_ones_stream(league: Watchable, page: Page) -> None:
    page.goto(league.page)
    page.wait_for_function("() => document.documentElement.dataset.stream === 'leads'")
    second = Watched(page.context.new_page())
    second.page.goto(league.page)
    before = second.page.inner_text(".figures")
    second.page.wait_for_function("text => document.querySelector('.figures').innerText !== text", arg=before)
    assert second.page.get_attribute("html", "data-stream") == "follows"
    page.close()
    second.page.wait_for_function("() => document.documentElement.dataset.stream === 'leads'")
    assert second.problems == []


def test_every_page_is_in_order(league: Watchable, browser: Browser) -> None:
    """No fault of accessibility, no message on the console, in both themes and on a phone."""
    game = cli.wait_until(
        lambda: cli.get(f"{league.api}/episodes?player=main.0")["items"], "a game written down"
    )[0]["id"]
    run = f"/runs/{league.run_id}"
    pages = {
        "runs": "/",
        "launch": "/launch",
        "standings": run,
        "charts": f"{run}/charts",
        "now": f"{run}/now",
        "compare": f"{run}/compare?player=main.0&player=random",
        "payoffs": f"{run}/payoffs",
        "against": f"{run}/players/main.0/against/random",
        "matches": f"{run}/matches?player=main.0",
        "games": f"{run}/games",
        "replay": f"{run}/games/{game}#8",
        "lineage": f"{run}/lineage",
        "events": f"{run}/events",
        "play": f"{run}/play",
        "player": f"{run}/players/main.0",
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
            watched.page.goto(league.url + path)
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
