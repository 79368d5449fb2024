"""Which versions an arm has, by the lists that its environment is made of."""

import re
from pathlib import Path

from lab.peers.arms import Arm
from lab.peers.peer import HERE
from ops.stack.kafka import POM

PIN = re.compile(r"^([a-z0-9-]+)==(\S+)", re.MULTILINE)


def versions_of(arm: Arm) -> dict[str, str]:
    """Return the versions that matter of an arm: of its packages, and of Debezium if it has one."""
    found = {}
    if arm.folder:
        pinned = read_pins(HERE / arm.folder / "requirements.txt")
        found = {name: pinned[name] for name in arm.packages}
    has_worker = any(name.endswith("worker.properties") for name in arm.shown)
    if has_worker:
        pom = POM.read_text()
        for name, words in (("debezium", "Debezium"), ("kafka", "Kafka Connect")):
            [version] = re.findall(rf"<{name}\.version>(.+)</{name}\.version>", pom)
            found[words] = version
    return found


def read_pins(requirements: Path) -> dict[str, str]:
    """Return the version of each package of a list."""
    return dict(PIN.findall(requirements.read_text()))
