"""The archive of the classes that a session loads: with it, the next one starts in half the time.

The JVM maps them from a file, instead of finding, checking and linking some ten thousand classes
(class data sharing). `python -m spark.make_archive` makes the file. It belongs to these jars, in
these folders, and to this Java; the JVM passes any other over.
"""

import os
import shutil
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

# Not every class can be archived. Nobody need know which.
QUIET = "-Xlog:disable -Xlog:all=error:stderr"


def archive_of(jars: Path) -> Path:
    """Return where the archive belongs."""
    pyspark = find_spec("pyspark")
    places = [jars.absolute(), pyspark.origin if pyspark else "", find_java()]
    lines = [str(place) for place in places]
    digest = sha256("\n".join(lines).encode()).hexdigest()[:16]
    return jars / f"classes-{digest}.jsa"


def find_java() -> str:
    """Return the Java that a session starts."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    return os.path.realpath(found or "")


def use_archive(jars: Path) -> str:
    """Return the JVM's options with which it uses the archive, if there is one."""
    archive = archive_of(jars)
    return f"-XX:SharedArchiveFile={archive} {QUIET}" if archive.exists() else ""
