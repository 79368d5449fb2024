"""The laws. Each runs a rule through a story, and says in a sentence where the rule does not obey.

A rule decides what it likes. But it runs where messages come again, where workers die and where
others work beside it, so whatever it decides has to come out the same.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Literal, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.events import ACCEPTED, DEAD_LETTER
from contract.samples import Change, Sample, conflict
from service.handler import Steps
from tests.laws.deliveries import (
    Delivery,
    by_key,
    deliver,
    make_good,
    messages_among,
    records_of,
)
from tests.laws.workers import held_open, hold_first_write, working
from tests.laws.world import Begin, LawBrokenError, Rows, World, differences

Given = TypeVar("Given")
Done = TypeVar("Done")

HISTORIES = 20  # that are tried, always the same
CROSSING = 12  # pairs of rivals that two workers write from both ends
INVALID_KEPT = 2  # of the samples, where a few will do
LATER = 1_000  # an offset behind those of the samples


def every_outcome_publishes_exactly_its_events(
    begin: Begin, deliveries: Sequence[Delivery]
) -> None:
    """Each sample becomes what it says, with one deciding event and each that follows it."""
    with begin() as world:
        for delivery in deliveries:
            try:
                world.handle([delivery.record])
            except LawBrokenError as broken:
                raise LawBrokenError(f"{delivery}: {broken}") from None
            check_outcome(world, delivery)


def check_outcome(world: World, delivery: Delivery) -> None:
    """Compare what became of a sample with what the sample says."""
    sample = delivery.sample
    reason = world.letter_at(delivery.record)
    if sample.expected == DEAD_LETTER:
        check_letter(delivery, reason)
        return
    if reason is not None:
        raise LawBrokenError(
            f"{delivery} should be {sample.expected} and is a dead letter: {reason}. Does the"
            " table of your migration take what rule.sql writes, and may `app` write it?"
        )
    published = world.events_of(sample.message_id)
    wanted = [
        event.event_type
        for event in world.rule.events
        if sample.expected in (event.outcome, event.follows)
    ]
    types = [event_type for event_type, _ in published]
    if Counter(types) != Counter(wanted):
        raise LawBrokenError(
            f"{delivery} should be {sample.expected}, with the events {say(wanted)}, and has"
            f" {say(types)}. Which branch of `decision` in rule.sql does it pass, and do EVENTS in"
            " contract/events.py say the same?"
        )
    reasons = {reason or "" for event_type, reason in published if event_type == wanted[0]}
    if sample.expected != ACCEPTED and reasons != {sample.reason}:
        raise LawBrokenError(
            f"{delivery} should be {sample.expected} for {sample.reason}, and is for"
            f" {say(reasons)}. Does rule.sql look at the reasons in the sequence that you mean?"
        )


def check_letter(delivery: Delivery, reason: str | None) -> None:
    """Compare why a record is a dead letter with what its sample says."""
    if reason is None or not reason.startswith(delivery.sample.reason):
        raise LawBrokenError(
            f"{delivery} should be a dead letter because of “{delivery.sample.reason}…”, and"
            f" {'is none' if reason is None else f'is one because of “{reason}”'}. Does the"
            " contract refuse it, and does contract/samples.py name the right field?"
        )


def say(words: Iterable[str]) -> str:
    """Return words as one names them in a sentence."""
    return " and ".join(words) or "nothing"


def what_is_no_message_leaves_a_dead_letter_alone(
    begin: Begin, deliveries: Sequence[Delivery]
) -> None:
    """What the rule does not know is refused: no row of the business, and no event but one."""
    with begin() as world:
        world.handle(records_of(messages_among(deliveries)))
        for delivery in deliveries:
            if delivery.sample.kind == "invalid":
                before = world.everything()
                world.handle([delivery.record])
                hint = "Does a part of rule.sql read `item` without joining `fresh`?"
                expect_letter_alone(before, world.everything(), f"{delivery}", hint)


def expect_letter_alone(before: Rows, after: Rows, what: str, hint: str) -> None:
    """Assert that a record has left one row in dead_letter and one in outbox, and nothing else."""
    allowed = ("table dead_letter", "table outbox")
    added = {table: after[table] - before[table] for table in allowed}
    counts = [rows.total() for rows in added.values()]
    rest = {table: after[table] - added.get(table, Counter()) for table in after}
    changed = differences(before, rest)
    if counts != [1, 1] or changed:
        raise LawBrokenError(
            f"{what} should leave one dead letter with its event and nothing else, and left"
            f" {counts[0]} with {counts[1]}{f', and changed: {changed}' if changed else ''}. {hint}"
        )


def a_message_that_comes_again_changes_nothing(
    begin: Begin, deliveries: Sequence[Delivery]
) -> None:
    """Each record alone, and then all of them at once: no row, no event and no request is new."""
    with begin() as world:
        world.handle(records_of(deliveries))
        before = world.everything()
        for again in (*([delivery] for delivery in deliveries), deliveries):
            world.handle(records_of(again))
            changed = differences(before, world.everything())
            if changed:
                what = f"{again[0]}" if len(again) == 1 else "all samples at once"
                raise LawBrokenError(
                    f"{what}, handled again, changed {changed}. Does each part of rule.sql that"
                    " writes join `fresh`?"
                )


def a_message_that_tracking_forgot_changes_nothing(
    begin: Begin, deliveries: Sequence[Delivery]
) -> None:
    """The business's own rows know it, long after tracking row and events were deleted."""
    with begin() as world:
        world.handle(records_of(deliveries))
        world.forget()
        before = without_tracking(world.everything())
        for delivery in deliveries:
            world.handle([delivery.record])
            changed = differences(before, without_tracking(world.everything()))
            if changed:
                raise LawBrokenError(
                    f"{delivery}, handled again when tracking had forgotten it, changed {changed}."
                    " Does each outcome of rule.sql leave a row with message_id and value_sha256,"
                    " and does known.sql find it?"
                )


