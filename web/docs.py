"""The API's own page: Swagger UI out of its package, nothing from anywhere else."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from web.templating import templates

router = APIRouter(include_in_schema=False)


@router.get("/docs")
def docs(request: Request) -> HTMLResponse:
    """Every operation of the API, to try."""
    return templates.TemplateResponse(request, "docs.html", {})
