"""Versions of the Java client in the build files of Maven and Gradle, by Spring Boot too."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

from pipeline_check.reading.images import kafka_of_platform
from pipeline_check.reading.said import NUMBER, Said, Version, line_at, parse

# Kafka's own artifacts, all of which have one version.
ARTIFACT = r"(?:kafka-clients|kafka_2\.\d+|kafka-streams|connect-(?:api|runtime|json))"
GRADLE_CLIENTS = re.compile(
    rf"""org\.apache\.kafka:{ARTIFACT}:(\d[\w.-]*)"""
    rf"""|['"]org\.apache\.kafka['"]\s*,\s*name\s*[:=]\s*['"]{ARTIFACT}['"]"""
    r"""\s*,\s*version\s*[:=]\s*['"]?(\d[\w.-]*)"""
)
GRADLE_PROPERTY = re.compile(r"""kafka\.version['"]?\]?\s*[=,]\s*['"](\d[\w.-]*)""")
GRADLE_VARIABLE = re.compile(
    r"""(?:^|[\s.(])(?P<name>\w+)['"]?\s*[=,:]\s*['"](?P<value>\d[\w.-]*)['"]""", re.MULTILINE
)
GRADLE_USE = re.compile(
    r"""\$\{?(?:\w+\.)*(?P<text>\w+)\}?|(?P<before>version:?\s*=?\s*)(?P<bare>[A-Za-z]\w*)"""
)
SBT_CLIENTS = re.compile(rf'''"org\.apache\.kafka"\s*%%?\s*"{ARTIFACT}"\s*%\s*"(\d[\w.-]*)"''')
OWN_PROPERTY = re.compile(r"(?:apache[.-])?kafka(?:[._-]?clients?)?[._-]?version", re.IGNORECASE)
OWN_ARTIFACT = re.compile(ARTIFACT)
FLINK = re.compile(r"flink-(?:sql-)?connector-kafka")
# Confluent's build of Kafka has its platform's number: 7.2.1-ccs is Kafka 3.2.
OF_PLATFORM = re.compile(r"(\d+)\.(\d+)\S*-(?:ccs|ce)\b")
GRADLE_BOOT = re.compile(
    r"""org\.springframework\.boot['"]\)?\s+version\s*\(?\s*['"](\d[\d.]*)"""
    r"""|spring-boot-(?:dependencies|gradle-plugin):(\d[\d.]*)"""
)
BOOT = "org.springframework.boot"
# The kafka-clients of each line of Spring Boot, as its own list of versions has it; in one line a
# bug was mended on the way.
OF_BOOT: dict[Version, Version] = {
    (1, 5): (0, 10, 1),
    (2, 0): (1, 0, 2),
    (2, 1): (2, 0, 1),
    (2, 2): (2, 3, 1),
    (2, 3): (2, 5, 1),
    (2, 4): (2, 6, 3),
    (2, 5): (2, 7, 2),
    (2, 6): (3, 0, 0),
    (2, 6, 5): (3, 0, 1),
    (2, 7): (3, 1, 2),
    (3, 0): (3, 3, 2),
    (3, 1): (3, 4, 1),
    (3, 2): (3, 6, 2),
    (3, 3): (3, 7, 2),
    (3, 4): (3, 8, 1),
    (3, 5): (3, 9, 1),
    (4, 0): (4, 1, 1),
    (4, 1): (4, 2, 0),
}
# The same of Spring Kafka, where no Spring Boot says otherwise.
OF_SPRING_KAFKA: dict[Version, Version] = {
    (1, 0): (0, 9, 0),
    (1, 1): (0, 10, 0),
    (1, 3): (0, 11, 0),
    (2, 0): (1, 0, 0),
    (2, 2): (2, 0, 1),
    (2, 3): (2, 3, 1),
    (2, 5): (2, 5, 1),
    (2, 6): (2, 6, 0),
    (2, 7): (2, 7, 1),
    (2, 8): (3, 0, 0),
    (2, 9): (3, 2, 3),
    (3, 0): (3, 3, 2),
    (3, 1): (3, 6, 1),
    (3, 2): (3, 7, 1),
    (3, 3): (3, 8, 1),
    (4, 0): (4, 1, 0),
}
GRADLE_SPRING_KAFKA = re.compile(r"org\.springframework\.kafka:spring-kafka:(\d[\d.]*)")
# The same of Micronaut and of Quarkus, from the lines on in which it changed.
OF_MICRONAUT: dict[Version, Version] = {
    (2, 0): (2, 5, 0),
    (3, 0): (2, 8, 0),
    (3, 3): (3, 1, 0),
    (4, 0): (3, 4, 0),
}
OF_QUARKUS: dict[Version, Version] = {
    (1, 0): (2, 3, 0),
    (2, 0): (2, 8, 0),
    (2, 6): (3, 0, 0),
    (2, 8): (3, 1, 0),
    (2, 12): (3, 2, 0),
    (3, 0): (3, 4, 0),
}
FRAMEWORK_PROPERTY = re.compile(
    r"(micronaut|quarkus)(?:\.platform)?[._]?(?:platform)?version\s*=\s*['\"]?(\d[\d.]*)",
    re.IGNORECASE,
)
FRAMEWORKS = {
    "micronaut": OF_MICRONAUT,
    "quarkus": OF_QUARKUS,
    "spring-kafka": OF_SPRING_KAFKA,
}


