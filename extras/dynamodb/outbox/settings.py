"""Every setting of the service and of the relay, with its default and the reason for the number."""

from typing import Annotated, Literal, NoReturn

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings

from contract.names import INPUT_TOPIC
from service.logs import exit_with_error
from service.settings import Settings as ServiceSettings

Days = Annotated[float, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]
SECONDS_OF_A_DAY = 86_400


class Settings(BaseSettings):
    """Read from the environment, where boto3 also looks for AWS_DEFAULT_REGION and the keys."""

    kafka_bootstrap_servers: str = "127.0.0.1:9092"
    input_topic: str = INPUT_TOPIC
    tally_group_id: str = "tally"
    tally_topic: str = "tally.events"
    tally_dead_letter_topic: str = "tally-dead-letter.events"

    # "claim": an item for each message id. "number": no such item; the entity keeps the highest
    # number of each source, and what is not above it is dropped.
    dynamodb_dedup: Literal["claim", "number"] = "claim"
    dynamodb_url: str | None = None  # None: AWS's own
    dynamodb_timeout_seconds: Seconds = 2  # of one request; a record takes one or two
    dynamodb_retention_days: Days = (
        30  # of claims: above a topic's retention and the longest replay
    )
    tally_table: str = "tally"
    tally_claim_table: str = "tally-claim"
    tally_outbox_table: str = "tally-outbox"
    tally_shard_table: str = "tally-shard"
    # For so long `relay --scan` can send an event again: above the longest time without a relay.
    tally_outbox_days: Days = 7

    tally_host: str = "127.0.0.1"
    tally_port: int = 18085
    relay_host: str = "127.0.0.1"
    relay_port: int = 18086

    # After a crash another relay waits this long; too short a lease sends events twice.
    relay_lease_seconds: Seconds = 10
    relay_records: Annotated[int, Field(ge=1, le=1000)] = 500  # of one request; 1000 is AWS's limit
    relay_pause_seconds: Seconds = 0.5  # between two looks at a stream that has nothing new
    relay_delivery_seconds: Seconds = 10  # what the broker has not taken by then is sent again

    retry_first_seconds: Seconds = 0.1
    retry_cap_seconds: Seconds = 5  # an outage that ends is noticed within this long
    stop_seconds: float = 10
    log_level: str = "info"

    @property
    def is_numbered(self) -> bool:
        """Return whether a number of the publisher says what is new, in place of a claim."""
        return self.dynamodb_dedup == "number"

    def consumer(self) -> ServiceSettings:
        """Return the settings of the service's own consumer, for this topic and group."""
        return ServiceSettings(input_topic=self.input_topic, group_id=self.tally_group_id)


def load_settings() -> Settings:
    """Return the settings, or end the process with the first that is wrong."""
    try:
        settings = Settings()
        settings.consumer()
    except ValidationError as error:
        refuse(error)
    return settings


def refuse(error: ValidationError) -> NoReturn:
    """End the process with the name of a setting, its value and what it should be."""
    first, *_ = error.errors(include_url=False, include_context=False)
    name = "_".join(str(part) for part in first["loc"]).upper()
    if not name:  # about several of them: the text names each
        exit_with_error(first["msg"])
    exit_with_error(f"{name}={first['input']}: {first['msg']}")
