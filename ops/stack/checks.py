"""What must be so before anything is started: each failing is one sentence with the way out."""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil

from ops.settings import HOST, Settings
from ops.stack.database import as_somebody
from ops.stack.jars import jars_folder
from ops.stack.part import Part, poms
from ops.stack.supervisor import StackError

JAVA_NEEDED = 17  # Spark 4 runs on nothing older
DISK_NEEDED_GIB = 2  # jars and data of a demo take about 1; Kafka and PostgreSQL die on a full disk


def check(settings: Settings, missing: list[Part]) -> None:
    """Everything that stands in the way, told at once."""
    ports = {setting: port for part in missing for setting, port in part.ports.items()}
    found = [*machine(settings), *filter(None, (port_taken(*port) for port in ports.items()))]
    if found:
        raise StackError("\n".join(found))


def machine(settings: Settings) -> Iterator[str]:
    """What the machine lacks."""
    yield from filter(
        None, [java_unfit(java_says()), disk_full(free_gib(settings.run_dir)), no_namespace()]
    )
    if not all(
        jars_folder(settings.jars, pom).exists() for pom in poms(settings)
    ) and not shutil.which("mvn"):
        yield "Maven fetches the jars, and there is no mvn on the PATH: install it (apt install maven)"


def java_says() -> str | None:
    """What `java -version` prints, from JAVA_HOME or else from the PATH."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else "java"
    try:
        return subprocess.run(
            [program, "-version"], capture_output=True, text=True, check=False
        ).stderr
    except OSError:
        return None


def java_unfit(said: str | None) -> str | None:
    """Java is missing or too old."""
    way_out = f"install a JDK {JAVA_NEEDED} or newer, or point JAVA_HOME at one"
    if said is None:
        return f"there is no java in JAVA_HOME or on the PATH: {way_out}"
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    if not version:
        return f"java -version does not work (it says {said.strip()[:100]!r}): {way_out}"
    return None if int(version[1]) >= JAVA_NEEDED else f"Java is version {version[1]}: {way_out}"


def free_gib(folder: Path) -> float:
    """Free space where the folder is or will be."""
    return (
        shutil.disk_usage(next(place for place in (folder, *folder.parents) if place.exists())).free
        / 2**30
    )


def disk_full(free: float) -> str | None:
    """Too little room."""
    if free >= DISK_NEEDED_GIB:
        return None
    return f"only {free:.1f} GiB of disk are free, {DISK_NEEDED_GIB} are needed: make room, or set RUN_DIR"


def no_namespace() -> str | None:
    """PostgreSQL refuses root, and this machine does not let root appear as somebody else."""
    command = [*as_somebody(), "true"]
    if (
        shutil.which(command[0])
        and subprocess.run(command, capture_output=True, check=False).returncode == 0
    ):
        return None
    return "PostgreSQL does not run as root, and user namespaces are not allowed here: start it as another user"


def port_taken(setting: str, port: int) -> str | None:
    """Somebody else listens there."""
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # closed connections do not count
        try:
            probe.bind((HOST, port))
        except OSError:
            return (
                f"port {port} is taken{by_whom(port)}: stop that, or set {setting} to a free port"
            )
    return None


def by_whom(port: int) -> str:
    """The process that listens, where the system lets us see it."""
    try:
        connections = psutil.net_connections("tcp")
        owner = next(
            c.pid for c in connections if c.laddr and c.laddr.port == port and c.status == "LISTEN"
        )
        return f" by {psutil.Process(owner).name()} (pid {owner})" if owner else ""
    except (psutil.Error, StopIteration):
        return ""
