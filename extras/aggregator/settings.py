"""Every setting of the aggregator, with its default and the reason for the number."""

from pydantic_settings import BaseSettings

from service.settings import Settings as ServiceSettings


class Settings(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    batch_topic: str = "batch.events"
    aggregator_group_id: str = (
        "aggregator"  # its consumer group, and the subscriber whose tracking it writes
    )
    aggregator_host: str = "127.0.0.1"
    aggregator_port: int = 8082
    replay_seconds: float = (
        5  # how often the replayer looks for what is left: one query that finds nothing
    )
    open_too_long_seconds: float = 180  # a group that is open for longer is read again, and told of

    def service(self) -> ServiceSettings:
        """Database, consumer and health as the service has them, under this topic, group and port."""
        return ServiceSettings(
            input_topic=self.batch_topic,
            group_id=self.aggregator_group_id,
            subscriber=self.aggregator_group_id,
            service_host=self.aggregator_host,
            service_port=self.aggregator_port,
        )
