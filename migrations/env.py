"""What Alembic runs: the revisions of one database, in one transaction.

They run as owner, so that everything they make belongs to it.
"""

from alembic import context

engine = context.config.attributes["engine"]
with engine.begin() as connection:
    connection.exec_driver_sql("set local role owner")
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()
