"""Whether the control plane lives, and whether it can answer."""

from __future__ import annotations

from fastapi import APIRouter

from web.schemas import Health
from web.service import Service

router = APIRouter(tags=["health"])


@router.get("/livez")
def livez() -> Health:
    """Answers as long as the process does."""
    return Health(status="ok")


@router.get("/readyz", responses={503: {"description": "The database cannot be used"}})
def readyz(service: Service) -> Health:
    """Answers ok when the database can be read and is at this program's schema."""
    service.require_ready()
    return Health(status="ok")
