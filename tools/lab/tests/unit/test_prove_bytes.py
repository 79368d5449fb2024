"""Record batches made by hand: what the proof reads in them, and what it must not miss."""

from lab.prove.batches import CONTROL, HEADER, NOBODY, Batch, find_writers, read_batches


def batch(
    first: int, count: int = 1, who: tuple[int, int] = (7, 0), sequence: int = 0, flags: int = 0
) -> bytes:
    """Return one batch as a topic stores it; its records do not matter to a header."""
    records = b"r" * (10 * count)
    size = HEADER.size - 12 + len(records)
    return (
        HEADER.pack(first, size, 0, 2, 0, flags, count - 1, 1000, 2000, *who, sequence, count)
        + records
    )


def test_each_batch_says_who_wrote_it() -> None:
    """Offsets, producer id, epoch, sequence and time come out of the bytes as they went in."""
    found = list(read_batches(batch(10, 3, (7, 1), 5) + batch(13, 1, (8, 0), 0)))
    assert found == [
        Batch(10, 12, 7, 1, 5, control=False, written=2000),
        Batch(13, 13, 8, 0, 0, control=False, written=2000),
    ]


def test_a_last_batch_that_was_cut_off_is_left_for_the_next_fetch() -> None:
    """Wherever a broker cuts its answer, whole batches are read and nothing of a half one is."""
    first, second = batch(0, 2), batch(2, 2, sequence=2)
    for end in range(len(second)):
        cut_off = second[:end]
        assert first_offsets(first + cut_off) == [0]
    assert first_offsets(first + second) == [0, 2]


def first_offsets(data: bytes) -> list[int]:
    """Return where each batch that is whole begins."""
    return [found.first for found in read_batches(data)]


def test_sequences_without_a_gap_are_one_writer_with_nothing_against_it() -> None:
    """Batches of several sizes follow one another, also where reading began in the middle."""
    found = find_writers(
        read_batches(batch(0, 3, sequence=40) + batch(3, 1, sequence=43) + batch(4, 2, sequence=44))
    )
    assert [(writer.batches, writer.records, writer.gaps) for writer in found.values()] == [
        (3, 6, [])
    ]


def test_after_the_last_number_a_sequence_begins_again_at_nought() -> None:
    """2147483647 is followed by 0, within a batch and between two."""
    last = 2**31 - 1
    assert not find_writers(read_batches(batch(0, 1, sequence=last) + batch(1, 1, sequence=0)))[
        7, 0
    ].gaps
    assert not find_writers(read_batches(batch(0, 3, sequence=last) + batch(3, 1, sequence=2)))[
        7, 0
    ].gaps


def test_a_gap_in_a_sequence_is_reported_with_its_offset() -> None:
    """What was skipped and what came twice: with idempotence neither can be; both are found."""
    data = batch(0, 2) + batch(2, 1, sequence=3) + batch(3, 1, sequence=3) + batch(4, 1, sequence=4)
    assert find_writers(read_batches(data))[7, 0].gaps == [
        "offset 2 has sequence 3, 2 was due",
        "offset 3 has sequence 3, 4 was due",
    ]


def test_producer_ids_and_epochs_have_sequences_of_their_own() -> None:
    """Two producers in turn and a producer that was given a new epoch leave no gaps."""
    own, other, other_later = (7, 0), (8, 0), (8, 1)
    batches = [
        batch(0, who=own),
        batch(1, who=other),
        batch(2, who=own, sequence=1),
        batch(3, who=other, sequence=1),
        batch(4, who=other_later),
    ]
    found = find_writers(read_batches(b"".join(batches)))
    counts = {who: writer.batches for who, writer in found.items()}
    gaps = [gap for writer in found.values() for gap in writer.gaps]
    assert counts == {own: 2, other: 2, other_later: 1}
    assert gaps == []


def test_a_batch_without_producer_id_epoch_or_sequence_is_nobodys() -> None:
    """Only all three together let a broker tell a copy from a new batch."""
    without_id = batch(0, 2, NOBODY, -1)
    without_epoch = batch(2, 1, (7, -1))
    without_sequence = batch(3, 1, sequence=-1)
    data = without_id + without_epoch + without_sequence + batch(4)
    found = find_writers(read_batches(data))
    nobody = found[NOBODY]
    assert nobody.batches == 3
    assert nobody.records == 4
    assert nobody.first == 0
    assert not nobody.gaps
    assert found[7, 0].batches == 1


def test_a_batch_of_before_there_were_producer_ids_is_nobodys() -> None:
    """Formats 0 and 1 have no room for one."""
    old = (5).to_bytes(8) + (20).to_bytes(4) + bytes(4) + b"\x01" + bytes(15)
    assert [(found.first, found.producer_id) for found in read_batches(old + batch(6))] == [
        (5, -1),
        (6, 7),
    ]


def test_the_marks_of_transactions_are_not_batches_of_a_producer() -> None:
    """A commit carries the producer's id and no sequence: neither a gap nor a batch without one."""
    data = batch(0, 2) + batch(2, 1, sequence=-1, flags=CONTROL | 0x10) + batch(3, 1, sequence=2)
    assert {
        who: (writer.batches, writer.gaps)
        for who, writer in find_writers(read_batches(data)).items()
    } == {(7, 0): (2, [])}
