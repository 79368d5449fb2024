"""What a proof makes of the numbers it finds: what it counts, what it concludes, and when it proved nothing."""

from pathlib import Path

import pytest

from lab.prove.batches import NOBODY, Writer
from lab.prove.cluster import judge as judge_bytes
from lab.prove.config import control, read
from lab.prove.count import LANES, Counts, count, total
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
    """A run that lost so many acknowledgements."""
    return Arm({"acks": "all"}, 40, lost, 0, 1.5, dict(enumerate(partitions)))


def test_numbers_are_counted_partition_by_partition() -> None:
    """A second copy is a duplicate, a first copy behind a later number is out of order, and both may be."""
    written = {
        0: {(7, 0): Writer(batches=2)},
        1: {NOBODY: Writer(batches=3), (8, 0): Writer(batches=1, gaps=["x"])},
    }
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
    """A file of the user's."""
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
    assert read("java", [java]) == read("python", [java]) == {"acks": "all", "retries": "7"}
    assert read("python", [python]) == {"acks": "1"}


def test_of_connect_the_producers_settings_are_taken(tmp_path: Path) -> None:
    """A worker's, then a connector's overrides; one that says nothing is proved with Connect's own defaults."""
    worker = "bootstrap.servers=x:1\nkey.converter=K\nrequest.timeout.ms=5\nproducer.acks=1\nproducer.retries=3\n"
    both = [
        write(
            tmp_path, "connector.json", '{"connector.class": "C", "producer.override.acks": "all"}'
        ),
        write(tmp_path, "worker.properties", worker),
    ]
    assert read("connect", both) == {"acks": "all", "retries": "3"}
    assert read("connect", both[1:]) == {"acks": "1", "retries": "3"}
    assert (
        read(
            "connect",
            [write(tmp_path, "silent.properties", "bootstrap.servers=x:1\nkey.converter=K\n")],
        )
        == {}
    )


def test_the_control_is_the_same_without_idempotence(tmp_path: Path) -> None:
    """Said aloud, since Java has it by default; a transactional id is taken for the idempotence that it implies."""
    file = write(
        tmp_path,
        "p.properties",
        "bootstrap.servers=x\ntransactional.id=orders\nenable.gapless.guarantee=true\n",
    )
    settings = read("python", [file])
    assert settings == {"enable.gapless.guarantee": "true", "enable.idempotence": "true"}
    assert control(settings) == {"enable.idempotence": "false"}


@pytest.mark.parametrize(
    ("client", "name", "text", "told"),
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
            "import os\nfrom confluent_kafka import Producer\nProducer({'acks': os.environ['A']})\n",
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
    tmp_path: Path, client: str, name: str, text: str, told: str
) -> None:
    """Rather than proving settings that nobody has: none, several, from elsewhere, of another kind, broken."""
    with pytest.raises(StackError, match=told):
        read(client, [write(tmp_path, name, text)])


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
