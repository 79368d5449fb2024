"""How the clients of this pipeline log in, and whom they trust: by settings, the same for all."""
