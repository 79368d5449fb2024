"""The words by which a copy is renamed, and that this repository is written so that they fit."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from copying.words import TEMPLATE, Words, prose, refusals

ROOT = Path(__file__).parents[2]
PAYMENT = {
    "subject": "payment",
    "subjects": "payments",
    "effect": "booking",
    "effects": "bookings",
    "accepted": "booked",
    "accept": "book",
}
NOT_COPIED = (
    "tools/",
    "tests/copy/",
    "tests/unit/test_copy_",
    "docs/copy.md",
    "README.md",
    "CHANGELOG.md",
)
READABLE = {".py", ".md", ".sql", ".toml", ".yaml", ".yml", ".json", ".j2", ".properties", ".sh"}

# Places where "order" would mean a sequence.
SEQUENCE = re.compile(
    r"\bin (?:(?:their|its|the|any|this|that|what|whatever|whose|reverse|another|same) )*"
    r"order\b(?! id)"
    r"|\b(?:keep|keeps|kept|reverse|random|same|any other) (?:their |its )?order\b"
    r"|\bthe order (?:of|in which|that)\b|\bout of order\b|\border in which\b",
    re.IGNORECASE,
)


def words(**changes: str) -> Words:
    """Return the words of a copy for payments, with these changes."""
    chosen = PAYMENT | changes
    table = {old: chosen[question] for question, old in TEMPLATE.items()}
    return Words(table, "incoming.payments")


def written() -> Iterator[tuple[str, str]]:
    """Yield each text that a copy takes along, code aside, and where it is."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in listed.stdout.split():
        file = ROOT / name
        if name.startswith(NOT_COPIED) or file.suffix not in READABLE or not file.exists():
            continue
        text = file.read_text()
        if file.suffix == ".py":
            yield from ((f"{name}:{line}", text) for line, text in prose(text))
        else:
            yield name, text


def test_prose_says_sequence_where_it_means_one() -> None:
    """Wherever the word "order" is read, it is the subject, so that a copy may rename it."""
    found = [
        f"{place}: {match.group()}"
        for place, text in written()
        for match in SEQUENCE.finditer(re.sub(r"(?i)order by", "", text))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("an order", "a payment"),
        ("A fulfillment, or two fulfillments", "A booking, or two bookings"),
        ("ORDERS = OrderError(order_id)", "PAYMENTS = PaymentError(payment_id)"),
        (
            "select 1 from fulfillment order by order_id",
            "select 1 from booking order by payment_id",
        ),
        ("rows.orderBy('order_id')", "rows.orderBy('payment_id')"),
        ("the border is reordered, in disorder", "the border is reordered, in disorder"),
        ("test_an_order_is_a_thing", "test_a_payment_is_a_thing"),
        ("paint-order: stroke", "paint-order: stroke"),
        ("order.events/3 of fulfillment.events", "incoming.payments/3 of booking.events"),
        ("${INPUT_TOPIC:-order.events}", "${INPUT_TOPIC:-incoming.payments}"),
        (r"topic order\.events is", r"topic incoming\.payments is"),
        ("order-fulfilled", "payment-booked"),
    ],
)
def test_a_text_is_renamed(before: str, after: str) -> None:
    """Whole parts of names are replaced, in the same style; SQL's words and other words are not."""
    assert words().rename(before) == after


def test_an_article_fits_the_new_word() -> None:
    """An article before a renamed word follows its first letter."""
    renamed = words(effect="invoice").rename("A fulfillment of an order is a fulfillment")
    assert renamed == "An invoice of a payment is an invoice"


def test_names_of_a_program_are_found_by_the_tokenizer() -> None:
    """A name is renamed where a text of the same words is not; all else stays, byte for byte."""
    source = 'for line in order["lines"]:  # order by\n    print(f"{order} order by", by)\n'
    renamed = 'for line in payment["lines"]:  # order by\n    print(f"{payment} order by", by)\n'
    assert words().rename_python(source) == renamed


NAMES = {
    "order": {"a.py"},
    "order_id": {"a.py"},
    "record": {"b.py", "c.py"},
    "message_id": {"d.py"},
}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"subject": "record"}, "'record' is taken, by b.py, c.py: choose another"),
        ({"subject": "user"}, "'user' is reserved in SQL: choose another"),
        ({"accept": "yield"}, "'yield' is a word of Python's: choose another"),
        (
            {"subject": "message"},
            "'order_id' would become 'message_id', which is taken, by d.py: choose other words",
        ),
        (
            {"effect": "payment"},
            "'payment' is given for subject and effect: each needs a word of its own",
        ),
    ],
)
def test_a_word_that_is_taken_is_refused(changes: dict[str, str], sentence: str) -> None:
    """The refusal names the word and the files that use it for something else."""
    assert refusals(words(**changes), NAMES, []) == [sentence]


def test_other_words_are_not_refused() -> None:
    """What nobody uses is free, and so are the template's own words."""
    own = dict(zip(PAYMENT, TEMPLATE.values(), strict=True))
    assert refusals(words(), NAMES, ["contract/order.py"]) == []
    assert refusals(words(**own), NAMES, ["contract/order.py"]) == []


def test_a_file_that_is_there_is_not_renamed_over() -> None:
    """Two files of one name would be one: the words are refused."""
    [sentence] = refusals(words(), NAMES, ["contract/order.py", "contract/payment.py"])
    assert sentence.startswith("contract/order.py would become contract/payment.py")
