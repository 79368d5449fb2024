"""The embedded stack: the real parts as processes of this machine, without containers."""