def without_tracking(rows: Rows) -> Rows:
    """Leave out the table that remembers a message again."""
    return {table: found for table, found in rows.items() if table != "table tracking"}


def another_value_under_a_known_id_is_a_conflict(
    begin: Begin, deliveries: Sequence[Delivery], *, forgotten: bool
) -> None:
    """It becomes a dead letter and changes nothing, whether tracking remembers the message or not.

    Then only the business's own rows tell that the value is another.
    """
    messages = messages_among(deliveries)
    others = deliver([conflict(message.sample) for message in messages], LATER)
    hint = "Does known.sql return the value_sha256 that rule.sql has written for the message?"
    with begin() as world:
        world.handle(records_of(deliveries))
        if forgotten:
            world.forget()
        for message, other in zip(messages, others, strict=True):
            before = world.everything()
            world.handle([other.record])
            what = f"another value under the id of {message}"
            if forgotten:
                what += ", which tracking had forgotten,"
            expect_letter_alone(before, world.everything(), what, hint)


def of_two_rivals_one_wins(begin: Begin, make_rival: Change) -> None:
    """Whichever comes first, in one batch or in two: one is accepted and the other is not."""
    good = make_good(0)
    pair = [good, make_rival(good)]
    for samples in (pair, pair[::-1]):
        first, second = deliver(samples)
        for batches in ([[first, second]], [[first], [second]]):
            with begin() as world:
                for batch in batches:
                    world.handle(records_of(batch))
                how = "in one batch" if len(batches) == 1 else "in two batches"
                expect_one_winner(world, samples, how)


def expect_one_winner(world: World, samples: Sequence[Sample], how: str) -> None:
    """Assert that of these messages one is accepted, and the other decided otherwise."""
    outcomes = world.rule.outcomes()
    became = []
    for sample in samples:
        published = world.events_of(sample.message_id)
        decided = [outcomes[event_type] for event_type, _ in published if event_type in outcomes]
        became.append(say(decided))
    winners = became.count(ACCEPTED)
    if winners != 1 or "nothing" in became:
        one, other = samples
        raise LawBrokenError(
            f"of the messages {one.message_id} and {other.message_id}, both about {one.order_id},"
            f" {how}, one should be {ACCEPTED}, and {winners} are: they became {say(became)}. Does"
            " a primary key of the table decide who wins, and is the winner looked up as"
            " others have committed it? If these are no rivals in your domain, say so in RIVALS of"
            " tests/laws/test_rule.py."
        )


Moment = Literal["before", "within", "after"]


class CrashError(Exception):
    """The worker dies here."""


def a_crash_at_any_step_ends_the_same(begin: Begin, deliveries: Sequence[Delivery]) -> None:
    """Killed before or after each step, or within the write, and then redelivered as a whole."""
    records = records_of(deliveries)
    with begin() as world:
        calls: list[str] = []
        world.handle(records, watch(world, calls))
        expected = world.result()
    for number, step in enumerate(calls):
        moments: list[Moment] = ["before", "after"]
        if step == "write":
            moments.insert(1, "within")
        for moment in moments:
            with begin() as world:
                with suppress(CrashError):
                    world.handle(records, watch(world, [], number, moment))
                world.handle(records)
                changed = differences(expected, world.result())
            if changed:
                raise LawBrokenError(
                    f"after a crash {moment} step {number + 1} of the batch ({step}) and a"
                    f" redelivery the result is another: {changed}. Does rule.py or rule.sql take"
                    " something that a rollback does not give back, such as a number of a sequence?"
                )


