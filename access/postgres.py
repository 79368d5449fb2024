"""How clients of Postgres are told whom to trust: by what stands behind the ? of a URL."""

from collections.abc import Mapping
from typing import Annotated, Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from pydantic import AfterValidator

# libpq, pgjdbc and Debezium call these the same. Each is handed on where a URL is taken apart:
# without them a client would connect, encrypted perhaps, to anybody.
TLS = ("sslmode", "sslrootcert")

WAY_OUT = (
    "add ?sslmode=verify-full&sslrootcert=FILE with the CA of the server,"
    " or ?sslmode=disable to trust the network between"
)


def refuse_without_sslmode(url: str) -> str:
    """Return the URL of a database; refuse one that leaves open whom it would trust.

    By default libpq encrypts if the server happens to, and checks nothing. On this machine that is
    nobody's business.
    """
    try:
        found = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise ValueError(f"is no URL of a database: {str(error).strip()}") from None
    hosts = str(found.get("host", "")).split(",")
    is_elsewhere = not all(is_this_machine(host) for host in hosts)
    if is_elsewhere and "sslmode" not in found:
        raise ValueError(f"says nothing about encryption: {WAY_OUT}")
    return url


def is_this_machine(host: str) -> bool:
    """Return whether a host is this machine: by no name, by a socket, or by its loopback."""
    is_socket = host.startswith("/")
    return not host or is_socket or host in ("localhost", "::1") or host.startswith("127.")


def tls_of(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return what a connection is told about encryption, to hand it on to another client."""
    return {name: str(parameters[name]) for name in TLS if name in parameters}


DatabaseUrl = Annotated[str, AfterValidator(refuse_without_sslmode)]
