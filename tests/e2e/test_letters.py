"""`pipeline dead-letters list` and `show`: what was refused, counted, and as it came."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

from contract.events import DEAD_LETTER
from contract.names import SUBSCRIBER
from contract.samples import Sample, every_sample
from ops.letters.command import STATEMENTS, Filter, count_letters, find_letter
from ops.stack.stack import Stack
from service.record import VALUE_KEPT
from tests.client import Sent, connect, fresh, send, until_handled


def pipeline(*words: str) -> subprocess.CompletedProcess[str]:
    """Type a command about dead letters."""
    command = [sys.executable, "-m", "ops", "dead-letters", *words]
    env = {**os.environ, "ATTACH": "true"}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def bury(run: str) -> dict[str, Sample]:
    """Send a sample of each kind; return those that are buried, by where they are."""
    samples = every_sample(run)
    records = [Sent(one.message_id, one.order_id, one.value) for one in samples]
    places = send(records)
    until_handled()
    topic = os.environ["INPUT_TOPIC"]
    found = {}
    for sample, (partition, offset) in zip(samples, places, strict=True):
        if sample.expected == DEAD_LETTER:
            found[f"{topic}/{partition}/{offset}"] = sample
    return found


def test_every_letter_is_counted_and_shown_as_it_came(stack: Stack) -> None:
    """Each kind of invalid record: its reason among the counts, its bytes and headers in a look."""
    since = datetime.now(UTC) - timedelta(seconds=5)
    buried = bury(fresh("letters"))
    counts = count_letters(os.environ, Filter(since=since))
    assert sum(row["letters"] for row in counts) >= len(buried)
    for position, sample in buried.items():
        letter = find_letter(os.environ, position)
        assert letter is not None, position
        first_lines = [f"{letter.kind}: {letter.reason}"]
        assert letter.reason in [row["reason"] for row in counts]
        assert letter.reason.startswith(sample.reason)
        assert letter.bytes_of("value") == (sample.value and sample.value[:VALUE_KEPT])
    shown = pipeline("show", position).stdout.splitlines()
    assert shown[0].startswith(f"{position}, buried ")
    assert shown[1:2] == first_lines


def test_letters_are_counted_by_kind_reason_topic_and_age(stack: Stack) -> None:
    """A filter leaves out what does not fit, and none of them is the sum."""
    bury(fresh("letters"))
    everything = json.loads(pipeline("list", "--json").stdout)
    conflicts = json.loads(pipeline("list", "--kind", "conflict", "--json").stdout)
    assert 0 < conflicts["letters"] < everything["letters"]
    assert {row["kind"] for row in conflicts["reasons"]} == {"conflict"}
    quantities = json.loads(pipeline("list", "--reason", "quantity", "--json").stdout)
    assert all("quantity" in row["reason"] for row in quantities["reasons"])
    assert pipeline("list", "--topic", "another.events").stdout == "no dead letters\n"
    young = json.loads(pipeline("list", "--until", "100d", "--json").stdout)
    assert young["letters"] == 0
    later = datetime.now(UTC).isoformat()
    assert pipeline("list", "--since", later).stdout == "no dead letters\n"


def test_not_every_act_is_read_for_each_letter(stack: Stack) -> None:
    """An index knows what was sent again; without it, 12,000 letters and their acts took 13 s."""
    given = {
        **Filter()._asdict(),
        "subscriber": SUBSCRIBER,
        "positions": None,
        "again": False,
    }
    with connect(role="postgres") as admin:
        admin.execute("set enable_seqscan = off")  # for a few rows no index is worth it
        plan = admin.execute(f"explain {STATEMENTS['chosen']}".encode(), given).fetchall()
    assert [line for (line,) in plan if "using dead_letter_act_sent on" in line], plan


def test_what_is_no_letter_is_a_sentence(stack: Stack) -> None:
    """Exit 1 where there is none, 2 where the position or the kind is wrong."""
    nothing = pipeline("show", f"{os.environ['INPUT_TOPIC']}/0/999999999")
    assert (nothing.returncode, nothing.stdout.split(" is ")[1]) == (1, "no dead letter\n")
    wrong = pipeline("show", "4711")
    assert wrong.returncode == 2
    assert "4711 is no position" in wrong.stderr
    assert pipeline("list", "--kind", "poison").returncode == 2