def watch(
    world: World, calls: list[str], crash_at: int | None = None, moment: Moment = "before"
) -> Steps:
    """Return the steps, which note their calls, and one of which crashes if that is asked for."""
    steps = world.steps()

    def watched(
        name: str, step: Callable[[Given], Done], within: Callable[[Given], object] | None = None
    ) -> Callable[[Given], Done]:
        def call(given: Given) -> Done:
            crashes = len(calls) == crash_at
            calls.append(name)
            if crashes and moment == "before":
                raise CrashError
            if crashes and moment == "within" and within:
                within(given)
                raise CrashError
            done = step(given)
            if crashes:
                raise CrashError
            return done

        return call

    return steps._replace(
        write=watched("write", steps.write, within=world.write_and_roll_back),
        post=watched("post", steps.post),
        mark=watched("mark", steps.mark),
        commit=watched("commit", steps.commit),
    )


def the_same_records_leave_the_same_bytes(begin: Begin, deliveries: Sequence[Delivery]) -> None:
    """Replayed on an empty database, every id, event and row is the same."""
    results = []
    for _ in range(2):
        with begin() as world:
            world.handle(records_of(deliveries))
            results.append(world.result())
    changed = differences(*results)
    if changed:
        raise LawBrokenError(
            f"the same records on an empty database left something else the second time: {changed}."
            " Does something in rule.py or rule.sql come from chance or from a clock? Derive it"
            " from the message id (service/ids.py)."
        )


def any_sequence_and_any_batches_end_the_same(begin: Begin, deliveries: Sequence[Delivery]) -> None:
    """However the keys are interleaved and the records split: Kafka keeps the sequence of a key."""
    keys = by_key(leave_out_most_invalid(deliveries))
    with begin() as world:
        world.handle(records_of([delivery for key in keys for delivery in key]))
        expected = world.result()

    @settings(
        max_examples=HISTORIES,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=[*HealthCheck],
    )
    @given(histories(keys))
    def ends_the_same(batches: list[list[Delivery]]) -> None:
        with begin() as world:
            for batch in batches:
                world.handle(records_of(batch))
            changed = differences(expected, world.result())
        if changed:
            told = "; ".join(", ".join(map(str, batch)) for batch in batches)
            raise LawBrokenError(
                f"in another sequence or other batches ({told}) the result is another: {changed}."
                " Does rule.sql use `n`, count what came before, or see the rest of the batch?"
            )

    ends_the_same()


def leave_out_most_invalid(deliveries: Sequence[Delivery]) -> list[Delivery]:
    """Keep a few invalid samples, with the good ones before them: the others tell nothing more."""
    invalid = [delivery for delivery in deliveries if delivery.sample.kind == "invalid"]
    left_out = {delivery.sample.order_id for delivery in invalid[INVALID_KEPT:]}
    return [delivery for delivery in deliveries if delivery.sample.order_id not in left_out]


@st.composite
def histories(draw: st.DrawFn, keys: Sequence[Sequence[Delivery]]) -> list[list[Delivery]]:
    """Interleave the keys, each in its own sequence, and split what comes of it into batches."""
    turns = [number for number, key in enumerate(keys) for _ in key]
    waiting = [iter(key) for key in keys]
    batches: list[list[Delivery]] = [[]]
    for turn in draw(st.permutations(turns)):
        is_split: bool = draw(st.booleans())
        if is_split and batches[-1]:
            batches.append([])
        batches[-1].append(next(waiting[turn]))
    return batches


def two_workers_on_one_batch_end_as_one(begin: Begin, deliveries: Sequence[Delivery]) -> None:
    """The second has the same batch while the first has not committed, also from its other end."""
    records = records_of(deliveries)
    with begin() as world:
        world.handle(records)
        expected = world.result()
    from_the_end = [delivery for key in reversed(by_key(deliveries)) for delivery in key]
    for others in (records, records_of(from_the_end)):
        with begin() as world:
            with working(world, others) as [second]:
                steps = hold_first_write(world, second.start_and_wait)
                world.handle(records, steps)
            changed = differences(expected, world.result())
        if changed:
            raise LawBrokenError(
                f"two workers with the same batch at once left something else than one: {changed}."
                " Does each part of rule.sql that writes join `fresh`?"
            )


def two_workers_with_rivals_do_not_wait_for_each_other(begin: Begin, make_rival: Change) -> None:
    """Each writes messages that are rivals of the other's, from the other end: nobody deadlocks.

    A third transaction has the one in the middle, until both have come as far as they can.
    """
    goods = [make_good(number) for number in range(CROSSING)]
    others = [make_rival(good) for good in goods]
    middle = goods[CROSSING // 2]._replace(message_id="held")
    upwards = records_of(deliver(goods))
    downwards = records_of(deliver(others[::-1], CROSSING))
    with begin() as world:
        with (
            working(world, upwards, downwards) as workers,
            held_open(world, records_of(deliver([middle], LATER))),
        ):
            for worker in workers:
                worker.start_and_wait()
        for pair in zip(goods, others, strict=True):
            expect_one_winner(world, pair, "at two workers")
