"""librdkafka itself, through ctypes: what a live handle really has, or why there is none."""

import ctypes
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import confluent_kafka

TEXT = 512  # bytes of an error, or of a value
TOPIC = [
    "request.required.acks",
    "message.timeout.ms",
    "queuing.strategy",
    "partitioner",
    "request.timeout.ms",
]


@cache
def library() -> ctypes.CDLL:
    """The library that came with the wheel: beside the package on Linux, inside it on macOS."""
    package = Path(confluent_kafka.__file__).parent
    places = [
        *package.parent.glob("confluent_kafka.libs/librdkafka*.so*"),
        *package.glob(".dylibs/librdkafka*.dylib"),
    ]
    found = ctypes.CDLL(str(places[0]))
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_conf"):
        getattr(found, name).restype = ctypes.c_void_p
    found.rd_kafka_conf_dump.restype = ctypes.POINTER(ctypes.c_char_p)
    return found


def effective(settings: Mapping[str, str]) -> dict[str, str] | str:
    """Everything that a producer with these settings runs with; or why it does not start.

    Without any setting of a topic the library adjusts these only at the first message; a setting
    that changes nothing makes it do so at once.
    """
    started = start(settings)
    adjusted = start({**settings, "produce.offset.report": "false"})
    return started if isinstance(started, str) or isinstance(adjusted, str) else adjusted


def start(settings: Mapping[str, str]) -> dict[str, str] | str:
    """What a handle has, right after it was made; or why there is none."""
    kafka, error = library(), ctypes.create_string_buffer(TEXT)
    conf = ctypes.c_void_p(kafka.rd_kafka_conf_new())
    for name, value in settings.items():
        if kafka.rd_kafka_conf_set(conf, name.encode(), value.encode(), error, TEXT):
            kafka.rd_kafka_conf_destroy(conf)
            return error.value.decode()
    handle = ctypes.c_void_p(kafka.rd_kafka_new(0, conf, error, TEXT))
    if not handle:
        kafka.rd_kafka_conf_destroy(conf)
        return error.value.decode()
    found = dumped(ctypes.c_void_p(kafka.rd_kafka_conf(handle)))
    of_topics = {name: got(kafka.rd_kafka_conf(handle), name) for name in TOPIC}
    found |= {name: value for name, value in of_topics.items() if value is not None}
    kafka.rd_kafka_destroy_flags(handle, 8)  # at once: there is nothing to deliver
    return found


def dumped(conf: ctypes.c_void_p) -> dict[str, str]:
    """Names and values, as the library writes them."""
    count = ctypes.c_size_t()
    pairs = library().rd_kafka_conf_dump(conf, ctypes.byref(count))
    texts = [(pairs[place] or b"").decode() for place in range(count.value)]
    library().rd_kafka_conf_dump_free(pairs, count)
    return dict(zip(texts[::2], texts[1::2], strict=True))


def got(conf: int, name: str) -> str | None:
    """Return one value; a topic's are not in the dump, and a copy of them loses adjustments."""
    value, size = ctypes.create_string_buffer(TEXT), ctypes.c_size_t(TEXT)
    failed = library().rd_kafka_conf_get(
        ctypes.c_void_p(conf), name.encode(), value, ctypes.byref(size)
    )
    return None if failed else value.value.decode()
