"""The idempotent POST: each entry has a key of its own, and each request one derived from them."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import NamedTuple

from pydantic_core import from_json, to_json

from contract.audit import AuditBody
from contract.names import SUBSCRIBER
from contract.trace import PARENT_HEADER, STATE_HEADER, Trace
from service.ids import derive
from service.outage import OutageError
from service.record import Message, Record, clean
from service.refusals import Cause
from service.request import Receiver, Response, send
from service.rule import audit_body

ACCEPTED = {200, 201}
REFUSED = {400, 413, 422}  # the same bytes again will be refused again
NOT_YET = {404, 409, 425}  # of a single entry: it may be taken later
REASON_LIMIT = 500

# The names that a refusal may begin with.
FIELDS = {"Idempotency-Key", *AuditBody.__annotations__}


class Entry(NamedTuple):
    """A message that the audit receiver has not yet answered for."""

    message: Message
    outcome: str


class AuditItem(NamedTuple):
    """An entry as it is sent: a retry sends the same key and the same bytes."""

    message_id: str
    idempotency_key: str
    body: AuditBody
    record: Record  # that it is about
    trace: Trace | None = None  # beside the body, so that the key belongs to the same bytes


class Failure(NamedTuple):
    """An item that the receiver has not taken, and its answer."""

    item: AuditItem
    status: int
    detail: str

    @property
    def reason(self) -> str:
        """Return the answer as people read it."""
        return f"{self.status} {self.detail}"

    @property
    def is_refused(self) -> bool:
        """Return whether the same again would be refused again."""
        return self.status in REFUSED

    @property
    def cause(self) -> Cause:
        """Return what refused it: status and field, because the rest may differ for each item."""
        code = str(self.status)
        first_words, _, _ = self.detail.partition(":")
        name = first_words if first_words in FIELDS else ""
        return Cause("audit", code, name)


# By message id: None for an entry that the receiver has taken.
Answers = dict[str, Failure | None]

Post = Callable[[Sequence[AuditItem]], Answers]


class RefusedRequestError(Exception):
    """The receiver refuses a request as a whole, because of at least one of its items."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.detail = read_detail(response)
        super().__init__(self.status, self.detail)

    def of(self, item: AuditItem) -> Failure:
        """Return the failure of the only item of the request."""
        return Failure(item, self.status, self.detail)


def make_item(entry: Entry, subscriber: str = SUBSCRIBER, *, is_traced: bool = True) -> AuditItem:
    """Return what the receiver is sent about a message."""
    message = entry.message
    key = derive_key(message.message_id, subscriber)
    body = audit_body(message, entry.outcome, subscriber)
    trace = message.trace if is_traced else None
    return AuditItem(message.message_id, key, body, message.record, trace)


def derive_key(message_id: str, subscriber: str) -> str:
    """Return the idempotency key of the entry about a message."""
    return derive("audit", message_id, subscriber)


def post_entries(
    post: Post, subscriber: str, entries: Sequence[Entry], *, is_traced: bool = True
) -> Answers:
    """Post what the receiver is sent about these messages."""
    items = [make_item(entry, subscriber, is_traced=is_traced) for entry in entries]
    return post(items)


def post_all(
    items: Sequence[AuditItem],
    post: Post,
    at_once: int,
    may_fail: int,
    keep_polling: Callable[[], None],
) -> Answers:
    """Return an answer for each item; a request that is refused is repeated in halves.

    Once more items have failed than may, the rest is left without an answer: they would fail too.
    """
    answers: Answers = {}
    starts = range(0, len(items), at_once)
    requests = [items[start : start + at_once] for start in reversed(starts)]
    while requests and count_failures(answers) <= may_fail:
        some = requests.pop()
        try:
            answers |= post(some)
        except RefusedRequestError as refusal:
            middle = len(some) // 2
            first_half, second_half = some[:middle], some[middle:]
            if first_half:
                requests += [second_half, first_half]
            else:
                [item] = some
                answers[item.message_id] = refusal.of(item)
        keep_polling()
    return answers


def count_failures(answers: Answers) -> int:
    """Return how many items the receiver has not taken."""
    failures = [failure for failure in answers.values() if failure]
    return len(failures)


def post_batch(receiver: Receiver, items: Sequence[AuditItem]) -> Answers:
    """Send all items in one request, and return the answer for each."""
    sent = []
    for item in items:
        pair = {"idempotency_key": item.idempotency_key, "body": item.body}
        sent.append(pair | trace_headers(item.trace))
    body = to_json({"items": sent})
    digest = sha256(body).hexdigest()
    key = derive("audit-request", digest)
    response = send(receiver, "/audit-entries/batch", key, body)
    if response.status in REFUSED:
        raise RefusedRequestError(response)
    if response.status != 200:  # 401, 403 and 404 too: until they are put right nothing is skipped
        raise OutageError(f"audit receiver: {response.status}", response.retry_after)
    answers: Answers = {}
    try:
        answered = from_json(response.content)["items"]
        of_key = {answer["idempotency_key"]: answer for answer in answered}
        for item in items:
            answer = of_key[item.idempotency_key]
            status = answer["status"]
            detail = answer["body"].get("detail", "")
            answers[item.message_id] = judge(item, status, str(detail))
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise OutageError("audit receiver: not an answer for each entry") from error
    return answers


def post_single(receiver: Receiver, items: Sequence[AuditItem]) -> Answers:
    """Send the only item with its key as header, as a receiver wants it that knows no batches."""
    [item] = items
    body = to_json(item.body)
    traced = trace_headers(item.trace)
    response = send(receiver, "/audit-entries", item.idempotency_key, body, traced)
    detail = read_detail(response)
    answer = judge(item, response.status, detail, response.retry_after)
    return {item.message_id: answer}


def trace_headers(trace: Trace | None) -> dict[str, str]:
    """Return a trace under the names of its headers, as an entry of a batch has it too."""
    if trace is None:
        return {}
    headers = {PARENT_HEADER: trace.parent}
    if trace.state:
        headers[STATE_HEADER] = trace.state
    return headers


def judge(item: AuditItem, status: int, detail: str, retry_after: float = 0) -> Failure | None:
    """Return None for an item that was taken, and else why not, unless that is an outage."""
    if status in ACCEPTED:
        return None
    if status in REFUSED | NOT_YET:
        return Failure(item, status, clean(detail[:REASON_LIMIT]))
    raise OutageError(f"audit receiver: {status} for an entry", retry_after)


def read_detail(response: Response) -> str:
    """Return what an answer says is wrong: the detail of a problem, or else its text."""
    try:
        detail = str(from_json(response.content)["detail"])
    except (ValueError, TypeError, LookupError):
        start = response.content[:REASON_LIMIT]
        detail = start.decode(errors="replace")
    return clean(detail[:REASON_LIMIT])
