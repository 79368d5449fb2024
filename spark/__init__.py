"""Lands every topic in Delta tables, and reconciles them with the databases, id by id."""

from importlib import import_module

from contract.extras import manifests

for part in manifests("spark").values():  # each adds itself to what is landed, read and compared
    import_module(part["part"])
