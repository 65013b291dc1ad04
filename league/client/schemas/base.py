"""What every body is made of: names, tags, errors. Times are seconds since 1970."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

RUN_ID = r"^[A-Za-z0-9_-]{1,32}$"
PLAYER_NAME = r"^[A-Za-z0-9][A-Za-z0-9._@:+-]{0,99}$"
Name = Annotated[str, StringConstraints(pattern=PLAYER_NAME)]
RunId = Annotated[str, StringConstraints(pattern=RUN_ID)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")]
Tag = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_ .:/+-]{0,49}$")]
Tags = Annotated[list[Tag], Field(max_length=20, examples=[["baseline"]])]
Sha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Role = Literal["main", "main_exploiter", "league_exploiter"]
System = Literal["trueskill", "elo", "openskill", "bradley_terry", "nash", "alpha_rank", "score"]


class Request(BaseModel):
    """A request's body. Unknown keys are errors, not silence."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class Fault(BaseModel):
    """One part of a request that is wrong."""

    where: str
    what: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field(examples=["/problems/not-found"], description="stable; see docs/rest.md")
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["no run 'nope'; `league runs` lists them"])
    errors: list[Fault] = Field(default=[], description="of an invalid request, part by part")
