"""Every setting of the aggregator, with its default and the reason for the number."""

from pydantic_settings import BaseSettings

from extras.aggregator.names import INPUT_TOPIC
from service.settings import Settings as ServiceSettings


class Settings(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    aggregator_group_id: str = "aggregator"  # also the subscriber whose tracking it writes
    aggregator_host: str = "127.0.0.1"
    aggregator_port: int = 8082
    replay_seconds: float = 5  # how often overdue groups are looked for, with one query
    open_too_long_seconds: float = 180  # a group that is open for longer is read again and logged

    def service(self, topic: str = INPUT_TOPIC) -> ServiceSettings:
        """Return the service's settings, but with this topic, group and port."""
        return ServiceSettings(
            input_topic=topic,
            group_id=self.aggregator_group_id,
            subscriber=self.aggregator_group_id,
            service_host=self.aggregator_host,
            service_port=self.aggregator_port,
        )
