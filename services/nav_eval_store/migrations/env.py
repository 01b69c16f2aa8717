"""Alembic's entry: runs the steps on the connection that `nav_eval_store.migrations.runner` hands over."""

from alembic import context

from nav_eval_store.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,  # SQLite cannot alter a table: Alembic copies it
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