def read_pom(text: str) -> Iterator[Said]:
    """Yield the version of kafka-clients: as a dependency, as a property, or by Spring Boot."""
    if "<!DOCTYPE" in text:
        raise ValueError("a build file needs no document type, and one may explode")
    project = ET.fromstring(text)  # noqa: S314 - nothing in it can be expanded
    for element in project.iter():
        element.tag = element.tag.rpartition("}")[2]
    properties = {each.tag: (each.text or "").strip() for each in project.iterfind("properties/*")}
    asked = artifacts_of(project, properties)
    numbers = [each for name, versions in asked.items() for each in versions if is_own(name)]
    numbers += [each for name, each in properties.items() if OWN_PROPERTY.fullmatch(name)]
    for number in filter(is_number, numbers):
        yield Said("java", kafka_version(number), line_of(text, number))
    yield from flink(text)
    for number in [*asked["spring-boot-starter-parent"], *asked["spring-boot-dependencies"]]:
        yield from by_boot(text, number)
    for name in FRAMEWORKS:
        version = properties.get(f"{name}.platform.version", properties.get(f"{name}.version", ""))
        for number in [*asked[name], version]:
            yield from by_framework(name, text, number)


def is_own(artifact: str) -> bool:
    """Return whether an artifact is of Kafka itself."""
    return OWN_ARTIFACT.fullmatch(artifact) is not None


def kafka_version(number: str) -> Version:
    """Return the version of Kafka that a version of its artifacts is."""
    of_platform = OF_PLATFORM.match(number)
    if of_platform:
        return kafka_of_platform(parse(f"{of_platform[1]}.{of_platform[2]}"))
    return parse(NUMBER.findall(number)[0])


def flink(text: str) -> Iterator[Said]:
    """Yield whether Flink's sink may be what reads the settings here."""
    found = FLINK.search(text)
    if found:
        yield Said("flink", (), line_at(text, found.start()))


def artifacts_of(project: ET.Element, properties: dict[str, str]) -> dict[str, list[str]]:
    """Return the versions that are asked for, by artifact."""
    found: dict[str, list[str]] = defaultdict(list)
    for each in [*project.iter("dependency"), *project.iter("parent")]:
        version = resolve(each.findtext("version", "").strip(), properties)
        if is_number(version):
            found[each.findtext("artifactId", "").strip()].append(version)
    return found


def by_framework(name: str, text: str, number: str) -> Iterator[Said]:
    """Yield the kafka-clients that a version of a framework brings along."""
    if not is_number(number):
        return
    version = parse(NUMBER.findall(number)[0])[:2]
    lines = FRAMEWORKS[name]
    known = [line for line in lines if line <= version]
    if known:
        yield Said("java", lines[max(known)], line_of(text, number))


