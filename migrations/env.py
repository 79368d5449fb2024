"""What Alembic runs: the revisions of one database, each in a transaction of its own.

They run as owner, so that everything they make belongs to it.
"""

from alembic import context

engine = context.config.attributes["engine"]
with engine.connect() as connection:
    connection.exec_driver_sql("set role owner")
    connection.commit()
    context.configure(connection=connection, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()
