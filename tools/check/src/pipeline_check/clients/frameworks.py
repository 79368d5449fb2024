"""Java producers that a framework makes: it sets some things itself, before the user's settings."""

from collections.abc import Callable, Mapping

from pipeline_check.clients import java
from pipeline_check.clients.outcome import Outcome

Judge = Callable[[Mapping[str, str], java.Version], Outcome]
ACKS = "acks"


def made_by(framework: str, own: Mapping[str, str]) -> Judge:
    """Return the rules of a framework that sets these settings unless it is told otherwise."""

    def producer(settings: Mapping[str, str], version: java.Version) -> Outcome:
        outcome = java.producer({**own, **settings}, version)
        if ACKS not in settings and outcome.culprit == ACKS:
            outcome.culprit = ""
            outcome.because = (
                f"{framework} sets acks={own[ACKS]} unless told otherwise, which switches it off"
                " silently"
            )
        return outcome

    return producer


SMALLRYE = made_by("SmallRye", {ACKS: "1"})
SPRING_CLOUD_STREAM = made_by("Spring Cloud Stream before 5.0.2", {ACKS: "1"})
