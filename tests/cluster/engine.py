"""An engine for Spark: a master and its workers, from pyspark's own jars."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL

import pyspark
import requests

from ops.jars import fetch_jars
from ops.settings import ROOT
from tests.client import until

SHIPPED = ROOT / "spark" / "cluster" / "spark-defaults.conf"
SPARK = Path(pyspark.__file__).parent


class Engine:
    """Processes, and the settings with which a job uses them."""

    def __init__(self, folder: Path, port: int, workers: int, cores: int) -> None:
        self.folder = folder
        self.port = port
        self.workers = workers
        self.cores = cores  # of each worker
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        """Return the address of the master."""
        return f"spark://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the master and the workers."""
        self.start_process("master", ["master.Master", "--port", str(self.port)], self.port + 1)
        for number in range(self.workers):
            self.start_worker(number)

    def start_worker(self, number: int) -> None:
        """Start one worker."""
        place = ["--work-dir", str(self.folder / f"work-{number}")]
        room = ["--cores", str(self.cores), "--memory", "2g"]
        words = ["worker.Worker", *room, *place, self.url]
        self.start_process(f"worker-{number}", words, self.port + 2 + number)
        until(self.count_workers, lambda count: count > number, 60, "a worker is not known")

    def start_process(self, name: str, words: list[str], page: int) -> None:
        """Start one process, in a group of its own together with what it starts."""
        main, *arguments = words
        command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}"]
        command += ["--host", "127.0.0.1", "--webui-port", str(page), *arguments]
        env = os.environ | {"SPARK_HOME": str(SPARK), "SPARK_CONF_DIR": str(self.folder)}
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, env=env, stdout=log, stderr=log, start_new_session=True
            )

    def count_workers(self) -> int:
        """Return how many workers are alive, as the master says."""
        try:
            found = requests.get(f"http://127.0.0.1:{self.port + 1}/json/", timeout=5).json()
        except requests.RequestException:
            return 0
        return int(found["aliveworkers"])

    def kill(self, name: str) -> None:
        """Kill a process, and whatever it has started."""
        process = self.processes.pop(name)
        os.killpg(process.pid, SIGKILL)
        process.wait()


def class_path() -> str:
    """Return where the jars are; fetch them, if this is the first time."""

    def maven(_name: str, command: list[str]) -> None:
        subprocess.run(command, check=True, timeout=900)

    cache = ROOT / ".run" / "jars"
    poms = [ROOT / "spark" / "pom.xml", ROOT / "spark" / "bucket" / "pom.xml"]
    folders = [fetch_jars(maven, cache, pom, {}) for pom in poms]
    return ":".join(f"{folder}/*" for folder in folders)


def write_settings(folder: Path, values: Mapping[str, str]) -> None:
    """Write the settings that are shipped, with these values: a file on each machine."""
    lines = []
    for line in SHIPPED.read_text().splitlines():
        name, _, _ = line.partition(" ")
        lines.append(f"{name} {values[name]}" if name in values else line)
    named = {line.partition(" ")[0] for line in lines}
    lines += [f"{name} {value}" for name, value in values.items() if name not in named]
    (folder / "spark-defaults.conf").write_text("\n".join(lines) + "\n")


@contextmanager
def engine(
    folder: Path, port: int, values: Mapping[str, str], workers: int = 2, cores: int = 2
) -> Iterator[Engine]:
    """Run an engine, by default with room for two jobs on each worker; end it afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Engine(folder, port, workers, cores)
    write_settings(folder, {"spark.master": made.url, **values})
    try:
        made.start()
        yield made
    finally:
        for name in list(made.processes):
            made.kill(name)
