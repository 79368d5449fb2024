"""How the clients of this pipeline log in, and whom they trust: by settings, the same for all.

Beside that, where the programs of the embedded PostgreSQL are, for the stack and for the tests.
"""
