"""python -m extras.dynamodb.local JARS PORT FOLDER: DynamoDB Local, with its data in FOLDER."""

import argparse
import os
from pathlib import Path

MAIN = Path(__file__).parent / "Local.java"  # java compiles it in a second, each time
OPTIONS = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
)


def java_command(jars: Path, port: int, folder: Path) -> list[str]:
    """Return the command: one table for all keys and regions, in a file that outlives a restart."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else "java"
    library = f"-Djava.library.path={jars}"  # its SQLite
    where = ["-port", str(port), "-dbPath", str(folder), "-sharedDb", "-disableTelemetry"]
    return [program, *OPTIONS, library, "-cp", f"{jars}/*", str(MAIN), *where]


def main() -> None:
    """Become the Java process, so that a signal to this one reaches it."""
    parser = argparse.ArgumentParser(prog="python -m extras.dynamodb.local", description=__doc__)
    parser.add_argument("jars", type=Path)
    parser.add_argument("port", type=int)
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    command = java_command(asked.jars, asked.port, asked.folder)
    os.execvp(command[0], command)  # noqa: S606 - a list, no shell


if __name__ == "__main__":
    main()
