"""Where faults happen: a stack of its own whose every hop is a wire, with clocks and small disks.

Two workers share the three partitions, so that one takes over what the other leaves. Timeouts are
short, so that what outlasts them takes seconds.
"""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from signal import SIGKILL

import requests

from lab.environment import PORTS, choose_parts, free_ports, own_settings, run_empty
from lab.faults.clock import Clock, build_library
from lab.faults.disk import Disk
from lab.faults.lake_log import LakeLog
from lab.faults.observe import FAILURES, Observer
from lab.faults.points import Points
from lab.faults.reads import ReadTrace
from lab.faults.slots import SilenceWatch
from lab.faults.wire import Wire
from ops.jars import Run
from ops.settings import HOST, Settings
from ops.stack.kafka import override
from ops.stack.part import Part, land
from ops.stack.stack import Stack, Step

KAFKA_CLIENTS = ("producer", "service", "connect", "land")
PARTS = ("postgres", "kafka", "connect", "audit", "service", "land")
WORKERS = ("service", "service-2")
SILENT_SECONDS = 40.0  # twenty heartbeats: longer than whatever comes back by itself
START_SECONDS = 300.0  # they start while something else breaks, or catches up
MEBIBYTES = {"postgres": 1024, "kafka": 512, "land": 256}
BROKER = {
    "group.min.session.timeout.ms": "1000",
    # By default, one whose clock is hours behind refuses records as of the future: their producer
    # is told, and nothing is to be seen behind it.
    "log.message.timestamp.after.max.ms": "9223372036854775807",
}
WORKER = {
    "session.timeout.ms": "4000",
    "heartbeat.interval.ms": "1000",
    "scheduled.rebalance.max.delay.ms": "0",
}
# Below each of them is what a cell waits for: see STOPPED_SECONDS in strikes.py.
PATIENCE = {
    "SESSION_TIMEOUT_MS": "3000",
    "DATABASE_TIMEOUT_SECONDS": "2",
    "AUDIT_DATABASE_TIMEOUT_SECONDS": "2",
    "AUDIT_TIMEOUT_SECONDS": "3",
    "RETRY_CAP_SECONDS": "1",
    "BATCH_RECORDS": "20",
    "LAND_TRIGGER_SECONDS": "1",
}


class Site:
    """The stack, and everything that can be done to it."""

    def __init__(self, stack: Stack, wires: Mapping[str, Wire]) -> None:
        settings = stack.settings
        folder = settings.run_dir / "faults"
        library = build_library(folder)
        self.stack = stack
        self.wires = wires
        self.points = Points(folder / "points")
        self.reads = ReadTrace(folder / "reads")
        self.clocks = {part: Clock(library, folder / f"{part}.clock") for part in PARTS}
        self.disks = own_disks(settings)
        self.lake_log = LakeLog(Path(settings.environment()["DELTA_ROOT"]))
        self.land = land(settings)
        self.silence = SilenceWatch(SILENT_SECONDS)
        self.observer: Observer

    def wrap_parts(self) -> None:
        """Give each part its wires, its clock, its disk, and its points."""
        parts = self.stack.parts
        parts["postgres"] = self.on_disk(parts["postgres"])
        parts["kafka"] = self.on_disk(self.with_listeners(parts["kafka"]))
        parts["connect"] = self.with_wired_connectors(parts["connect"])
        for name in WORKERS:
            parts[name] = self.with_points(parts[name], "service")
        parts["audit"] = self.with_points(parts["audit"], "audit")
        self.land = self.with_points(self.land, "land")
        for name in ("postgres", "kafka", "connect"):
            part = parts[name]
            clock = self.clocks[name]
            parts[name] = replace(part, env=part.env | clock.env)

    def on_disk(self, part: Part) -> Part:
        """Let a part keep its data on a disk of its own, where there is one."""
        disk = self.disks.get(part.name)
        if disk is None:
            return part

        def prepare(run: Run) -> None:
            part.prepare(run)
            disk.mount()

        return replace(part, prepare=prepare)

    def with_listeners(self, part: Part) -> Part:
        """Give the broker a listener for each client that comes over a wire."""

        def prepare(run: Run) -> None:
            part.prepare(run)
            settings = self.stack.settings
            file = settings.run_dir / "broker.properties"
            override(file, BROKER | self.listeners(settings), file)

        return replace(part, prepare=prepare)

    def listeners(self, settings: Settings) -> dict[str, str]:
        """Return where the broker listens, and where it tells its clients that it is."""
        main = f"PLAINTEXT://{HOST}:{settings.kafka_port}"
        controller = f"CONTROLLER://{HOST}:{settings.kafka_controller_port}"
        listens, tells = [main, controller], [main]
        protocols = ["PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT"]
        for client in KAFKA_CLIENTS:
            wire, name = self.wires[f"{client}-kafka"], client.upper()
            listens.append(f"{name}://{HOST}:{wire.server_port}")
            tells.append(f"{name}://{HOST}:{wire.port}")
            protocols.append(f"{name}:PLAINTEXT")
        return {
            "listeners": ",".join(listens),
            "advertised.listeners": ",".join(tells),
            "listener.security.protocol.map": ",".join(protocols),
        }

    def with_wired_connectors(self, part: Part) -> Part:
        """Let the worker and its connectors use wires."""

        def prepare(run: Run) -> None:
            part.prepare(run)
            file = self.stack.settings.run_dir / "worker.properties"
            servers = {"bootstrap.servers": self.address("connect-kafka")}
            override(file, WORKER | servers, file)

        urls = [
            f"{name}={self.wired(name, 'connect-postgres')}"
            for name in ("DATABASE_URL", "AUDIT_DATABASE_URL")
        ]
        one_shots = {name: ["env", *urls, *command] for name, command in part.then.items()}
        return replace(part, prepare=prepare, then=one_shots)

    def with_points(self, part: Part, kind: str) -> Part:
        """Start a part of ours by the module that has points, and let it use wires."""
        env = {
            **part.env,
            **PATIENCE,
            **self.clocks[kind].env,
            "FAULT_POINTS": str(self.points.folder),
            "FAULT_READS": str(self.reads.folder),
            **self.addresses(kind),
        }
        return replace(part, argv=[sys.executable, "-m", f"lab.faults.struck_{kind}"], env=env)

    def addresses(self, kind: str) -> dict[str, str]:
        """Return where a part of ours finds the others: at the ends of its wires."""
        if kind == "audit":
            return {"AUDIT_DATABASE_URL": self.wired("AUDIT_DATABASE_URL", "audit-postgres")}
        if kind == "land":
            return {"KAFKA_BOOTSTRAP_SERVERS": self.address("land-kafka")}
        return {
            "DATABASE_URL": self.wired("DATABASE_URL", "service-postgres"),
            "KAFKA_BOOTSTRAP_SERVERS": self.address("service-kafka"),
            "AUDIT_URL": f"http://{self.address('service-audit')}",
        }

    def address(self, wire: str) -> str:
        """Return where a wire begins."""
        return f"{HOST}:{self.wires[wire].port}"

    def wired(self, setting: str, wire: str) -> str:
        """Return the address in this setting with the wire's port."""
        settings = self.stack.settings
        address = settings.environment()[setting]
        own_port = f":{settings.postgres_port}/"
        wires_port = f":{self.wires[wire].port}/"
        return address.replace(own_port, wires_port)

    def start_landing(self) -> None:
        """Have a landing that goes on, beside the other parts."""
        if "land" not in self.stack.parts:
            self.stack.parts["land"] = self.land
            self.stack.start("land")

    def stop_landing(self) -> None:
        """Have none."""
        if self.stack.parts.pop("land", None):
            self.stack.stop("land")

    def revive(self) -> list[str]:
        """Start what has ended and return its name, as a supervisor does; tasks of Connect too."""
        ended = [name for name in self.stack.parts if not self.stack.supervisor.alive(name)]
        for name in ended:
            self.stack.start(name)
        failed = self.restart_tasks()
        silent = self.restart_silent_worker()
        return ended + failed + silent

    def restart_silent_worker(self) -> list[str]:
        """Restart a worker that says RUNNING and reads nothing, as docs/recover.md says it.

        Debezium waits by the wall clock: once that is set back, for the hours in between.
        """
        with suppress(*FAILURES):
            if self.silence.look(self.stack.env()):
                self.silence = SilenceWatch(SILENT_SECONDS)
                self.stack.kill("connect", SIGKILL)
                self.stack.start("connect")
                return ["silent connect"]
        return []

    def restart_tasks(self) -> list[str]:
        """Restart connectors and tasks that have failed: Connect itself never does."""
        url = f"{self.stack.env()['CONNECT_URL']}/connectors"
        failed = []
        with suppress(requests.RequestException, ValueError):
            known = requests.get(url, params={"expand": "status"}, timeout=5).json()
            for name, about in known.items():
                status = about["status"]
                states = [part["state"] for part in (status["connector"], *status["tasks"])]
                if "FAILED" in states:
                    options = {"includeTasks": "true", "onlyFailed": "true"}
                    requests.post(f"{url}/{name}/restart", params=options, timeout=10)
                    failed.append(f"connector {name}")
        return failed


