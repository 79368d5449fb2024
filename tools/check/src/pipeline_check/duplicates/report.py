"""What is said of a topic's repeats, for people and for programs."""

from typing import Any

from pipeline_check.duplicates.count import BY_APPLICATION, BY_CLIENT, OTHER_VALUE, Repeats

CURES = {
    BY_CLIENT: "an idempotent producer: enable.idempotence=true",
    BY_APPLICATION: "an idempotent consumer that keeps the ids that it has handled; an outbox where"
    " the application sends again after a rollback",
    OTHER_VALUE: "none: these are conflicts, of which somebody has to choose one",
}


def as_json(topic: str, repeats: Repeats) -> dict[str, Any]:
    """Return the shape that programs rely on."""
    return {
        "topic": topic,
        "records": repeats.records,
        "repeats": repeats.total,
        "standard_error": repeats.error,
        "without_id": repeats.without_id,
        "first_without_id": repeats.first_without_id,
        "kinds": dict(repeats.kinds),
        "apart": dict(repeats.times),
        "partition": dict(repeats.partitions),
        "longest_distance": repeats.longest_distance,
        "examples": repeats.examples,
    }


def as_lines(topic: str, repeats: Repeats) -> list[str]:
    """Return what people read: how many, by whom, how far apart, and what would help."""
    lines = [f"{topic}: {repeats.records:,} records, {share(repeats)} repeat an earlier one"]
    for kind, count in repeats.kinds.most_common():
        lines += [f"{count:>12,}  {kind}", f"{'':>14}would be gone with {CURES[kind]}"]
    if repeats.total:
        lines.append("how far apart:")
        lines += [f"{count:>12,}  {words}" for words, count in repeats.times.most_common()]
        lines += [
            f"{count:>12,}  in {words} partition"
            for words, count in repeats.partitions.most_common()
        ]
        lines.append(f"{repeats.longest_distance:>12,}  offsets at most, in one partition")
        lines += [f"  {each}" for each in repeats.examples]
    if repeats.without_id:
        places = ", ".join(repeats.first_without_id)
        lines.append(f"{repeats.without_id:,} records have no such id: {places}, …")
    return lines


def share(repeats: Repeats) -> str:
    """Return the number of repeats, with its error where it is an estimate."""
    if not repeats.level:
        return f"{repeats.total:,}"
    return f"about {repeats.total:,} (±{repeats.error:,}, of one in {repeats.weight} ids)"
