"""Versions of the Java client in the build files of Maven and Gradle, by Spring Boot too."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

from pipeline_check.reading.said import NUMBER, Said, Version, line_at, parse

GRADLE_CLIENTS = re.compile(r"org\.apache\.kafka:kafka-clients:(\d[\d.]*)")
GRADLE_PROPERTY = re.compile(r"""kafka\.version['"]?\]?\s*[=,]\s*['"](\d[\d.]*)""")
GRADLE_BOOT = re.compile(
    r"""org\.springframework\.boot['"]\)?\s+version\s*\(?\s*['"](\d[\d.]*)"""
    r"""|spring-boot-dependencies:(\d[\d.]*)"""
)
BOOT = "org.springframework.boot"
# The kafka-clients of each line of Spring Boot, as its own list of versions has it.
OF_BOOT: dict[Version, Version] = {
    (1, 5): (0, 10, 1),
    (2, 0): (1, 0, 2),
    (2, 1): (2, 0, 1),
    (2, 2): (2, 3, 1),
    (2, 3): (2, 5, 1),
    (2, 4): (2, 6, 3),
    (2, 5): (2, 7, 2),
    (2, 6): (3, 0, 2),
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
    for number in [*asked["kafka-clients"], properties.get("kafka.version", "")]:
        if is_number(number):
            yield Said("java", parse(NUMBER.findall(number)[0]), line_of(text, number))
    for number in [*asked["spring-boot-starter-parent"], *asked["spring-boot-dependencies"]]:
        yield from by_boot(text, number)
    for name in FRAMEWORKS:
        version = properties.get(f"{name}.platform.version", properties.get(f"{name}.version", ""))
        for number in [*asked[name], version]:
            yield from by_framework(name, text, number)


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
    """Yield the same of a framework that is named in gradle.properties."""
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
    version = OF_BOOT.get(parse(NUMBER.findall(number)[0])[:2])
    if version:
        yield Said("java", version, line_of(text, number))


def read_gradle(text: str) -> Iterator[Said]:
    """Yield the version of kafka-clients: as a dependency, as a property, or by Spring Boot."""
    for pattern in (GRADLE_CLIENTS, GRADLE_PROPERTY):
        for match in pattern.finditer(text):
            yield Said("java", parse(match[1]), line_at(text, match.start()))
    for match in GRADLE_BOOT.finditer(text):
        yield from by_boot(text, match[1] or match[2])
    for match in GRADLE_SPRING_KAFKA.finditer(text):
        yield from by_framework("spring-kafka", text, match[1])


def read_catalog(text: str) -> Iterator[Said]:
    """Yield the same out of Gradle's catalog of versions."""
    catalog = tomllib.loads(text)
    versions = catalog.get("versions", {})
    for library in catalog.get("libraries", {}).values():
        number = catalog_version(library, versions)
        if module_of(library) == "org.apache.kafka:kafka-clients" and is_number(number):
            yield Said("java", parse(NUMBER.findall(number)[0]), line_of(text, number))
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
