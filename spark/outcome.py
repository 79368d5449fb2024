"""One outcome for each id of each hop, and the counts and findings that people read."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark.hops import AGAIN, DEAD_LETTER, IN, OUT, REJECTION

OUTCOMES = ("matched", "missing", "duplicate", "extra", "different", "late")
DEFECTS = OUTCOMES[1:5]
FIRST = 20  # findings of each kind that are shown; the table of outcomes has them all

FACTS = {
    "ins": f"count_if(side = '{IN}')",
    "copies": f"count_if(side = '{OUT}')",
    "again": f"count_if(side = '{AGAIN}')",
    "effects": "array_sort(collect_set(effect))",
    "differs": "size(collect_set(print)) > 1",
    # What went in says whether it can be judged; what only came out says it for itself.
    "is_late": f"coalesce(bool_or(late is not null) filter (where side = '{IN}'), bool_or(late is not null))",
    "note": "max(note)",
}
# In this order: what cannot be judged yet, what is known to be wrong, what is there how often.
OUTCOME = """case
    when is_late then 'late'
    when note is not null then 'different'
    when ins = 0 then 'extra'
    when size(effects) = 0 and again = 0 then 'missing'
    when size(effects) > 1 then 'duplicate'
    when differs then 'different'
    else 'matched' end"""
DETAIL = """case outcome
    when 'different' then coalesce(note, 'not the same on both sides')
    when 'missing' then 'went in, did not come out'
    when 'extra' then 'came out, nothing went in'
    when 'duplicate' then concat(size(effects), ' effects: ', array_join(slice(effects, 1, 3), ', ')) end"""
COUNTS = {
    "in": "int(ins > 0)",
    "out": "size(effects)",
    "duplicates_removed": "if(size(effects) = 0, again, copies - size(effects))",
    "rejected": f"int(array_contains(effects, '{REJECTION}'))",
    "dead_letters": f"int(array_contains(effects, '{DEAD_LETTER}'))",
}


def judge(hops: DataFrame, late: DataFrame) -> DataFrame:
    """Each id of each hop: what went in, what came out, and what that means."""
    return (
        hops.join(late, on="source", how="left")
        .groupBy("hop", "id")
        .agg(*(F.expr(sql).alias(name) for name, sql in FACTS.items()))
        .where("ins + copies + again > 0")
        .withColumn("outcome", F.expr(OUTCOME))
        .withColumn("detail", F.expr(DETAIL))
    )


def count_hops(judged: DataFrame) -> DataFrame:
    """One row for each hop; late ids are counted as late and nowhere else."""
    totals = [F.expr(f"sum(if(is_late, 0, {sql}))").alias(name) for name, sql in COUNTS.items()]
    outcomes = [F.count_if(F.col("outcome") == name).alias(name) for name in OUTCOMES]
    return judged.groupBy("hop").agg(*totals, *outcomes)


def first_findings(judged: DataFrame) -> DataFrame:
    """The first ids of each defect in each hop."""
    order = Window.partitionBy("hop", "outcome").orderBy("id")
    defects = judged.where(F.col("outcome").isin(*DEFECTS)).withColumn("n", F.row_number().over(order))
    return defects.where(F.col("n") <= FIRST).select("hop", "id", "outcome", "detail")
