"""python -m connect STEP: from a bare cluster to a running pipeline, one step after the other."""

import argparse

from confluent_kafka import KafkaException
from psycopg import OperationalError
from requests import RequestException

from connect.acls import check_acls, make_acls
from connect.files import SettingsError
from connect.register import register
from connect.settings import Settings
from connect.topics import make_topics
from connect.users import make_users

STEPS = {
    "users": make_users,
    "topics": make_topics,
    "acls": make_acls,
    "check-acls": check_acls,
    "register": register,
}


def main() -> None:
    """Do one step, and say in the last line what was done or what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m connect", description=__doc__)
    parser.add_argument("step", choices=[*STEPS])
    step = parser.parse_args().step
    try:
        done = STEPS[step](Settings())
    except (SettingsError, KafkaException, RequestException, OperationalError) as failure:
        raise SystemExit(f"{step}: {failure}") from failure
    summary = ", ".join(done) or "all there"
    print(f"{step}: {summary}")


if __name__ == "__main__":
    main()
