"""The running parts: what Postgres, Connect and the broker say when they are asked, and the statement that mends it."""
