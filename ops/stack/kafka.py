"""Kafka's programs from their jars, and their settings: a file of connect/ and what is over it."""

from pathlib import Path

from ops.jars import Command, jars_folder, java_program
from ops.security import Security
from ops.settings import ROOT, Settings

CONNECT = ROOT / "connect"
POM = CONNECT / "pom.xml"
PLACES = {"worker": "worker", "plugin": "plugins/debezium"}  # a profile of the pom -> its folder
LOGGING = CONNECT / "log4j2.properties"
# Out of memory is a crash, never a broker that lives on without its threads.
JAVA = ["-XX:+ExitOnOutOfMemoryError", f"-Dlog4j2.configurationFile={LOGGING}"]


def java(settings: Settings, options: str, main: str, *arguments: str) -> Command:
    """Return the command of a program from the worker's jars."""
    jars = jars_folder(settings.jars, POM) / PLACES["worker"]
    return [
        java_program(),
        *options.split(),
        *JAVA,
        "-cp",
        f"{jars}/*",
        main,
        *arguments,
    ]


def numbered(name: str, number: int) -> str:
    """Return the name of one of several: `kafka`, `kafka-2`, `kafka-3`."""
    return name if number == 1 else f"{name}-{number}"


def of_cluster(name: str, *, is_cluster: bool) -> dict[str, str]:
    """Return the lines of connect/NAME.cluster.properties, if there are several."""
    if not is_cluster:
        return {}
    return read_properties((CONNECT / f"{name}.cluster.properties").read_text())


def of_security(settings: Settings, name: str) -> dict[str, str]:
    """Return the lines of connect/NAME.secure.properties, with the folders of this machine."""
    if settings.security is None:
        return {}
    text = (CONNECT / f"{name}.secure.properties").read_text()
    return read_properties(replace_folders(text, settings.security))


def replace_folders(text: str, security: Security) -> str:
    """Return a text with our folders for those of the containers."""
    with_secrets = text.replace("/run/secrets", str(security.secrets))
    return with_secrets.replace("/run/tls", str(security.tls))


def read_properties(text: str) -> dict[str, str]:
    """Return what a file of properties says."""
    found = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found[key] = value
    return found


def override(shared: Path, machine: dict[str, str], file: Path) -> None:
    """Write the shared lines without those that this machine replaces, then the machine's own."""
    lines = []
    for line in shared.read_text().splitlines():
        key, _, _ = line.partition("=")
        if key.strip() not in machine:
            lines.append(line)
    for key, value in machine.items():
        lines.append(f"{key}={value}")
    file.write_text("\n".join(lines) + "\n")
