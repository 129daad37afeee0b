"""The two passes of one heartbeat: the broker's new state, and its failed directories.

Source: `ReplicationControlManager.processBrokerHeartbeat`; defect B8.
"""

from __future__ import annotations

from kraftcheck.model.rules.ruleset import RuleSet

STATE, DIRECTORIES = "state", "directories"


def passes_in_order(rules: RuleSet) -> tuple[str, str]:
    """Which of the two is decided first; the code looks at the directories last, mended they come first."""
    return (STATE, DIRECTORIES) if rules.passes_share_one_base else (DIRECTORIES, STATE)


def second_sees_first(rules: RuleSet) -> bool:
    """Whether the second pass is decided on what the first has left; the code decides both on one state."""
    return not rules.passes_share_one_base
