"""The league service of a request."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from league.services import LeagueService


def _service(request: Request) -> LeagueService:
    service: LeagueService = request.app.state.service
    return service


Service = Annotated[LeagueService, Depends(_service)]
