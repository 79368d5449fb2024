"""What a proof counts, what it concludes, and when it has proved nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from lab.prove.batches import NOBODY, Writer
from lab.prove.cluster import Seen
from lab.prove.cluster import judge as judge_bytes
from lab.prove.count import Counts, count, total
from lab.prove.job import LANES
from lab.prove.producer_settings import control_settings, read_settings
from lab.prove.verdict import Arm, judge, lines
from ops.stack.supervisor import StackError

CLEAN = Counts(
    records=10,
    distinct=10,
    duplicated=0,
    reordered=0,
    missing=0,
    batches=5,
    without_producer_id=0,
    gaps=0,
)
DOUBLED = CLEAN._replace(records=12, duplicated=2, without_producer_id=5)


def arm(*partitions: Counts, lost: int = 3) -> Arm:
    """Return a run that lost this many acknowledgements."""
    return Arm({"acks": "all"}, 40, lost, 0, 1.5, dict(enumerate(partitions)))


def test_numbers_are_counted_partition_by_partition() -> None:
    """A second copy is a duplicate, a first copy behind a later number is out of order."""
    written = {
        0: {(7, 0): Writer(batches=2)},
        1: {NOBODY: Writer(batches=3), (8, 0): Writer(batches=1, gaps=["x"])},
    }
    found = count({0: [0, 2, 4, 4, 2], 1: [3, 1, 5]}, written, 6)
    assert found[0] == Counts(5, 3, 2, 0, 0, 2, 0, 0)
    assert found[1] == Counts(3, 3, 0, 1, 0, 4, 3, 1)
    assert total(found) == Counts(8, 6, 2, 1, 0, 6, 3, 1)


def test_what_is_missing_counts_on_the_partition_where_it_belonged() -> None:
    """Numbers of one lane share a partition, so a hole has a place; an empty lane counts too."""
    read_numbers = {0: [n for n in range(2 * LANES) if n % 2 == 0 and n != LANES], 1: [1 + LANES]}
    found = count(read_numbers, {0: {}, 1: {}}, 2 * LANES)
    assert found[1].missing == 1
    assert total(found).missing == 2 * LANES - total(found).distinct == 12


def test_a_proof_needs_a_control_that_failed() -> None:
    """Clean beside doubled is proved; clean beside clean proves nothing."""
    assert judge(arm(CLEAN, CLEAN), arm(CLEAN, DOUBLED), 3)[0] == 0
    code, sentence = judge(arm(CLEAN), arm(CLEAN), 3)
    assert code == 2
    assert sentence.startswith("proved nothing")


def transactional(*partitions: Counts) -> Arm:
    """Return a run of a transactional producer."""
    return replace(arm(*partitions), settings={"transactional.id": "orders"})


def test_what_was_aborted_and_can_be_read_refutes_a_transactional_producer() -> None:
    """It must be there for the control, which has no transactions; else nothing was proved."""
    seen = CLEAN._replace(taken_back=4)
    control = arm(DOUBLED._replace(taken_back=4))
    code, sentence = judge(transactional(CLEAN), control, 3)
    assert code == 0
    assert sentence.startswith("transactional: 10 records")
    assert sentence.endswith("2 were duplicated and 4 that were to be aborted could be read")
    code, sentence = judge(transactional(seen), control, 3)
    assert (code, sentence) == (1, "NOT transactional: 4 of aborted transactions")
    assert judge(transactional(CLEAN), arm(DOUBLED), 3)[0] == 2


def test_a_proof_needs_as_many_lost_acknowledgements_as_were_asked_for() -> None:
    """Fewer are reported, and are no proof; of the control it is enough that it failed."""
    code, sentence = judge(arm(CLEAN, lost=2), arm(DOUBLED), 3)
    assert (code, sentence) == (2, "proved nothing: only 2 of 3 acknowledgements could be lost")
    assert judge(arm(CLEAN), arm(DOUBLED, lost=2), 3)[0] == 0


@pytest.mark.parametrize(
    "wrong", ["duplicated", "reordered", "missing", "without_producer_id", "gaps"]
)
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


def write(folder: Path, name: str, text: str) -> Path:
    """Write a file of the user's."""
    (folder / name).write_text(text)
    return folder / name


def test_only_the_settings_that_bear_are_taken(tmp_path: Path) -> None:
    """From a Java file and from a Python source; addresses, sizes and serializers stay behind."""
    java = write(
        tmp_path, "producer.properties", "bootstrap.servers=x:1\nacks=all\nlinger.ms=5\nretries=7\n"
    )
    python = write(
        tmp_path,
        "app.py",
        "from confluent_kafka import Producer\nProducer({'acks': 1, 'linger.ms': 5})\n",
    )
    assert (
        read_settings("java", [java])
        == read_settings("python", [java])
        == {"acks": "all", "retries": "7"}
    )
    assert read_settings("python", [python]) == {"acks": "1"}


