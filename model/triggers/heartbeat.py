"""The two passes of one heartbeat: the broker's new state, and its failed directories.

Source: `ReplicationControlManager.processBrokerHeartbeat`; B8.
"""

from __future__ import annotations

from kraftcheck.model.language.rule import rule
from kraftcheck.model.rules.partition import PartitionRules

STATE, DIRECTORIES = "state", "directories"


@rule("heartbeat.directories-first", source="B8; X2; ReplicationControlManager.processBrokerHeartbeat",
      switches=("passes-share-one-base",),
      says="The failed directories of a heartbeat are decided before the broker's new state.")  # fmt: skip
def passes_in_order(rules: PartitionRules) -> tuple[str, str]:
    """Which of the two is decided first; the code looks at the directories last, mended they come first."""
    return (STATE, DIRECTORIES) if rules.passes_share_one_base else (DIRECTORIES, STATE)


@rule("event.later-pass-sees-earlier", source="B8; semantics 1.3; KAFKA-13173", switches=("passes-share-one-base",),
      says="Of two passes of one event, the second is decided on what the first has left.")  # fmt: skip
def second_sees_first(rules: PartitionRules) -> bool:
    """Whether the second pass is decided on what the first has left; the code decides both on one state."""
    return not rules.passes_share_one_base
