"""Runs every check against a receiver, and says what is not as it must be."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import requests
from urllib3.exceptions import HTTPError

from contract.audit import OUTCOMES
from ops.conform.checks import CHECKS, Result
from ops.conform.exchange import PLACE, Receiver
from ops.stack.supervisor import StackError

# An entry as the audit receiver of this house takes it.
ENTRY = {
    "message_id": PLACE,
    "order_id": PLACE,
    "outcome": OUTCOMES[0],
    "fulfillment_id": PLACE,
    "total": "1.00",
}


def read_body(file: Path | None) -> str:
    """Return what is sent; refuse a file that could not be sent twice as two requests."""
    if file is None:
        return json.dumps(ENTRY)
    text = file.read_text()
    if PLACE not in text:
        raise StackError(f"{file}: put {PLACE} where an id belongs that nobody has used")
    try:
        body = json.loads(text)
    except ValueError as error:
        raise StackError(f"{file} is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise StackError(f"{file} holds no object")
    return text


def read_headers(given: Sequence[str]) -> dict[str, str]:
    """Return headers as they were typed, such as 'Authorization: Bearer ...'."""
    headers = {}
    for line in given:
        name, separator, value = line.partition(":")
        if not separator:
            raise StackError(f"{line!r} is no header: give one such as 'Authorization: Bearer x'")
        headers[name.strip()] = value.strip()
    return headers


def conform(receiver: Receiver) -> Iterator[Result]:
    """Yield the result of each check; a receiver that does not answer is an error.

    What no option allows to be checked says so: it is neither right nor wrong.
    """
    for check in CHECKS:
        missing = check.find_missing(receiver)
        if missing:
            yield Result(check.name, check.claim, seen="", missing=missing)
            continue
        try:
            seen = check.find(receiver)
        except (requests.RequestException, HTTPError, OSError) as error:
            kind = type(error).__name__
            raise StackError(f"{receiver.url} does not answer ({check.name}): {kind}") from None
        yield Result(check.name, check.claim, seen)
        if check.name == CHECKS[0].name and seen:
            return  # the others would say the same


def lines(results: Sequence[Result]) -> Iterator[str]:
    """Yield a line for each check, and the verdict."""
    for result in results:
        yield f"{mark(result)}  {result.name:<12} {result.claim}"
        if result.missing:
            yield f"      {'':<12} not checked: give {result.missing}"
        if not result.ok:
            yield f"      {'':<12} {result.seen}"
    failed = [result.name for result in results if not result.ok]
    unchecked = [result.name for result in results if result.missing]
    verdict = f"not idempotent: {', '.join(failed)}" if failed else "conforms"
    rest = f"; not checked: {', '.join(unchecked)}" if unchecked else ""
    yield f"verdict: {verdict}{rest}"


def mark(result: Result) -> str:
    """Return what stands before a line of the report."""
    if result.missing:
        return "-   "
    return "ok  " if result.ok else "FAIL"


def as_json(results: Sequence[Result]) -> list[Mapping[str, object]]:
    """Return the same for programs."""
    return [
        {**result._asdict(), "ok": result.ok, "checked": not result.missing} for result in results
    ]
