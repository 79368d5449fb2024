"""Lands every topic in Delta tables, and reconciles them with the databases, id by id."""

from importlib import import_module, util

if util.find_spec("spark.batch_total"):  # may be deleted: it adds itself to what is landed, read and compared
    import_module("spark.batch_total")
