"""Debian's Chromium, and a page of which nothing wrong goes unnoticed."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
needed = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium: apt-get install chromium")


class Watched:
    """What a page says on its console and which hosts it asks."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.hosts: set[str] = set()
        page.on("console", lambda m: self.problems.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: self.problems.append(str(e)))
        page.on("request", lambda r: self.hosts.add(r.url.split("/")[2]) if "//" in r.url else None)
