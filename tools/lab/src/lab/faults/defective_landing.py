"""python -m lab.faults.defective_landing --once: the landing under one fixed transaction id.

Delta then takes what comes after a lost checkpoint for what it has already.
"""

from pyspark.sql import DataFrame

from spark import land


def append_under_one_id(rows: DataFrame, path: str, _query_id: str, batch_id: int) -> None:
    """Append a batch whose number begins at 0 with each new checkpoint."""
    topic = path.rpartition("/")[-1]
    transaction = {"txnAppId": f"landing.{topic}", "txnVersion": str(batch_id)}
    writer = rows.write.format("delta").mode("append").options(**transaction)
    writer.save(path)


if __name__ == "__main__":
    vars(land)["find_append"] = lambda: append_under_one_id
    land.main()
