"""Who may do what on the broker: one principal for each part, and nothing that it does not need.

The broker must deny what nobody has allowed (`authorizer.class.name`). The principals themselves,
with their passwords, are made by whoever runs the cluster.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # exported without a type
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from access.kafka import kafka_connection
from connect.files import ACLS, SettingsError, read_json
from connect.settings import Settings
from connect.topics import published_topics, refuse_without_login
from contract.extras import manifests
from contract.names import INPUT_TOPIC, SUBSCRIBER

RESOURCES = {
    "topics": ResourceType.TOPIC,
    "groups": ResourceType.GROUP,
    "transactions": ResourceType.TRANSACTIONAL_ID,
    "cluster": ResourceType.BROKER,
}
PUBLISHED = "@published"  # every topic to which an outbox is published
ALL = "*"
ANY_ACL = AclBindingFilter(
    ResourceType.ANY,
    None,  # type: ignore[arg-type]  # any name; so says its documentation
    ResourcePatternType.ANY,
    None,  # type: ignore[arg-type]  # any principal
    None,  # type: ignore[arg-type]  # any host
    AclOperation.ANY,
    AclPermissionType.ANY,
)

Acls = dict[str, dict[str, dict[str, list[str]]]]  # by principal, kind of resource, and name


class Permission(NamedTuple):
    """What a principal may do with one thing; a name that ends in * is the beginning of names."""

    principal: str
    kind: str
    name: str
    operation: str

    def __str__(self) -> str:
        """Return it as people read it."""
        kind = self.kind.removesuffix("s")
        return f"{self.principal} may {self.operation} {kind} {self.name}"

    @property
    def binding(self) -> AclBinding:
        """Return it as the broker knows it, from whatever host."""
        is_beginning = self.name.endswith(ALL) and self.name != ALL
        return AclBinding(
            RESOURCES[self.kind],
            self.name.removesuffix(ALL) if is_beginning else self.name,
            ResourcePatternType.PREFIXED if is_beginning else ResourcePatternType.LITERAL,
            f"User:{self.principal}",
            ALL,
            AclOperation[self.operation],
            AclPermissionType.ALLOW,
        )


def make_acls(settings: Settings) -> list[str]:
    """Allow what is missing, and return it; what else is allowed is left as it is."""
    timeout = settings.connect_timeout_seconds
    refuse_without_login(settings.kafka_bootstrap_servers)
    admin = AdminClient(kafka_connection(settings.kafka_bootstrap_servers))
    there = read_acls(admin, timeout)
    missing = [one for one in wanted(settings) if one.binding not in there]
    answers = admin.create_acls([one.binding for one in missing]) if missing else {}
    for answer in answers.values():
        answer.result(timeout)
    return [str(one) for one in missing]


def check_acls(settings: Settings) -> list[str]:
    """Compare what is allowed with what acls.json says; refuse every difference, each way."""
    refuse_without_login(settings.kafka_bootstrap_servers)
    admin = AdminClient(kafka_connection(settings.kafka_bootstrap_servers))
    there = read_acls(admin, settings.connect_timeout_seconds)
    known = {one.binding: one for one in wanted(settings)}
    missing = [f"not allowed: {one}" for binding, one in known.items() if binding not in there]
    further = [f"in no file: {describe(binding)}" for binding in there - known.keys()]
    if missing or further:
        raise SettingsError("; ".join([*missing, *sorted(further)]))
    return [f"{len(known)} permissions, and no other"]


def read_acls(admin: AdminClient, timeout: float) -> set[AclBinding]:
    """Return everything that the broker allows or denies."""
    return set(admin.describe_acls(ANY_ACL, request_timeout=timeout).result(timeout))


def wanted(settings: Settings) -> list[Permission]:
    """Return everything that has to be allowed."""
    return list(permissions(all_acls(settings.input_topic, settings.group_id)))


def describe(binding: Any) -> str:
    """Return as people read it what somebody has allowed or denied by hand: an AclBinding."""
    kind = binding.restype.name.lower()
    may = "may" if binding.permission_type == AclPermissionType.ALLOW else "may not"
    name = binding.name
    if binding.resource_pattern_type == ResourcePatternType.PREFIXED:
        name += ALL
    who = binding.principal.removeprefix("User:")
    return f"{who} {may} {binding.operation.name} {kind} {name} from {binding.host}"


def all_acls(input_topic: str = INPUT_TOPIC, group_id: str = SUBSCRIBER) -> Acls:
    """Return what acls.json and the extras say, with each topic and group under its own name."""
    acls: Acls = read_json(ACLS)
    for of_extra in manifests("acls").values():
        for principal, resources in of_extra.items():
            known = acls.setdefault(principal, {})
            for kind, names in resources.items():
                known[kind] = known.get(kind, {}) | names
    for resources in acls.values():
        topics = resources.get("topics", {})
        if INPUT_TOPIC in topics:
            topics[input_topic] = topics.pop(INPUT_TOPIC)
        if PUBLISHED in topics:
            topics |= dict.fromkeys(published_topics(), topics.pop(PUBLISHED))
        groups = resources.get("groups", {})
        if SUBSCRIBER in groups:
            groups[group_id] = groups.pop(SUBSCRIBER)
    return acls


def permissions(acls: Acls) -> Iterator[Permission]:
    """Yield every single permission."""
    for principal, resources in acls.items():
        for kind, names in resources.items():
            for name, operations in names.items():
                for operation in operations:
                    yield Permission(principal, kind, name, operation)
