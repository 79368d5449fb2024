"""Clients of a broker that encrypts and asks for a password: who gets in, and what others read."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # exported without a type
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from access.kafka import KafkaAccess, kafka_connection
from access.kafka_login import find_reason
from connect.acls import Permission
from contract.names import INPUT_TOPIC, SUBSCRIBER
from ops.security import ADMIN
from ops.settings import ROOT
from ops.stack.certificates import make_ca
from ops.stack.stack import Stack
from tests.builders import value
from tests.client import fresh, query, until
from tests.own_service import free_port, own_service
from tests.secured_broker import (
    SOON,
    SecuredBroker,
    administrator,
    as_environment,
    let_everybody_in,
    make_user,
    secured_broker,
)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """One broker for all tests: it takes some seconds to start."""
    folder = tmp_path_factory.mktemp("kafka")
    with secured_broker(folder, ROOT / ".run" / "jars") as broker:
        yield broker


def test_a_client_with_the_right_settings_gets_in(broker: SecuredBroker) -> None:
    """It lists the topics, and there is nothing to explain."""
    access = broker.access()
    client = AdminClient(kafka_connection(broker.bootstrap_servers, access))
    assert client.list_topics(timeout=SOON).brokers
    assert not find_reason(broker.bootstrap_servers, access)


def wrong_password(broker: SecuredBroker, folder: Path) -> dict[str, Any]:
    """Return a file with another password."""
    file = folder / "wrong"
    file.write_text("wrong")
    return {"kafka_sasl_password_file": file}


def another_ca(_broker: SecuredBroker, folder: Path) -> dict[str, Any]:
    """Return a CA that has not signed the broker's certificate."""
    return {"kafka_ssl_ca_file": make_ca(folder)}


def unknown_user(_broker: SecuredBroker, _folder: Path) -> dict[str, Any]:
    """Return a name that the broker does not know."""
    return {"kafka_sasl_username": "nobody"}


def other_mechanism(_broker: SecuredBroker, _folder: Path) -> dict[str, Any]:
    """Return a mechanism that the broker does not offer."""
    return {"kafka_sasl_mechanism": "PLAIN"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            wrong_password,
            "the broker does not let admin in: is the password in KAFKA_SASL_PASSWORD",
        ),
        (unknown_user, "the broker does not let nobody in: "),
        (other_mechanism, "the broker does not let admin in: "),
        (another_ca, "the broker's certificate is not trusted: is KAFKA_SSL_CA_FILE the CA that"),
    ],
)
def test_who_is_not_let_in_is_told_why_soon(
    broker: SecuredBroker, tmp_path: Path, change: Any, sentence: str
) -> None:
    """Within ten seconds, in one sentence that names the setting, and never the password."""
    access = broker.access(**change(broker, tmp_path))
    began = time.monotonic()
    reason = find_reason(broker.bootstrap_servers, access)
    assert time.monotonic() - began < SOON
    assert reason.startswith(sentence), reason
    assert "secret" not in reason


def test_a_name_that_is_not_in_the_certificate_is_not_trusted(broker: SecuredBroker) -> None:
    """The same broker by its address: anybody could be there."""
    by_address = broker.bootstrap_servers.replace("localhost", "127.0.0.1")
    reason = find_reason(by_address, broker.access())
    assert reason.startswith("the broker's certificate is not trusted"), reason


def test_a_client_without_encryption_is_told_so(broker: SecuredBroker) -> None:
    """Plaintext on an encrypted port: the sentence names the protocol."""
    reason = find_reason(broker.bootstrap_servers, KafkaAccess())
    assert "KAFKA_SECURITY_PROTOCOL=PLAINTEXT" in reason, reason


def test_control_where_nobody_listens_there_is_nothing_to_explain(broker: SecuredBroker) -> None:
    """Control: a broker that is away is an outage, and no wrong setting."""
    assert not find_reason(f"localhost:{free_port()}", broker.access(), seconds=2)


def test_a_rotated_password_is_used_by_the_next_client(
    broker: SecuredBroker, tmp_path: Path
) -> None:
    """The file is read when a client is made: the wrong one before, the right one after."""
    file = tmp_path / "password"
    access = broker.access(kafka_sasl_password_file=file)
    file.write_text("old")
    assert find_reason(broker.bootstrap_servers, access)
    file.write_text(broker.password_file(ADMIN).read_text())
    assert not find_reason(broker.bootstrap_servers, access)


