"""The control plane's settings: environment variables and a `.env` file, each with a default that is safe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from league.errors import ConfigError

Words = Annotated[tuple[str, ...], NoDecode]


class Settings(BaseSettings):
    """Every setting; its variable is LEAGUE_ and the field's name in capitals. Lists are comma-separated."""

    model_config = SettingsConfigDict(env_prefix="LEAGUE_", env_file=".env", extra="ignore", frozen=True)

    home: str = Field("league-data", description="Folder of the database and the checkpoints.")
    database_url: str | None = Field(
        None, description="SQLAlchemy URL of the database; by default SQLite in the home folder."
    )
    checkpoint_url: str | None = Field(
        None, description="fsspec URL of the checkpoints; by default a folder in the home folder."
    )
    ray_address: str | None = Field(
        None,
        description="Ray cluster that runs are spread over (`auto`, `HOST:PORT`); by default each run has a "
        "Ray of its own on this machine.",
    )
    log_format: Literal["text", "json"] = Field(
        "text", description="Of what `league supervise` logs: lines for people, or a JSON object each."
    )
    server: str | None = Field(
        None, description="URL of a control plane that the command line talks to instead of the database."
    )
    token: str | None = Field(None, description="Access token that the command line and the client show.")
    tls_cert: Path | None = Field(None, description="Certificate chain (PEM) to serve HTTPS with.")
    tls_key: Path | None = Field(None, description="Its private key (PEM).")
    loopback: bool = Field(
        False,
        description="Set by `league serve` and `league run`: whether they listen on loopback only. Where it "
        "is not said, nobody is let in without a token.",
    )
    allowed_hosts: Words = Field(
        ("localhost", "127.0.0.1", "[::1]"),
        description="Host names under which the open server answers; others are refused, so that no web page "
        "can reach it by a name of its own. With tokens any name will do.",
    )
    cors_origins: Words = Field((), description="Origins whose scripts may use the API; none by default.")
    max_body_bytes: int = Field(1_048_576, ge=1024, description="Size of a request's body.")
    max_upload_bytes: int = Field(268_435_456, ge=1024, description="Size of an uploaded checkpoint.")
    rate_limit: float = Field(
        100.0, gt=0, description="Requests a second of one client, on average; twice as many at once."
    )
    act_rate_limit: float = Field(10_000.0, gt=0, description="The same for `act`.")
    max_event_streams: int = Field(2000, ge=1, description="Event streams open at once.")
    session_hours: float = Field(12.0, gt=0, description="How long a login by token in the browser lasts.")
    remote_hosts: Words = Field(
        ("127.0.0.1", "localhost"), description="Hosts at which remote policies may live; * for any."
    )
    webhook_hosts: Words = Field(
        ("*",), description="Hosts that webhooks may call; link-local addresses never are."
    )
    python_modules: Words = Field(
        (),
        description="Modules whose games and networks (`python:MODULE:NAME`) configs sent to the server may "
        "name; * for any. Without tokens, on loopback, any.",
    )
    play_tournaments: bool = Field(
        True, description="Whether this server starts processes that play the tournaments asked for."
    )

    @field_validator(
        "allowed_hosts", "cors_origins", "remote_hosts", "webhook_hosts", "python_modules", mode="before"
    )
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(w.strip() for w in value.split(",") if w.strip()) if isinstance(value, str) else value

    @classmethod
    def load(cls) -> Settings:
        """Reads the environment. Raises: ConfigError: names the variable and what is wrong with it."""
        try:
            return cls()
        except ValidationError as error:
            lines = [f"LEAGUE_{'_'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in error.errors()]
            raise ConfigError("\n".join(lines)) from error


def permits(patterns: tuple[str, ...], name: str) -> bool:
    """Whether a list of names, or *, has this one."""
    return "*" in patterns or name in patterns


def as_table() -> str:
    """Returns the settings as a Markdown table."""
    rows = ["| variable | default | what |", "|---|---|---|"]
    for name, info in Settings.model_fields.items():
        default = info.default
        shown = ",".join(default) if isinstance(default, tuple) else default
        text = "" if shown in (None, "") else f"`{shown}`"
        rows.append(f"| `LEAGUE_{name.upper()}` | {text} | {info.description} |")
    return "\n".join(rows)
