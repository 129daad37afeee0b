"""Heartbeats: what the controller must know to unfence a broker, and the two passes of one heartbeat.

The passes are the broker's new state, and its failed directories.
Source: `ReplicationControlManager.processBrokerHeartbeat`; KIP-858; B8.
"""

from __future__ import annotations

from kraftcheck.model.language.rule import rule
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, implies, none_of
from kraftcheck.model.partition.directories import MIGRATING, UNASSIGNED
from kraftcheck.model.rules.groups import DirectoryRules, PartitionRules

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


@rule("unfence.directories-known", source="KIP-858; semantics 9",
      switches=("unfence-ignores-assignments", "one-directory-awaits-nothing"),
      says="A broker that registers directories stays fenced while the controller does not know in which of "
           "them a replica of it is; in steady state the document asks it where several are registered.")  # fmt: skip
def directory_known(replica: Truth, directory: Word, registered: Word, rules: DirectoryRules) -> Truth:
    """Whether one partition lets the controller unfence a broker; every partition must. No release asks.

    How many directories a broker has configured, no controller can know: those that failed are not registered. Of a
    broker that registers none nothing is asked: its version, or the metadata's, does not have them.

    Args:
        replica: whether the broker has a replica of the partition.
        directory: where the replica is assigned.
        registered: how many directories the broker registers.
        rules: the rule set.
    """
    if rules.unfence_ignores_assignments:
        return True
    least = 2 if rules.one_directory_awaits_nothing else 1
    known = none_of(directory == UNASSIGNED, directory == MIGRATING)
    return implies(all_of(replica, registered >= least), known)