def test_the_service_says_why_it_is_not_let_in_and_waits(
    spoiled: Stack, broker: SecuredBroker, tmp_path: Path
) -> None:
    """With a wrong password it logs the sentence soon, and goes on trying: it may be rotated."""
    access = broker.access(**wrong_password(broker, tmp_path))
    env = as_environment(broker, access)
    with own_service(spoiled, fresh("topic"), **env) as service:
        service.until_logged("the broker does not let admin in", SOON)
        service.until_logged("invalid credentials", count=8)  # it has tried again, and again
        assert service.process.poll() is None


@pytest.mark.parametrize(
    "command",
    [
        ("-m", "connect", "topics"),
        ("-m", "ops", "produce", "--orders", "1"),
        ("-m", "spark.land", "--once"),
        ("-m", "spark.reconcile"),
    ],
    ids=lambda command: command[1],
)
def test_a_command_that_is_not_let_in_ends_soon_with_the_sentence(
    spoiled: Stack, broker: SecuredBroker, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """One line that names the broker and the setting; nothing is tried for ever."""
    access = broker.access(**wrong_password(broker, tmp_path))
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, *command],
        env=spoiled.env() | as_environment(broker, access) | {"ATTACH": "true"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert time.monotonic() - began < SOON + 5  # a process that is not warm takes its time to start
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert f"{broker.bootstrap_servers}: the broker does not let admin in" in last, done.stderr


def test_the_service_handles_orders_over_an_encrypted_connection(
    spoiled: Stack, broker: SecuredBroker
) -> None:
    """As a user who may read its topic, in its group, and nothing else."""
    topic = fresh("topic")
    admin = administrator(broker)
    admin.create_topics([NewTopic(topic, 3, 1)])[topic].result(SOON)
    access = make_user(broker, "service")
    by_hand = [
        allow(admin, "service", kind, topic) for kind in (ResourceType.TOPIC, ResourceType.GROUP)
    ]
    message_id = fresh("m")
    producer = Producer(kafka_connection(broker.bootstrap_servers, broker.access()))
    producer.produce(topic, value(message_id), message_id, headers=[("message_id", message_id)])
    assert producer.flush(SOON) == 0
    with own_service(spoiled, topic, **as_environment(broker, access)):
        until(
            lambda: query("select 1 from tracking where message_id = %s", message_id),
            bool,
            60,
            "the order was not handled",
        )
    for binding in by_hand:  # other tests compare what is allowed with the files
        remove(admin, binding)


def allow(admin: AdminClient, user: str, kind: ResourceType, name: str) -> AclBinding:
    """Let a user read a topic, or take part in a group; return what was allowed."""
    binding = AclBinding(
        kind,
        name,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    for answer in admin.create_acls([binding]).values():
        answer.result(SOON)
    return binding


@pytest.fixture(scope="module")
def allowed(broker: SecuredBroker) -> SecuredBroker:
    """The same broker, with every topic, every principal, and what each may do."""
    let_everybody_in(broker)
    return broker


def client_of(broker: SecuredBroker, principal: str, **own: Any) -> dict[str, Any]:
    """Return the settings of a principal's client."""
    return {**kafka_connection(broker.bootstrap_servers, broker.access(principal)), **own}


def produce_to(broker: SecuredBroker, principal: str, topic: str) -> str:
    """Send a record, and return what the broker says of it; nothing when it has it."""
    said: list[str] = []
    producer = Producer(client_of(broker, principal))
    producer.produce(topic, b"x", on_delivery=lambda error, _: said.append(name_of(error)))
    assert producer.flush(SOON) == 0
    return said[0]


def read_from(broker: SecuredBroker, principal: str, topic: str, group: str) -> str:
    """Join a group and read a topic; return what is refused, or nothing when partitions come."""
    own = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    with Consumer(client_of(broker, principal, **own)) as consumer:
        consumer.subscribe([topic])
        refusal = wait_for_partitions(consumer)
        leave(consumer)
    assert refusal is not None, f"{principal} has got neither a partition nor an error"
    return refusal


def wait_for_partitions(consumer: Consumer) -> str | None:
    """Return what is refused, or nothing when partitions come; None if neither comes soon."""
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None and message.error() is not None:
            return name_of(message.error())
        if consumer.assignment():
            return ""
    return None


def leave(consumer: Consumer) -> None:
    """Leave the group before the client is closed: in a rebalance a close may never return."""
    consumer.unsubscribe()
    deadline = time.monotonic() + SOON
    while consumer.assignment() and time.monotonic() < deadline:
        consumer.poll(0.1)


def create(broker: SecuredBroker, principal: str) -> str:
    """Make a topic, and return what is refused."""
    topic = fresh("own")
    admin = AdminClient(client_of(broker, principal))
    try:
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(SOON)
    except KafkaException as failure:
        return name_of(failure.args[0])
    return ""


def name_of(error: KafkaError | None) -> str:
    """Return the name of an error."""
    return error.name() if error else ""


DENIED_TOPIC, DENIED_GROUP = "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED"
FULFILLMENTS = "fulfillment.events"


@pytest.mark.parametrize(
    ("act", "words", "may", "may_not", "refusal"),
    [
        (produce_to, (INPUT_TOPIC,), "producer", "service", DENIED_TOPIC),
        (produce_to, (FULFILLMENTS,), "connect", "producer", DENIED_TOPIC),
        (read_from, (INPUT_TOPIC, SUBSCRIBER), "service", "land", DENIED_GROUP),
        (read_from, (FULFILLMENTS, "land"), "land", "service", DENIED_GROUP),
        (create, (), "ops", "service", DENIED_TOPIC),
    ],
)
def test_a_part_may_do_what_is_its_own_and_is_denied_the_rest(
    allowed: SecuredBroker,
    act: Callable[..., str],
    *,
    words: tuple[str, ...],
    may: str,
    may_not: str,
    refusal: str,
) -> None:
    """The same act by two principals: the broker lets the one, and refuses the other by name."""
    assert act(allowed, may, *words) == ""
    assert act(allowed, may_not, *words) == refusal


def test_a_group_of_its_own_opens_no_other_topic(allowed: SecuredBroker) -> None:
    """The service reads its topic in its group, and no other topic in the same group."""
    assert read_from(allowed, "service", INPUT_TOPIC, SUBSCRIBER) == ""
    assert read_from(allowed, "service", FULFILLMENTS, SUBSCRIBER) == DENIED_TOPIC


def run_connect(broker: SecuredBroker, step: str) -> "subprocess.CompletedProcess[str]":
    """Run one step of the setup as the administrator."""
    return subprocess.run(
        [sys.executable, "-m", "connect", step],
        env=os.environ | as_environment(broker, broker.access()),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_what_is_allowed_by_hand_is_seen_and_what_is_missing_too(allowed: SecuredBroker) -> None:
    """As it was set up there is no difference; then one permission is added, and one taken away."""
    good = run_connect(allowed, "check-acls")
    assert good.returncode == 0, good.stderr
    admin = administrator(allowed)
    by_hand = Permission("land", "topics", INPUT_TOPIC, "WRITE").binding
    of_the_file = Permission("producer", "topics", INPUT_TOPIC, "WRITE").binding
    admin.create_acls([by_hand])[by_hand].result(SOON)
    remove(admin, of_the_file)
    wanted = (
        f"not allowed: producer may WRITE topic {INPUT_TOPIC};"
        f" in no file: land may WRITE topic {INPUT_TOPIC} from *"
    )
    until(
        lambda: run_connect(allowed, "check-acls").stderr,
        lambda said: wanted in said,
        30,
        "the differences are not told",
    )
    remove(admin, by_hand)
    assert "producer may WRITE" in run_connect(allowed, "acls").stdout
    until(
        lambda: run_connect(allowed, "check-acls").returncode,
        lambda code: code == 0,
        30,
        "there is still a difference",
    )


def remove(admin: AdminClient, binding: AclBinding) -> None:
    """Take one permission away."""
    exactly = AclBindingFilter(
        binding.restype,
        binding.name,
        binding.resource_pattern_type,
        binding.principal,
        binding.host,
        binding.operation,
        binding.permission_type,
    )
    for answer in admin.delete_acls([exactly]).values():
        assert answer.result(SOON)
