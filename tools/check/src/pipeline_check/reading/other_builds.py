"""Versions of the clients for JavaScript and Go: package.json, its lock, and go.mod."""

import json
import re
from collections.abc import Iterator

from pipeline_check.reading.python_builds import lowest_of
from pipeline_check.reading.said import NUMBER, Said, Version, line_at, parse

OF_NPM = {
    "kafkajs": "kafkajs",
    "node-rdkafka": "librdkafka",
    "@confluentinc/kafka-javascript": "librdkafka",
}
# The librdkafka of each line of node-rdkafka, from the version on that brought it.
OF_NODE_RDKAFKA: dict[Version, Version] = {
    (2, 0): (0, 11),
    (2, 7, 1): (1, 1),
    (2, 10): (1, 5),
    (2, 14): (2, 0),
    (2, 18): (2, 3),
}
OF_CONFLUENT: dict[Version, Version] = {(0, 1): (2, 5)}  # Confluent's began with this one
BRINGING = {"node-rdkafka": OF_NODE_RDKAFKA, "@confluentinc/kafka-javascript": OF_CONFLUENT}
NEWEST = 999  # a minor version: without a lock npm takes the newest one that a caret allows
OF_GO = {
    "github.com/IBM/sarama": "sarama",
    "github.com/Shopify/sarama": "sarama",
    "github.com/twmb/franz-go": "franz-go",
    "github.com/segmentio/kafka-go": "kafka-go",
    "github.com/confluentinc/confluent-kafka-go": "librdkafka",
}
REQUIRED = re.compile(
    r"^\s*(?:require\s+)?(?P<module>github\.com/[\w.-]+/[\w.-]+)(?:/v\d+)?\s+v(?P<number>\d[\d.]*)",
    re.MULTILINE,
)
REPLACED = re.compile(
    r"^\s*(?:replace\s+)?(?P<old>github\.com/[\w.-]+/[\w.-]+)\S*(?:\s+v\S+)?\s*=>\s*"
    r"(?P<module>github\.com/[\w.-]+/[\w.-]+)(?:/v\d+)?\s+v(?P<number>\d[\d.]*)",
    re.MULTILINE,
)


def read_package(text: str) -> Iterator[Said]:
    """Yield what a package.json asks for: a version, or a line of versions."""
    package = json.loads(text)
    for part in ("dependencies", "devDependencies", "peerDependencies"):
        asked = package.get(part, {})
        for name in OF_NPM:
            ranges = str(asked.get(name, ""))
            version = version_of_range(ranges)
            if version and ranges.startswith("^"):
                version = (version[0], NEWEST) if name in BRINGING else version
            if version:
                yield said_of_npm(name, version, text)


def version_of_range(ranges: str) -> Version | None:
    """Return the version that npm's range names: `^2.2.4`, `~2.2`, `2.x`, `npm:…` not at all."""
    if re.fullmatch(r"v?\d[\d.]*(\.x|\.\*)*([-+].*)?", ranges):
        return parse(NUMBER.findall(ranges)[0])
    return lowest_of(ranges)


def said_of_npm(name: str, version: Version, text: str) -> Said:
    """Return a version of a package, or of the library that it brings along."""
    lines = BRINGING.get(name)
    if lines:
        known = [line for line in lines if line <= version]
        version = lines[max(known)] if known else (0, 11)
    return Said(OF_NPM[name], version, line_at(text, text.find(f'"{name}"')))


def read_package_lock(text: str) -> Iterator[Said]:
    """Yield what npm's lock has chosen, in its old form and in its new one."""
    lock = json.loads(text)
    packages = lock.get("packages", {})
    for name in OF_NPM:
        chosen = packages.get(f"node_modules/{name}") or lock.get("dependencies", {}).get(name)
        number = NUMBER.match(str(chosen.get("version", ""))) if isinstance(chosen, dict) else None
        if number:
            found = said_of_npm(name, parse(number[0]), text)
            quoted = max(text.find(f'"node_modules/{name}"'), text.find(f'"{name}": {{'))
            yield found._replace(line=line_at(text, quoted))


def read_yarn_lock(text: str) -> Iterator[Said]:
    """Yield what yarn has chosen."""
    for name in OF_NPM:
        entry = re.search(
            rf'^"?{re.escape(name)}@[^\n]*:\n  version:? "?(\d[\d.]*)', text, re.MULTILINE
        )
        if entry:
            found = said_of_npm(name, parse(entry[1]), text)
            yield found._replace(line=line_at(text, entry.start()))


def read_go_mod(text: str) -> Iterator[Said]:
    """Yield what a go.mod requires; what it replaces with another version wins.

    The version in go.mod is what is built, so go.sum, which lists more, decides nothing.
    """
    for pattern in (REPLACED, REQUIRED):
        for match in pattern.finditer(text):
            client = OF_GO.get(match["module"])
            start = match.start("module")
            if client and "//" not in text[text.rfind("\n", 0, start) + 1 : start]:
                yield Said(client, parse(match["number"]), line_at(text, start))