def test_of_connect_the_producers_settings_are_taken(tmp_path: Path) -> None:
    """A worker's, then a connector's overrides; without any, Connect's own defaults."""
    common = "bootstrap.servers=x:1\nkey.converter=K\n"
    worker = f"{common}request.timeout.ms=5\nproducer.acks=1\nproducer.retries=3\n"
    both = [
        write(
            tmp_path, "connector.json", '{"connector.class": "C", "producer.override.acks": "all"}'
        ),
        write(tmp_path, "worker.properties", worker),
    ]
    assert read_settings("connect", both) == {"acks": "all", "retries": "3"}
    assert read_settings("connect", both[1:]) == {"acks": "1", "retries": "3"}
    assert (
        read_settings(
            "connect",
            [write(tmp_path, "silent.properties", "bootstrap.servers=x:1\nkey.converter=K\n")],
        )
        == {}
    )


def test_the_control_is_the_same_without_idempotence(tmp_path: Path) -> None:
    """Java has it by default, so the control switches it off; a transactional id implies it.

    Connect has a transactional id of its own, so one among a worker's settings means nothing.
    """
    file = write(
        tmp_path,
        "p.properties",
        "bootstrap.servers=x\ntransactional.id=orders\nenable.gapless.guarantee=true\n",
    )
    settings = read_settings("python", [file])
    assert settings == {
        "enable.gapless.guarantee": "true",
        "enable.idempotence": "true",
        "transactional.id": "orders",
    }
    assert control_settings(settings) == {"enable.idempotence": "false"}


@pytest.mark.parametrize(
    ("client", "name", "text", "sentence"),
    [
        ("java", "c.properties", "bootstrap.servers=x\ngroup.id=g\n", "found were 0"),
        (
            "java",
            "two.py",
            "from confluent_kafka import Producer\nProducer({'acks': 1})\n",
            "one java producer",
        ),
        (
            "python",
            "two.py",
            "from confluent_kafka import Producer\nProducer({'acks': 1})\nProducer({})\n",
            "two.py:3",
        ),
        (
            "python",
            "env.py",
            "import os, confluent_kafka\nconfluent_kafka.Producer({'acks': os.environ['A']})\n",
            "acks",
        ),
        (
            "python",
            "more.py",
            "from confluent_kafka import Producer\nProducer({**load()})\n",
            "more settings come from",
        ),
        ("connect", "p.properties", "bootstrap.servers=x\nacks=all\n", "no Connect worker"),
        ("java", "broken.json", '{"connector.class": ', "cannot read .*broken.json at line 1"),
    ],
)
def test_a_file_that_does_not_say_it_all_is_refused(
    tmp_path: Path, client: str, name: str, text: str, sentence: str
) -> None:
    """Nothing is proved that nobody has: none, several, from elsewhere, another kind, broken."""
    with pytest.raises(StackError, match=sentence):
        read_settings(client, [write(tmp_path, name, text)])


def test_a_connection_from_elsewhere_is_no_reason_to_refuse(tmp_path: Path) -> None:
    """What decides is set beside it, and behind it: nothing from elsewhere can change that."""
    own = {"enable.idempotence": True, "acks": "all", "max.in.flight.requests.per.connection": 5}
    text = f"from confluent_kafka import Producer\nProducer({{**load(), **{own}}})\n"
    settings = read_settings("python", [write(tmp_path, "own.py", text)])
    assert settings["enable.idempotence"] == "true"


def test_a_topic_is_judged_by_its_batches() -> None:
    """No batch is no answer; one without a producer id refutes, a gap only without compaction."""
    good = Writer(batches=3)
    nobody = Writer(batches=1)
    gap = Writer(batches=2, gaps=["offset 4 has sequence 9, 4 was due"])
    assert judge_bytes("t", [], gaps_allowed=False) == (2, "nothing to look at: t is empty")
    assert judge_bytes("t", [Seen(0, (7, 0), good)], gaps_allowed=False)[0] == 0
    assert (
        judge_bytes("t", [Seen(0, (7, 0), good), Seen(1, NOBODY, nobody)], gaps_allowed=True)[0]
        == 1
    )
    code, sentence = judge_bytes("t", [Seen(2, (7, 0), gap)], gaps_allowed=False)
    assert code == 1
    assert "partition 2 offset 4 has sequence 9, 4 was due" in sentence
    assert judge_bytes("t", [Seen(2, (7, 0), gap)], gaps_allowed=True)[0] == 0
