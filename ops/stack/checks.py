"""What must be so before anything is started: each failure is one sentence with the way out."""

import re
import shutil
import socket
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import psutil

from access.embedded import as_somebody
from ops.jars import jars_folder, java_program
from ops.settings import HOST, Settings
from ops.stack.database import changed_revision
from ops.stack.part import Part, parts, poms
from ops.stack.supervisor import StackError
from service.dedup import stores

JAVA_NEEDED = 17  # Spark 4 runs on nothing older
DISK_NEEDED_GIB = 2  # jars and data of a demo take about 1; Kafka and PostgreSQL die on a full disk


def check_settings(settings: Settings) -> None:
    """Refuse settings that cannot work on any machine, and a run folder that cannot be written."""
    started = [] if settings.attach else parts(settings)
    problems = [
        unknown_store(settings.dedup_store),
        folder_unwritable(settings.run_dir),
        *shared_ports(started),
    ]
    raise_all(problems)


def refuse_part_of_the_path(settings: Settings) -> None:
    """Say that a stack with a part of the path has nothing to be compared."""
    if not settings.audits:
        raise StackError(
            f"ADOPT={settings.adopt}: this stack has a part of the path, and reconciliation"
            " compares the whole of it: start it with ADOPT=all"
        )


def check(settings: Settings, missing: list[Part]) -> None:
    """Refuse to start on a machine that lacks something, or where a port is taken."""
    problems = [*machine(settings), changed_revision(settings)]
    for part in missing:
        ports = part.ports.items()
        problems += [port_taken(setting, port) for setting, port in ports]
    raise_all(problems)


def raise_all(problems: list[str | None]) -> None:
    """Report every problem at once."""
    found = [problem for problem in problems if problem]
    if found:
        raise StackError("\n".join(found))


def unknown_store(name: str) -> str | None:
    """Say that there is no dedup store of this name."""
    known = stores()
    if name in known:
        return None
    names = ", ".join(sorted(known))
    return f"DEDUP_STORE={name}: there is no such store, only {names}"


def folder_unwritable(folder: Path) -> str | None:
    """Say that nothing can be written where the stack keeps its data, logs and passwords."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as failure:
        return (
            f"the run folder {folder} cannot be written ({failure.strerror}): "
            "set RUN_DIR to a folder that can"
        )


def shared_ports(started: list[Part]) -> Iterator[str]:
    """Say which settings give two parts the same port."""
    users: dict[int, list[str]] = defaultdict(list)
    for part in started:
        for setting, port in part.ports.items():
            users[port].append(f"{setting} (of {part.name})")
    for port, settings in users.items():
        if len(settings) > 1:
            names = " and ".join(settings)
            yield f"{names} are both {port}: give each a port of its own"


def machine(settings: Settings) -> Iterator[str | None]:
    """Say what the machine lacks."""
    yield java_unfit(java_version_text())
    yield disk_full(free_gib(settings.run_dir))
    yield no_namespace()
    yield no_maven(settings)


def no_maven(settings: Settings) -> str | None:
    """Say that jars are missing and there is no Maven to fetch them."""
    cache = settings.jars
    folders = [jars_folder(cache, pom) for pom in poms(settings)]
    missing = [folder for folder in folders if not folder.exists()]
    if not missing or shutil.which("mvn"):
        return None
    return "Maven fetches the jars, and there is no mvn on the PATH: install it (apt install maven)"


def java_version_text() -> str | None:
    """Return what `java -version` prints, or None without a java."""
    try:
        ended = subprocess.run(
            [java_program(), "-version"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return ended.stderr


def java_unfit(version_text: str | None) -> str | None:
    """Say that Java is missing, broken or too old."""
    way_out = f"install a JDK {JAVA_NEEDED} or newer, or point JAVA_HOME at one"
    if version_text is None:
        return f"there is no java in JAVA_HOME or on the PATH: {way_out}"
    version = re.search(r'version "(?:1\.)?(\d+)', version_text)
    if not version:
        output = version_text.strip()[:100]
        return f"java -version does not work (it prints {output!r}): {way_out}"
    major = int(version[1])
    if major < JAVA_NEEDED:
        return f"Java is version {major}: {way_out}"
    return None


def free_gib(folder: Path) -> float:
    """Return the free space where the folder is or will be."""
    existing = folder
    while not existing.exists():
        existing = existing.parent
    usage = shutil.disk_usage(existing)
    return usage.free / 2**30


def disk_full(free: float) -> str | None:
    """Say that there is too little room."""
    if free >= DISK_NEEDED_GIB:
        return None
    return (
        f"only {free:.1f} GiB of disk are free, {DISK_NEEDED_GIB} are needed: "
        "make room, or set RUN_DIR"
    )


def no_namespace() -> str | None:
    """Say that PostgreSQL refuses root, and that root cannot appear as another user here."""
    command = [*as_somebody(), "true"]
    if shutil.which(command[0]):
        tried = subprocess.run(command, capture_output=True, check=False)
        if tried.returncode == 0:
            return None
    return (
        "PostgreSQL does not run as root, and user namespaces are not allowed here: "
        "start it as another user"
    )


def port_taken(setting: str, port: int) -> str | None:
    """Say that another process listens on a port."""
    with socket.socket() as probe:
        # Closed connections do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            owner = find_owner(port)
            by = f" by {owner}" if owner else ""
            return f"port {port} is taken{by}: stop that, or set {setting} to a free port"
    return None


def find_owner(port: int) -> str:
    """Return the process that listens, where the system lets us see it."""
    try:
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN
            is_here = connection.laddr and connection.laddr.port == port
            if listens and is_here and connection.pid:
                process = psutil.Process(connection.pid)
                return f"{process.name()} (pid {process.pid})"
    except psutil.Error:
        pass
    return ""