def read_gradle_properties(text: str) -> Iterator[Said]:
    """Yield the same of Kafka's version, and of a framework's, in gradle.properties."""
    for name, number in re.findall(r"^\s*([\w.-]+)\s*=\s*(\d[\w.-]*)", text, re.MULTILINE):
        if OWN_PROPERTY.fullmatch(name):
            yield Said("java", kafka_version(number), line_of(text, number))
    for match in FRAMEWORK_PROPERTY.finditer(text):
        yield from by_framework(match[1].lower(), text, match[2])


def resolve(version: str, properties: dict[str, str]) -> str:
    """Return a version, or that of the property which it names."""
    name = version.removeprefix("${").removesuffix("}")
    return properties.get(name, version) if version.startswith("${") else version


def is_number(text: str) -> bool:
    """Return whether a version is written here."""
    return bool(NUMBER.match(text))


def by_boot(text: str, number: str) -> Iterator[Said]:
    """Yield the kafka-clients that a version of Spring Boot brings along."""
    version = parse(NUMBER.findall(number)[0])
    lines = [line for line in OF_BOOT if line <= version and line[:2] == version[:2]]
    if lines:
        yield Said("java", OF_BOOT[max(lines)], line_of(text, number))


def read_gradle(text: str) -> Iterator[Said]:
    """Yield the version of kafka-clients: as a dependency, as a property, or by Spring Boot."""
    text = with_variables(text)
    for pattern in (GRADLE_CLIENTS, GRADLE_PROPERTY):
        for match in pattern.finditer(text):
            number = next(filter(None, match.groups()))
            yield Said("java", kafka_version(number), line_at(text, match.start()))
    yield from flink(text)
    for match in GRADLE_BOOT.finditer(text):
        yield from by_boot(text, match[1] or match[2])
    for match in GRADLE_SPRING_KAFKA.finditer(text):
        yield from by_framework("spring-kafka", text, match[1])


def with_variables(text: str) -> str:
    """Return a build file with the versions at the places of the names that stand for them."""
    versions = {match["name"]: match["value"] for match in GRADLE_VARIABLE.finditer(text)}

    def put_in(use: re.Match[str]) -> str:
        value = versions.get(use["text"] or use["bare"])
        if not value:
            return use[0]
        return value if use["text"] else f"{use['before']}'{value}'"

    return GRADLE_USE.sub(put_in, text)


def read_sbt(text: str) -> Iterator[Said]:
    """Yield the version of kafka-clients in a build of sbt."""
    for match in SBT_CLIENTS.finditer(text):
        yield Said("java", kafka_version(match[1]), line_at(text, match.start()))
    yield from flink(text)


def read_catalog(text: str) -> Iterator[Said]:
    """Yield the same out of Gradle's catalog of versions."""
    catalog = tomllib.loads(text)
    versions = catalog.get("versions", {})
    for library in catalog.get("libraries", {}).values():
        number = catalog_version(library, versions)
        group, _, artifact = module_of(library).partition(":")
        if group == "org.apache.kafka" and is_own(artifact) and is_number(number):
            yield Said("java", kafka_version(number), line_of(text, number))
    for plugin in catalog.get("plugins", {}).values():
        number = catalog_version(plugin, versions)
        if isinstance(plugin, dict) and plugin.get("id") == BOOT and is_number(number):
            yield from by_boot(text, number)


def module_of(library: Any) -> str:
    """Return group and name of a library in a catalog."""
    if isinstance(library, str):
        return library.rpartition(":")[0]
    return str(library.get("module") or f"{library.get('group')}:{library.get('name')}")


def catalog_version(entry: Any, versions: dict[str, Any]) -> str:
    """Return the version of an entry in a catalog, or that which it refers to."""
    if isinstance(entry, str):
        return entry.rpartition(":")[2]
    version = entry.get("version", "")
    if isinstance(version, dict):
        version = versions.get(str(version.get("ref")), version.get("strictly", ""))
    return version if isinstance(version, str) else ""


def line_of(text: str, number: str) -> int:
    """Return the first line with a version."""
    return line_at(text, text.find(number))
