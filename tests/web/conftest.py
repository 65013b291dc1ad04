"""The app over a league that was really played."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from league.bootstrap import Services, Stores
from league.settings import Settings
from web.app import create_app


@pytest.fixture
def services(stores: Stores, played_run: str) -> Services:
    return stores.services(Settings(loopback=True))


@pytest.fixture
def client(services: Services) -> Iterator[TestClient]:
    """Of an open server."""
    with TestClient(
        create_app(services), raise_server_exceptions=False, base_url="http://localhost"
    ) as client:
        yield client
