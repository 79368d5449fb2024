"""Lands every topic in Delta tables, and reconciles them with the databases, id by id.

The files here are the jobs (land, reconcile, retention, repair, compact, tables) and what all of
them need. A folder knows those above it in this list, and none below:

    kafka      what topics hold, and which topics there are
    lake       the landed tables, and how far landing has come
    rows       the rows that are compared, of the databases and of the lake
    landing    the query that lands every topic
    judging    what became of each id
    reporting  what people read of a run
    retiring   what is old and settled, and how it is deleted
    repairing  what repair does about a finding
"""
