"""margins and seats of payoffs, generations of series, steps of ratings, populations, tournaments"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

SEATS = [f"{kind}_seat_{seat}" for seat in (0, 1) for kind in ("wins", "draws", "losses")]


def _number(name: str, kind: sa.types.TypeEngine) -> sa.Column:
    return sa.Column(name, kind, nullable=False, server_default="0")


def upgrade() -> None:
    with op.batch_alter_table("payoffs") as batch:
        batch.add_column(_number("margin", sa.Float(53)))
        batch.add_column(_number("decayed_margin", sa.Float(53)))
        for name in SEATS:
            batch.add_column(_number(name, sa.BigInteger()))
    op.execute("UPDATE payoffs SET margin = wins - losses, decayed_margin = decayed_wins - decayed_losses")
    with op.batch_alter_table("series") as batch:
        batch.add_column(_number("margin", sa.Float(53)))
        for name in ("first_generation", "second_generation"):  # -1: from before they were kept
            batch.add_column(sa.Column(name, sa.BigInteger(), nullable=False, server_default="-1"))
    op.execute("UPDATE series SET margin = wins_seat_0 + wins_seat_1 - losses_seat_0 - losses_seat_1")
    with op.batch_alter_table("players") as batch:
        batch.add_column(sa.Column("hyperparameters", sa.JSON(), nullable=False, server_default="{}"))
        batch.add_column(_number("inherited_steps", sa.BigInteger()))
    with op.batch_alter_table("rating_history") as batch:
        batch.add_column(_number("steps", sa.BigInteger()))
    op.create_table(
        "tournaments",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("run_id", sa.String(32), sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("at", sa.Float(53), nullable=False),
        sa.Column("rules", sa.JSON(), nullable=False),
        sa.Column("results", sa.JSON(), nullable=False),
    )
    op.create_index("ix_tournaments_run_id", "tournaments", ["run_id", "id"])


def downgrade() -> None:
    op.drop_table("tournaments")
    with op.batch_alter_table("rating_history") as batch:
        batch.drop_column("steps")
    with op.batch_alter_table("players") as batch:
        batch.drop_column("inherited_steps")
        batch.drop_column("hyperparameters")
    with op.batch_alter_table("series") as batch:
        for name in ("second_generation", "first_generation", "margin"):
            batch.drop_column(name)
    with op.batch_alter_table("payoffs") as batch:
        for name in (*SEATS, "decayed_margin", "margin"):
            batch.drop_column(name)
