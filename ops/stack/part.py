"""What the stack knows of each of its parts: how it starts, when it is ready, how it stops."""

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import requests

from connect.acls import all_acls
from ops.extra import ExtraProcess, extra_processes
from ops.jars import Command, Run, jars_folder
from ops.security import ADMIN, OPS
from ops.settings import HOST, ROOT, Settings
from ops.stack import broker, database, worker
from ops.stack.kafka import PLACES, POM, numbered

Poms = dict[Path, dict[str, str]]  # of each pom, its profiles and the folder of their jars


@dataclass(frozen=True)
class Part:
    """One process of the stack.

    `ports` are named by their settings; `ready` returns nothing, or what is still missing;
    `done` is called once the one-shots of `then` have ended well; these have `then_env` on top of
    what every part knows.
    """

    name: str
    argv: Command
    ports: dict[str, int]
    ready: Callable[[], str]
    env: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[Run], None] = lambda _run: None
    then: dict[str, Command] = field(default_factory=dict)  # one-shots, once it is ready
    then_env: dict[str, str] = field(default_factory=dict)
    done: Callable[[], None] = lambda: None
    poms: Poms = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    group: str = ""  # parts that are asked to stop together, since each waits for another


def parts(settings: Settings) -> list[Part]:
    """Return the parts of this stack in the sequence in which they start."""
    brokers = range(1, settings.brokers + 1)
    found = [postgres(settings), *[kafka(settings, number) for number in brokers]]
    if settings.publishes:
        workers = range(1, settings.workers + 1)
        found += [connect(settings, number) for number in workers]
    if settings.audits:
        found.append(audit(settings))
    processes = settings.extra_processes()
    found += [extra(settings, name, process) for name, process in processes.items()]
    numbers = range(1, settings.services + 1)
    found += [service(settings, number) for number in numbers]
    if settings.land:
        found.append(land(settings))
    if settings.guard and settings.publishes:
        found.append(guard(settings))
    return found


def part_by_name(settings: Settings, name: str) -> Part:
    """Return a part by its name, even one that this stack does not start by itself."""
    if name == "land":
        return land(settings)
    if name == "guard":
        return guard(settings)
    extras = extra_processes()
    if name in extras:
        return extra(settings, name, extras[name])
    number = name.removeprefix("service-")
    return service(settings, int(number))


def poms(settings: Settings) -> Poms:
    """Return the poms whose jars this stack needs, each with its profiles and their folders."""
    found: Poms = {ROOT / "spark" / "pom.xml": {}}
    for part in parts(settings):
        found |= part.poms
    return found


def postgres(settings: Settings) -> Part:
    """Return PostgreSQL; then come roles, tables and slots.

    A slot that nobody reads would keep the write-ahead log for ever.
    """
    slots = [] if settings.publishes else ["--without-slots"]
    return Part(
        name="postgres",
        argv=database.command(settings),
        ports={"POSTGRES_PORT": settings.postgres_port},
        ready=partial(database.ready, settings),
        prepare=partial(database.prepare, settings),
        then={"migrations": [sys.executable, "-m", "migrations", "upgrade", *slots]},
        done=partial(database.remember_revisions, settings),
        poms={database.POM: {}} if settings.security else {},
        stop_signal=signal.SIGINT,  # its fast stop; SIGQUIT is the immediate one
    )


def kafka(settings: Settings, number: int) -> Part:
    """Return a broker, which is a controller too; after the last come the topics.

    Where nobody may do what nobody has allowed, users come before, and what they may do after.
    Without a second one, the first of several cannot do more than begin.
    """
    is_last = number == settings.brokers
    steps = ["users", "topics", "acls"] if settings.security else ["topics"]
    one_shots = {step: [sys.executable, "-m", "connect", step] for step in steps}
    return Part(
        name=numbered("kafka", number),
        argv=broker.command(settings, number),
        ports={
            "KAFKA_PORT": settings.kafka_ports[number - 1],
            "KAFKA_CONTROLLER_PORT": settings.kafka_controller_ports[number - 1],
        },
        ready=partial(broker.ready if is_last else broker.has_begun, settings, number),
        prepare=partial(broker.prepare, settings, number=number),
        then=one_shots if is_last else {},
        then_env=log_in_as(settings, ADMIN),
        poms={POM: PLACES},
        group="kafka",
    )


