"""The ages below which retention refuses to delete, and what it shows of those that it keeps."""

import pytest

from spark.retention import render_text
from spark.settings import Settings, refuse_young


@pytest.mark.parametrize("name", ["RETENTION_TRACKING_DAYS", "RETENTION_AUDIT_DAYS"])
def test_an_age_below_the_longest_replay_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The sentence names the setting and the budget; an age as long as a replay will do."""
    assert refuse_young(Settings()) is None
    monkeypatch.setenv(name, "6.9")
    refusal = refuse_young(Settings()) or ""
    assert refusal.startswith(f"{name}=6.9 is too young: a replay may take 7 d (longest_replay in ")
    monkeypatch.setenv(name, "7")
    assert refuse_young(Settings()) is None


def test_each_thing_that_grows_has_a_line() -> None:
    """The line says what would go, the oldest of it, and what stays and why."""
    line = {
        "what": "tracking",
        "days": 60,
        "rows": 8214,
        "oldest": "2026-09-24 02:00:07",
        "stays": "1,120 stay: not judged yet",
        "deleted": 0,
    }
    dead_letters = line | {"what": "dead letters", "days": None, "rows": 0, "oldest": None}
    result = {"ok": True, "verdict": "good", "applied": False, "ages": [line, dead_letters]}
    _, first, second, verdict, advice = render_text(result).splitlines()
    words = ["tracking", "60", "d", "8,214", "2026-09-24", "02:00:07", "0", "1,120", "stay:"]
    assert first.split()[:9] == words
    assert second.split()[:4] == ["dead", "letters", "0", "0"]
    assert (verdict, advice) == ("good", "nothing is deleted: say --apply")
