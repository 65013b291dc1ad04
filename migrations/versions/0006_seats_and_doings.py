"""scores by seat, what the processes of a run are at, the learning state before the last"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def _mean_score(seat: int) -> str:
    """What a player scored in a seat, out of the pairs in which it is the first and those in which not."""
    other = 1 - seat
    mine = f"p.wins_seat_{seat} + 0.5 * p.draws_seat_{seat}"
    theirs = f"p.losses_seat_{other} + 0.5 * p.draws_seat_{other}"
    games = " + ".join(f"p.{kind}_seat_{seat}" for kind in ("wins", "draws", "losses"))
    games_there = " + ".join(f"p.{kind}_seat_{other}" for kind in ("wins", "draws", "losses"))
    own = "players.name = p.first"
    return (
        f"(SELECT SUM(CASE WHEN {own} THEN {mine} ELSE {theirs} END)"  # noqa: S608  names of our own
        f" / NULLIF(SUM(CASE WHEN {own} THEN {games} ELSE {games_there} END), 0)"
        " FROM payoffs p WHERE p.run_id = players.run_id"
        " AND (p.first = players.name OR p.second = players.name))"
    )


def upgrade() -> None:
    op.add_column("runs", sa.Column("doing", sa.JSON(), nullable=False, server_default="{}"))
    op.add_column("players", sa.Column("previous_state", sa.String(64), nullable=True))
    for seat, name in enumerate(("first_seat", "second_seat")):
        op.add_column("players", sa.Column(name, sa.Float(53), nullable=True))
        op.execute(f"UPDATE players SET {name} = {_mean_score(seat)}")  # noqa: S608


def downgrade() -> None:
    op.drop_column("runs", "doing")
    for name in ("first_seat", "second_seat", "previous_state"):
        op.drop_column("players", name)
