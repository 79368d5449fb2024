"""A Kafka Connect worker from its jars: the settings of connect/, and this machine's own."""

import requests

from ops.jars import Command, Run, jars_folder
from ops.security import OPS
from ops.settings import HOST, Settings
from ops.stack.kafka import CONNECT, POM, java, numbered, of_cluster, of_security, override
from ops.stack.secured import login_file

MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"


def command(settings: Settings, number: int = 1) -> Command:
    """Return the command of a worker."""
    file = settings.run_dir / f"{numbered('worker', number)}.properties"
    options = settings.connect_java_options
    if settings.security:
        options += f" -Djava.security.auth.login.config={login_file(settings.security)}"
    return java(settings, options, MAIN, str(file))


def prepare(settings: Settings, _run: Run, number: int = 1) -> None:
    """Write connect/worker.properties with the settings that it leaves to the machine."""
    plugins = jars_folder(settings.jars, POM) / "plugins"
    http = "https" if settings.security else "http"
    port = settings.connect_ports[number - 1]
    machine = {
        "bootstrap.servers": settings.bootstrap_servers,
        "listeners": f"{http}://{HOST}:{port}",
        "plugin.path": str(plugins),
        "config.providers.dir.param.allowed.paths": str(settings.secrets_dir),
    }
    layers = of_cluster("worker", is_cluster=settings.workers > 1)
    layers |= of_security(settings, "worker") | machine
    file = settings.run_dir / f"{numbered('worker', number)}.properties"
    override(CONNECT / "worker.properties", layers, file)


def find_missing(settings: Settings, number: int = 1) -> str:
    """Return nothing when a worker is well, else what came instead."""
    http = "https" if settings.security else "http"
    url = f"{http}://{HOST}:{settings.connect_ports[number - 1]}/health"
    try:
        status = ask(settings, url)
    except requests.RequestException as failure:
        kind = type(failure).__name__
        return f"{url}: {kind}"
    return "" if status == requests.codes.ok else f"{url} answers {status}"


def ask(settings: Settings, url: str) -> int:
    """Return the status of an answer; of a secured worker, one to somebody whom it knows."""
    if settings.security is None:
        return requests.get(url, timeout=2).status_code
    login = (OPS, settings.security.connect_password.read_text())
    ca = str(settings.security.ca)
    return requests.get(url, timeout=2, verify=ca, auth=login).status_code