def connect(settings: Settings, number: int) -> Part:
    """Return a Connect worker; after the last come the connectors."""
    is_last = number == settings.workers
    one_shots = {"connectors": [sys.executable, "-m", "connect", "register"]}
    return Part(
        name=numbered("connect", number),
        argv=worker.command(settings, number),
        ports={"CONNECT_PORT": settings.connect_ports[number - 1]},
        ready=partial(worker.find_missing, settings, number),
        prepare=partial(worker.prepare, settings, number=number),
        then=one_shots if is_last else {},
    )


def audit(settings: Settings) -> Part:
    """Return the audit receiver."""
    port = settings.audit_port
    url = settings.environment()["AUDIT_URL"]
    shown = settings.security.of_the_audit_receiver() if settings.security else {}
    return Part(
        name="audit",
        argv=[sys.executable, "-m", "service.audit"],
        ports={"AUDIT_PORT": port},
        ready=partial(answers, f"{url}/readyz", ca=trusted_ca(settings)),
        env={"AUDIT_HOST": HOST, "AUDIT_PORT": str(port), **shown},
    )


def service(settings: Settings, number: int) -> Part:
    """Return one of the service processes: `service`, `service-2`, `service-3`."""
    name = numbered("service", number)
    port = settings.service_port + 10 * (number - 1)
    audit = {} if settings.audits else {"AUDIT_MODE": "none"}
    return Part(
        name=name,
        argv=[sys.executable, "-m", "service"],
        ports={"SERVICE_PORT": port},
        ready=partial(answers, f"http://{HOST}:{port}/readyz"),
        env={
            "SERVICE_HOST": HOST,
            "SERVICE_PORT": str(port),
            **audit,
            **log_in_as(settings, "service"),
        },
    )


def extra(settings: Settings, name: str, process: ExtraProcess) -> Part:
    """Return the process that an extra adds, as its manifest describes it."""
    port = settings.extras[process.port]
    places = {"data": str(settings.data_dir / name)}
    poms: Poms = {}
    if process.pom:
        pom = process.folder / process.pom
        poms[pom] = {}
        jars = jars_folder(settings.jars, pom)
        places["jars"] = str(jars)
    command = [word.format(port=port, **places) for word in process.command]
    one_shots = {}
    for step, words in process.then.items():
        one_shots[step] = [sys.executable, *words]
    url = f"http://{HOST}:{port}{process.ready_path}"
    return Part(
        name=name,
        argv=[sys.executable, *command],
        ports={process.port: int(port)},
        ready=partial(answers, url, process.ready_status),
        env={**process.environment, process.port: str(port), **log_in_as(settings, name)},
        then=one_shots,
        poms=poms,
    )


def land(settings: Settings) -> Part:
    """Return the landing that goes on; it is ready when its query has a checkpoint."""
    delta_root = settings.environment()["DELTA_ROOT"]
    checkpoint = Path(delta_root, "checkpoint", "metadata")

    def ready() -> str:
        return "" if checkpoint.exists() else f"there is no {checkpoint}"

    return Part(
        name="land",
        argv=[sys.executable, "-m", "spark.land"],
        ports={},
        ready=ready,
        env=log_in_as(settings, "land"),
    )


def guard(settings: Settings) -> Part:
    """Return the guard of connectors and slots."""
    port = settings.guard_port
    return Part(
        name="guard",
        argv=[sys.executable, "-m", "ops", "guard"],
        ports={"GUARD_PORT": port},
        ready=partial(answers, f"http://{HOST}:{port}/readyz"),
        env=log_in_as(settings, OPS),
    )


def log_in_as(settings: Settings, name: str) -> dict[str, str]:
    """Return the settings with which a part is this principal, if the broker asks.

    One that no ACL knows is not a client of the broker, or asks as the commands do.
    """
    if settings.security is None:
        return {}
    is_known = name == ADMIN or name in all_acls()
    return settings.security.log_in_as(name if is_known else OPS)


def trusted_ca(settings: Settings) -> str | bool:
    """Return the file of the CA that is trusted; without one, those that this machine trusts."""
    return str(settings.security.ca) if settings.security else True


REASON_LIMIT = 200  # characters: a page of HTML says nothing


def answers(
    url: str,
    expected: int = requests.codes.ok,
    ca: str | bool = True,
) -> str:
    """Return nothing when the URL answers with this status, else what came instead."""
    try:
        answer = requests.get(url, timeout=2, verify=ca)
    except requests.RequestException as failure:
        kind = type(failure).__name__
        return f"{url}: {kind}"
    if answer.status_code == expected:
        return ""
    first_line, _, _ = answer.text.strip().partition("\n")
    return f"{url} answers {answer.status_code}: {first_line[:REASON_LIMIT]}"
