"""The system `heartbeats`: the times that each report is about."""

from __future__ import annotations

import pytest

from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.heartbeats.system import HEARTBEATS, Beating


@pytest.mark.parametrize(("rules", "times"), [
    ("fixed", (2, 2)), ("kafka-4.4.0", (2, 2)), ("kafka-4.0.0", (4, 5)), ("fixed+wait-exceeds-session", (10, 2)),
])  # fmt: skip
def test_a_wait_and_a_delay_are_an_interval_each(rules: str, times: tuple[int, int]) -> None:
    """At Kafka's defaults, 9 s and 2 s: 4.0.0 spends a session on them (KAFKA-19294)."""
    assert Beating(HEARTBEATS.setting("defaults", rules=parse(rules))).times() == times


@pytest.mark.parametrize(("rules", "silence"), [("fixed", 0), ("fixed+queued-heartbeat-is-no-contact", 3)])
def test_a_heartbeat_in_the_queue_is_a_contact(rules: str, silence: int) -> None:
    """KAFKA-15019: it counts as soon as the controller has it, not when it is processed."""
    setting = HEARTBEATS.setting("tiny", rules=parse(rules))
    (state,) = HEARTBEATS.initial(setting)
    do = Beating(setting)
    for _ in range(3):
        state = do.tick(state)
    assert do.send(state, 0).silence == silence
