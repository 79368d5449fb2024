"""python -m connect topics | register: the two steps between a bare cluster and a running pipeline."""

import argparse

from confluent_kafka import KafkaException
from psycopg import OperationalError
from requests import RequestException

from connect.register import register
from connect.settings import Settings
from connect.topics import make_topics


def main() -> None:
    """Do one step, and say in the last line what was done or what stands in the way."""
    parser = argparse.ArgumentParser(prog="python -m connect", description=__doc__)
    parser.add_argument("step", choices=["topics", "register"])
    step = parser.parse_args().step
    try:
        done = (make_topics if step == "topics" else register)(Settings())
    except (KafkaException, RequestException, OperationalError) as failure:
        raise SystemExit(f"{step}: {failure}") from failure
    print(f"{step}: {', '.join(done) or 'all there'}")


if __name__ == "__main__":
    main()
