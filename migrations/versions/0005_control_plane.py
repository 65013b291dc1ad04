"""the control plane: commands, tournaments on demand, episodes, tokens, audit, webhooks; totals of players"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

NEW_TABLES = (
    "plays",
    "secrets",
    "webhooks",
    "idempotency",
    "uploads",
    "audit",
    "tokens",
    "episodes",
    "commands",
)


def _key() -> sa.Column:
    kind = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return sa.Column("id", kind, primary_key=True, autoincrement=True)


def _run() -> sa.Column:
    return sa.Column("run_id", sa.String(32), sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False)


def _at(name: str = "at", *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, sa.Float(53), nullable=nullable)


def _text(name: str, length: int = 100, *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, sa.String(length), nullable=nullable)


def _json(name: str, default: str | None = None) -> sa.Column:
    return sa.Column(name, sa.JSON(), nullable=False, server_default=default)


def _count(name: str) -> sa.Column:
    return sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")


def upgrade() -> None:
    # Column by column: a table made anew by SQLite takes what refers to it along when the old one is dropped.
    op.add_column("runs", _json("tags", "[]"))
    op.add_column("runs", _count("config_revision"))
    op.add_column("players", _text("label", nullable=True))
    op.add_column("players", _json("tags", "[]"))
    for name in ("wins", "draws", "losses"):
        op.add_column("players", sa.Column(name, sa.Float(53), nullable=False, server_default="0"))
    for name, mine, theirs in (("wins", "wins", "losses"), ("draws",) * 3, ("losses", "losses", "wins")):
        op.execute(
            f"UPDATE players SET {name} ="  # noqa: S608  names of our own
            f" COALESCE((SELECT SUM({mine}) FROM payoffs p"
            "  WHERE p.run_id = players.run_id AND p.first = players.name), 0)"
            f" + COALESCE((SELECT SUM({theirs}) FROM payoffs p"
            "  WHERE p.run_id = players.run_id AND p.second = players.name), 0)"
        )
    op.add_column("events", _text("actor", nullable=True))
    op.create_index("ix_series_at", "series", ["run_id", "at", "number"])
    op.create_index("ix_series_first", "series", ["run_id", "first", "at", "number"])
    op.create_index("ix_series_second", "series", ["run_id", "second", "at", "number"])
    op.add_column("tournaments", sa.Column("state", sa.String(16), nullable=False, server_default="done"))
    op.add_column("tournaments", _text("actor", nullable=True))
    op.add_column("tournaments", _count("games"))
    op.add_column("tournaments", _text("error", 1000, nullable=True))
    op.add_column("tournaments", _count("attempts"))
    op.add_column("tournaments", _text("claim", 32, nullable=True))
    op.add_column("tournaments", _at("heartbeat_at", nullable=True))
    op.create_index("ix_tournaments_state", "tournaments", ["state"])
    op.create_table(
        "commands",
        _key(),
        _run(),
        _at(),
        _text("actor"),
        _text("kind", 32),
        _text("player"),
        _json("data"),
        _text("state", 16),
        _text("error", 1000, nullable=True),
        _at("done_at", nullable=True),
    )
    op.create_index("ix_commands_run_id", "commands", ["run_id", "state", "id"])
    op.create_table(
        "episodes",
        _key(),
        _run(),
        _at(),
        sa.Column("series", sa.BigInteger(), nullable=False),
        _json("players"),
        _json("returns"),
        sa.Column("length", sa.BigInteger(), nullable=False),
        _json("moves"),
    )
    op.create_index("ix_episodes_run_id", "episodes", ["run_id", "id"])
    op.create_table(
        "plays",
        sa.Column("id", sa.String(16), primary_key=True),
        _run(),
        _at(),
        _text("actor"),
        _text("player"),
        _text("bot", 2000, nullable=True),
        _text("checkpoint", 64, nullable=True),
        _text("human"),
        sa.Column("seat", sa.BigInteger(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("rated", sa.BigInteger(), nullable=False),
        _text("state", 16),
        _json("actions"),
        _json("seats"),
        sa.Column("returns", sa.JSON()),
    )
    op.create_index("ix_plays_run_id", "plays", ["run_id", "at"])
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(16), primary_key=True),
        _text("name"),
        _text("hash", 64),
        _text("scope", 16),
        _at("created_at"),
        _text("created_by"),
        _at("expires_at", nullable=True),
        _at("revoked_at", nullable=True),
        _at("last_used_at", nullable=True),
    )
    op.create_table(
        "audit", _key(), _at(), _text("actor"), _text("action"), _text("target", 300), _json("data")
    )
    op.create_table(
        "uploads",
        sa.Column("sha", sa.String(64), primary_key=True),
        _at(),
        _text("actor"),
        _text("kind", 16),
        sa.Column("size", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "idempotency",
        sa.Column("key", sa.String(255), primary_key=True),
        sa.Column("actor", sa.String(100), primary_key=True),
        _text("request", 64),
        _at(),
        sa.Column("status", sa.BigInteger()),
        _json("headers"),
        sa.Column("body", sa.LargeBinary()),
    )
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(16), primary_key=True),
        _text("url", 2000),
        sa.Column("secret", sa.Text(), nullable=False),
        _json("kinds"),
        sa.Column("run_id", sa.String(32), sa.ForeignKey("runs.id", ondelete="CASCADE")),
        _at("created_at"),
        _text("created_by"),
        sa.Column("last_event", sa.BigInteger(), nullable=False),
        _count("failures"),
        sa.Column("next_try_at", sa.Float(53), nullable=False, server_default="0"),
        _text("last_error", 1000, nullable=True),
        _count("delivered"),
    )
    op.create_table(
        "secrets",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )


def downgrade() -> None:
    for name in NEW_TABLES:
        op.drop_table(name)
    op.execute("DELETE FROM tournaments WHERE state <> 'done'")
    op.drop_index("ix_tournaments_state", "tournaments")
    for name in ("heartbeat_at", "claim", "attempts", "error", "games", "actor", "state"):
        op.drop_column("tournaments", name)
    op.drop_index("ix_series_second", "series")
    op.drop_index("ix_series_first", "series")
    op.drop_index("ix_series_at", "series")
    op.drop_column("events", "actor")
    for name in ("losses", "draws", "wins", "tags", "label"):
        op.drop_column("players", name)
    op.drop_column("runs", "config_revision")
    op.drop_column("runs", "tags")
