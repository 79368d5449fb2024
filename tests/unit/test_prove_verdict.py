"""What a proof makes of the numbers it finds: what it counts, what it concludes, and when it proved nothing."""

from pathlib import Path

import pytest

from ops.check.prove.batches import NOBODY, Writer
from ops.check.prove.cluster import judge as judge_bytes
from ops.check.prove.config import control, read
from ops.check.prove.count import LANES, Counts, count, total
from ops.check.prove.verdict import Arm, judge, lines
from ops.stack.supervisor import StackError

CLEAN = Counts(records=10, distinct=10, duplicated=0, reordered=0, missing=0, batches=5, without_producer_id=0, gaps=0)
DOUBLED = CLEAN._replace(records=12, duplicated=2, without_producer_id=5)


def arm(*partitions: Counts, lost: int = 3) -> Arm:
    """A run that lost so many acknowledgements."""
    return Arm({"acks": "all"}, 40, lost, 0, 1.5, dict(enumerate(partitions)))


def test_numbers_are_counted_partition_by_partition() -> None:
    """A second copy is a duplicate, a first copy behind a later number is out of order, and both may be."""
    written = {0: {(7, 0): Writer(batches=2)}, 1: {NOBODY: Writer(batches=3), (8, 0): Writer(batches=1, gaps=["x"])}}
    found = count({0: [0, 2, 4, 4, 2], 1: [3, 1, 5]}, written, 6)
    assert found[0] == Counts(5, 3, 2, 0, 0, 2, 0, 0)
    assert found[1] == Counts(3, 3, 0, 1, 0, 4, 3, 1)
    assert total(found) == Counts(8, 6, 2, 1, 0, 6, 3, 1)


def test_what_is_missing_counts_on_the_partition_where_it_belonged() -> None:
    """Numbers of one lane share a partition, so that a hole has a place; a lane of which nothing came counts too."""
    read_numbers = {0: [n for n in range(2 * LANES) if n % 2 == 0 and n != LANES], 1: [1 + LANES]}
    found = count(read_numbers, {0: {}, 1: {}}, 2 * LANES)
    assert found[1].missing == 1
    assert total(found).missing == 2 * LANES - total(found).distinct == 12


def test_a_proof_needs_a_control_that_failed() -> None:
    """Clean beside doubled is proved; clean beside clean proves nothing, however many answers were lost."""
    assert judge(arm(CLEAN, CLEAN), arm(CLEAN, DOUBLED), 3)[0] == 0
    code, sentence = judge(arm(CLEAN), arm(CLEAN), 3)
    assert code == 2
    assert sentence.startswith("proved nothing")


def test_a_proof_needs_as_many_lost_acknowledgements_as_were_asked_for() -> None:
    """Fewer are told, and are no proof; of the control it is enough that it failed."""
    code, sentence = judge(arm(CLEAN, lost=2), arm(DOUBLED), 3)
    assert (code, sentence) == (2, "proved nothing: only 2 of 3 acknowledgements could be lost")
    assert judge(arm(CLEAN), arm(DOUBLED, lost=2), 3)[0] == 0


@pytest.mark.parametrize("wrong", ["duplicated", "reordered", "missing", "without_producer_id", "gaps"])
def test_anything_that_idempotence_prevents_refutes_it(wrong: str) -> None:
    """One of it, on one partition, whatever the control says."""
    found = CLEAN._replace(**{wrong: 1})
    for beside in (CLEAN, DOUBLED):
        code, sentence = judge(arm(CLEAN, found), arm(beside), 3)
        assert code == 1
        assert sentence.startswith("NOT idempotent: 1 ")


def test_the_table_has_both_runs_side_by_side() -> None:
    """Totals and partitions of each, and what the proxy did."""
    shown = [line.split() for line in lines([arm(CLEAN, CLEAN), arm(DOUBLED, CLEAN)])]
    assert shown[0] == ["settings", "0", "1", "control", "0", "1"]
    assert ["duplicated", "0", "0", "0", "2", "2", "0"] in shown
    assert ["answers", "lost", "3", "3"] in shown


def test_the_settings_that_bear_are_taken_from_where_frameworks_keep_them(tmp_path: Path) -> None:
    """Bare, of a worker and of a connector; addresses, sizes and other clients' settings stay behind."""
    worker, connector = tmp_path / "worker.properties", tmp_path / "connector.properties"
    worker.write_text("# why\nbootstrap.servers=x:1\nproducer.acks=1\nproducer.linger.ms=5\nconsumer.retries=3\n")
    connector.write_text("producer.override.acks = all\nretries=7\n")
    assert read([worker, connector]) == {"acks": "all", "retries": "7"}


def test_the_control_is_the_same_without_idempotence(tmp_path: Path) -> None:
    """Said aloud, since Java has it by default; a transactional id is taken for the idempotence that it implies."""
    file = tmp_path / "producer.properties"
    file.write_text("acks=all\ntransactional.id=orders\nenable.gapless.guarantee=true\n")
    assert read([file]) == {"acks": "all", "enable.gapless.guarantee": "true", "enable.idempotence": "true"}
    assert control(read([file])) == {"acks": "all", "enable.idempotence": "false"}


def test_a_file_without_a_producers_settings_is_refused(tmp_path: Path) -> None:
    """Rather than proving defaults that nobody asked for; a file that cannot be read is named too."""
    file = tmp_path / "consumer.properties"
    file.write_text("group.id=x\n")
    with pytest.raises(StackError, match=r"consumer\.properties: no setting of a producer"):
        read([file])
    with pytest.raises(StackError, match="absent cannot be read"):
        read([tmp_path / "absent"])


def test_a_topic_is_judged_by_its_batches() -> None:
    """None there is no answer, one without a producer id refutes, and a gap does unless the topic is compacted."""
    good, nobody, gap = (
        Writer(batches=3),
        Writer(batches=1),
        Writer(batches=2, gaps=["offset 4 has sequence 9, 4 was due"]),
    )
    assert judge_bytes("t", [], lawful=False) == (2, "nothing to look at: t is empty")
    assert judge_bytes("t", [(0, (7, 0), good)], lawful=False)[0] == 0
    assert judge_bytes("t", [(0, (7, 0), good), (1, NOBODY, nobody)], lawful=True)[0] == 1
    code, sentence = judge_bytes("t", [(2, (7, 0), gap)], lawful=False)
    assert code == 1
    assert "partition 2 offset 4 has sequence 9, 4 was due" in sentence
    assert judge_bytes("t", [(2, (7, 0), gap)], lawful=True)[0] == 0
