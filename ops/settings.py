"""Where the embedded stack listens and keeps its files, and what each part learns of that."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from dotenv import dotenv_values
from pydantic import BeforeValidator, Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from contract.names import AUDIT_DATABASE, DATABASE, INPUT_TOPIC, SUBSCRIBER
from ops.extra import ExtraProcess, Value, extra_processes, read_extra_settings
from ops.jars import jars_folder
from ops.security import Security

ROOT = Path(__file__).parent.parent
HOST = "127.0.0.1"  # nothing of the embedded stack is reachable from another machine

Env = Mapping[str, str]  # the environment of a process
Port = Annotated[int, Field(ge=1, le=65_535)]

# The databases that have an outbox, each with the name under which every part learns its address.
OUTBOXES = {DATABASE: "DATABASE_URL", AUDIT_DATABASE: "AUDIT_DATABASE_URL"}


class Settings(BaseSettings):
    """Read from the environment and from an optional .env; the names are these in upper case."""

    model_config = SettingsConfigDict(env_file=ROOT / ".env", extra="ignore")

    postgres_port: Port = 15432
    kafka_port: Port = 19092
    kafka_controller_port: Port = 19093
    connect_port: Port = 18083
    audit_port: Port = 18081
    guard_port: Port = 18087
    guard_host: str = HOST
    # Seconds between two pulses, records that only measure how long the way takes; 0: none is sent.
    guard_pulse_seconds: Annotated[float, Field(ge=0)] = 0
    page_port: Port = 18088  # of `pipeline status --serve`
    page_host: str = HOST
    # Its first line is what people type who may replay and skip; without it, the page only shows.
    page_token_file: Path = Path()
    page_allowed_hosts: str = ""  # names by which it may be asked besides localhost
    service_port: Port = 18080  # a second service process listens ten above, and so on
    # Three of each topic's copies, or one. A second broker listens ten above, and so on.
    brokers: Annotated[Literal[1, 3], BeforeValidator(int)] = 1
    workers: Annotated[int, Field(ge=1, le=2)] = 1  # of Connect; the second listens ten above
    # More than three service processes would wait: the topic has three partitions.
    services: Annotated[int, Field(ge=1, le=3)] = 1
    input_topic: str = INPUT_TOPIC
    group_id: str = SUBSCRIBER
    subscriber: str = SUBSCRIBER
    dedup_store: str = "tracking"  # the service's
    land: bool = False  # also keep landing going, as one more process
    guard: bool = False  # and a guard, which restarts what has failed and says what is not well
    secure: bool = False  # everything is encrypted and asks who comes; see docs/security.md
    # How much of the path there is: orders that are handled once, then their events, then the POST.
    adopt: Literal["consumer", "outbox", "all"] = "all"
    # What the manifests of extras declare, read from the environment and .env by their own names.
    extras: dict[str, Value] = Field(default_factory=dict, validate_default=True)

    run_dir: Path = Path(".run")
    jars_dir: Path = Path()  # RUN_DIR/jars unless set, so that several stacks may share one cache
    # Only the first compiler: on two cores both parts then start in half the time.
    kafka_java_options: str = "-Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    connect_java_options: str = "-Xmx1g -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    start_timeout_seconds: float = 90  # each part; the slowest takes 5 s on two cores

    # The parts run elsewhere (compose): take their addresses from the environment.
    attach: bool = False

    @field_validator("run_dir")
    @classmethod
    def _from_the_root(cls, run_dir: Path) -> Path:
        """Return the same folder wherever the command was typed."""
        return ROOT / run_dir

    @field_validator("extras")
    @classmethod
    def _of_the_extras(cls, given: dict[str, Value]) -> dict[str, Value]:
        """Return the settings of every extra that is here."""
        from_file = dotenv_values(ROOT / ".env")
        environment = {**from_file, **os.environ}
        return read_extra_settings(given, environment)

    @property
    def secrets_dir(self) -> Path:
        """Return the folder of the passwords: a file for each role, read by the user alone."""
        return self.run_dir / "secrets"

    @property
    def security(self) -> Security | None:
        """Return whom the parts trust and who they are, if they ask each other."""
        return Security(self.run_dir) if self.secure else None

    @property
    def data_dir(self) -> Path:
        """Return where PostgreSQL and Kafka keep their data."""
        return self.run_dir / "data"

    @property
    def jars(self) -> Path:
        """Return the cache of jars."""
        is_set = self.jars_dir != Path()
        if is_set:
            return ROOT / self.jars_dir
        return self.run_dir / "jars"

    @property
    def kafka_ports(self) -> list[int]:
        """Return where each broker listens."""
        return [self.kafka_port + 10 * number for number in range(self.brokers)]

    @property
    def kafka_controller_ports(self) -> list[int]:
        """Return where each broker's controller listens."""
        return [self.kafka_controller_port + 10 * number for number in range(self.brokers)]

    @property
    def connect_ports(self) -> list[int]:
        """Return where each Connect worker listens."""
        return [self.connect_port + 10 * number for number in range(self.workers)]

    @property
    def bootstrap_servers(self) -> str:
        """Return every broker, so that none of them must be there when a client starts."""
        return ",".join(f"{HOST}:{port}" for port in self.kafka_ports)

    @property
    def publishes(self) -> bool:
        """Return whether somebody reads the outboxes."""
        return self.adopt != "consumer"

    @property
    def audits(self) -> bool:
        """Return whether the service posts what it has handled."""
        return self.adopt == "all"

    def extra_processes(self) -> dict[str, ExtraProcess]:
        """Return the processes that extras add to this stack, by the name of the extra."""
        processes = extra_processes().items()
        return {
            name: process
            for name, process in processes
            if process.wanted(self.extras, self.dedup_store)
        }

    def environment(self) -> dict[str, str]:
        """Return the names that every part, `.run/env` and the tests know; passwords as files."""
        names = self._addresses() | self._places()
        if self.brokers > 1:
            names["REPLICATION_FACTOR"] = str(self.brokers)
        if self.security:
            names |= self.security.environment()
        for process in self.extra_processes().values():
            names |= process.shared_environment(self.extras)
        if not self.attach:
            return names
        known_outside = names.keys() & os.environ.keys()
        from_outside = {name: os.environ[name] for name in known_outside}
        return names | from_outside

    def _addresses(self) -> dict[str, str]:
        """Return where each part answers, and which topic, group and subscriber are meant."""
        server = f"{HOST}:{self.postgres_port}"
        trusted = self.security.of_a_database() if self.security else ""
        http = "https" if self.security else "http"
        return {
            "DATABASE_URL": f"postgresql://app@{server}/{DATABASE}{trusted}",
            "AUDIT_DATABASE_URL": f"postgresql://audit@{server}/{AUDIT_DATABASE}{trusted}",
            "ADMIN_DATABASE_URL": f"postgresql://postgres@{server}/postgres{trusted}",
            "KAFKA_BOOTSTRAP_SERVERS": self.bootstrap_servers,
            "CONNECT_URL": f"{http}://{HOST}:{self.connect_port}",
            "AUDIT_URL": f"{http}://{HOST}:{self.audit_port}",
            "SERVICE_URL": f"http://{HOST}:{self.service_port}",
            "INPUT_TOPIC": self.input_topic,
            "GROUP_ID": self.group_id,
            "SUBSCRIBER": self.subscriber,
        }

    def _places(self) -> dict[str, str]:
        """Return where files are."""
        places = {
            "DATABASE_PASSWORD_FILE": self.secrets_dir / "app_password",
            "AUDIT_DATABASE_PASSWORD_FILE": self.secrets_dir / "audit_password",
            "ADMIN_DATABASE_PASSWORD_FILE": self.secrets_dir / "postgres_password",
            "RECONCILER_PASSWORD_FILE": self.secrets_dir / "reconciler_password",
            "PURGER_PASSWORD_FILE": self.secrets_dir / "purger_password",
            "RESENDER_PASSWORD_FILE": self.secrets_dir / "resender_password",
            "SECRETS_DIR": self.secrets_dir,
            "PGPASSFILE": self.secrets_dir / "pgpass",
            "DELTA_ROOT": self.run_dir / "delta",
            "LEDGER_ROOT": self.run_dir / "ledger",
            "SPARK_JARS_DIR": jars_folder(self.jars, ROOT / "spark" / "pom.xml"),
        }
        return {name: str(place) for name, place in places.items()}
