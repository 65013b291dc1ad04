"""Alembic's entry: `Database.upgrade` hands over its open connection."""

from alembic import context

from league.store.models import Base

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
