"""How traces of `elr-index` are drawn: as those of `elections`, with topics that come and go."""

from __future__ import annotations

from kraftcheck.model.language.system import Legend, event, sent
from kraftcheck.model.systems.elections.legend import CONTROLLER, CONTROLLER_ARROWS, OPERATOR, STRIP, lanes

_ABSENT = ("reassign", "cancel", "directories_offline", "heartbeat")
"""Brokers have one directory here, and replicas stay where they are."""

LEGEND = Legend(
    lanes,
    {
        **{name: arrows for name, arrows in CONTROLLER_ARROWS.items() if name not in _ABSENT},
        "delete_topic": sent(OPERATOR, CONTROLLER, "DeleteTopics"),
        "create_topic": sent(OPERATOR, CONTROLLER, "CreateTopics"),
        "load_snapshot": event(CONTROLLER),
    },
    {"topic exists": "exists", **{label: f"controller.{path}" for label, path in STRIP.items()}},
)
