"""What Alembic runs: the revisions of one database, as owner, in one transaction."""

from alembic import context
from sqlalchemy import Engine


def run(engine: Engine) -> None:
    """Everything that a revision makes belongs to owner, whoever runs it."""
    with engine.execution_options(isolation_level="READ COMMITTED").begin() as connection:
        connection.exec_driver_sql("set local role owner")
        context.configure(connection=connection)
        with context.begin_transaction():
            context.run_migrations()


run(context.config.attributes["engine"])
