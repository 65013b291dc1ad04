"""series of more than two players: a row for each pair of them"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("series") as batch:
        batch.add_column(sa.Column("pair", sa.BigInteger(), nullable=False, server_default="0"))
    _key("number", "pair")


def downgrade() -> None:
    op.execute("DELETE FROM series WHERE pair > 0")
    _key("number")
    with op.batch_alter_table("series") as batch:
        batch.drop_column("pair")


def _key(*columns: str) -> None:
    """Makes the run and these columns the primary key."""
    keys = sa.inspect(op.get_bind()).get_pk_constraint("series")
    naming = {"pk": "%(table_name)s_pkey"}
    with op.batch_alter_table("series", recreate="auto", naming_convention=naming) as batch:
        batch.drop_constraint(keys["name"] or "series_pkey", type_="primary")
        batch.create_primary_key("series_pkey", ["run_id", *columns])
