"""Run migrations over the connection that :mod:`activities.store.migration` opened."""

from alembic import context

from activities.store.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=False,
)
context.run_migrations()
