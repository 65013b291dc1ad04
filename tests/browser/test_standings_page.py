"""The standings page in Debian's Chromium, over a league that is playing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from tests import command_line as cli

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
CONFIG = """
name: browser
stop: {minutes: 2}
players:
  - {role: main, share: 2, snapshot: {min_steps: 300000, max_steps: 900000}}
  - {role: main_exploiter, snapshot: {min_steps: 200000, max_steps: 500000}}
anchors: [random, "mcts:20"]
network: {hidden: [64]}
rollout: {num_envs: 2048}
"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium: apt-get install chromium"),
]


def table(page: Page) -> dict[str, str]:
    """Returns the shown rows, text by player."""
    rows: dict[str, str] = page.eval_on_selector_all(
        "#standings tbody tr", "rows => Object.fromEntries(rows.map(r => [r.dataset.player, r.innerText]))"
    )
    return rows


def number(page: Page, selector: str, attribute: str) -> int:
    return int(page.get_attribute(selector, attribute) or 0)


def test_table_chart_and_map_render_and_move_without_a_reload(tmp_path: Path) -> None:
    port, config = cli.free_port(), tmp_path / "browser.yaml"
    config.write_text(CONFIG)
    url = f"http://127.0.0.1:{port}"
    with (
        cli.started("run", str(config), "--home", str(tmp_path / "home"), "--port", str(port)),
        sync_playwright() as playwright,
    ):
        (run,) = cli.wait_until(lambda: cli.get(f"{url}/api/v1/runs")["items"], "the run in the API")
        standings = f"{url}/api/v1/runs/{run['id']}/standings"
        cli.wait_until(lambda: len(cli.get(standings)["standings"]) >= 5, "a snapshot")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        problems: list[str] = []
        requested: set[str] = set()
        loads: list[str] = []
        page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: problems.append(str(e)))
        page.on("request", lambda r: requested.add(r.url.split("/")[2]))
        page.on("framenavigated", lambda frame: loads.append(frame.url))

        page.goto(url)
        page.click(f"a[href='/runs/{run['id']}']")
        page.wait_for_selector("#history .scatterlayer .trace path.js-line")
        page.wait_for_selector("#payoff .heatmaplayer image, #payoff .heatmaplayer .hm image")
        loads.clear()
        rows, points, cells = (
            table(page),
            number(page, "#history", "data-points"),
            number(page, "#payoff", "data-cells"),
        )
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
        assert problems == []
        assert requested == {f"127.0.0.1:{port}"}

        page.screenshot(path=tmp_path / "standings.png", full_page=True)
        assert (tmp_path / "standings.png").stat().st_size > 50_000
        if folder := os.environ.get("LEAGUE_SCREENSHOTS"):
            shutil.copy(tmp_path / "standings.png", Path(folder) / "standings.png")
        page.set_viewport_size({"width": 390, "height": 800})
        page.wait_for_function("document.documentElement.scrollWidth <= 390")
        browser.close()