def own_disks(settings: Settings) -> dict[str, Disk]:
    """Return the disk of each part that keeps something; without root there is none."""
    if os.geteuid() != 0:
        return {}
    folders = {
        "postgres": settings.data_dir / "postgres",
        "kafka": settings.data_dir / "kafka",
        "land": Path(settings.environment()["DELTA_ROOT"]),
    }
    return {part: Disk(folder, MEBIBYTES[part]) for part, folder in folders.items()}


@contextmanager
def running_site(settings: Settings, step: Step, name: str = "faults") -> Iterator[Site]:
    """Run it without data from before, and leave none behind."""
    *ports, p1, p2, p3, p4 = free_ports(PORTS + len(KAFKA_CLIENTS))
    changes = {"services": len(WORKERS), "start_timeout_seconds": START_SECONDS}
    own = own_settings(settings, name, ports, {}, **changes)
    (own.run_dir / "faults").mkdir(parents=True, exist_ok=True)
    stack = choose_parts(own, step, [])
    with ExitStack() as held:
        wires = {
            wire: held.enter_context(Wire(port))
            for wire, port in server_ports(own, (p1, p2, p3, p4)).items()
        }
        site = Site(stack, wires)
        site.wrap_parts()
        stack.claim()  # of a run that is at work nothing may be removed
        held.callback(remove_disks, site.disks.values())
        remove_disks(site.disks.values())
        with run_empty(stack):
            if "land" in site.disks:
                site.disks["land"].mount()
            with closing(Observer(stack.env())) as site.observer:
                yield site


def server_ports(settings: Settings, kafka_ports: Sequence[int]) -> dict[str, int]:
    """Return which server each wire leads to."""
    of_clients = zip(KAFKA_CLIENTS, kafka_ports, strict=True)
    return {
        **{f"{client}-kafka": port for client, port in of_clients},
        "service-postgres": settings.postgres_port,
        "service-audit": settings.audit_port,
        "audit-postgres": settings.postgres_port,
        "connect-postgres": settings.postgres_port,
    }


def remove_disks(disks: Iterable[Disk]) -> None:
    """Take away the disks, of a run that was killed too, and what is below them."""
    for disk in disks:
        disk.unmount()
        shutil.rmtree(disk.folder, ignore_errors=True)
