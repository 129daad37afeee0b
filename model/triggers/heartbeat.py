"""Heartbeats, sessions and controlled shutdown: what the controller must know of a broker."""

from __future__ import annotations

from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, none_of, rule
from kraftcheck.model.partition.registration import MIGRATING, UNASSIGNED
from kraftcheck.model.rules.groups import ControllerRules, DirectoryRules, PartitionRules

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


@rule("unfence.offset-of-registration", switches=("unfence-needs-log-end",),
      source="KAFKA-13959; catalogue 42; BrokerHeartbeatManager.calculateNextBrokerState",
      says="To be unfenced a broker must have applied its own registration, and not all that was written "
           "since.")  # fmt: skip
def unfencing_offset(registration: Word, end: Word, rules: ControllerRules) -> Word:
    """The offset that a fenced broker must have applied, of that of its registration and the end of the log."""
    return end if rules.unfence_needs_log_end else registration


@rule("shutdown.offset-of-first-request", switches=("shutdown-offset-moves",),
      source="KAFKA-14292; catalogue 42; semantics 5; BrokerHeartbeatManager.maybeUpdateControlledShutdownOffset",
      says="A controlled shutdown waits for the metadata offset of its first heartbeat, not of a later "
           "one.")  # fmt: skip
def shutdown_offset(begun: Truth, first: Word, end: Word, rules: ControllerRules) -> Word:
    """The offset that other brokers must have applied: where the shutdown has begun, the log's end as it began."""
    return end if rules.shutdown_offset_moves else choose(begun, first, end)


@rule("broker-epoch.of-incarnation", switches=("reregistration-bumps-epoch",),
      source="KAFKA-16952; catalogue 45; invariant 31; ClusterControlManager.registerBroker",
      says="A new incarnation gets a new broker epoch, and the same incarnation keeps its own.")  # fmt: skip
def registered_epoch(amends: Truth, current: Word, new: Word, rules: ControllerRules) -> Word:
    """The epoch of a registration; `amends`: the process is registered already."""
    return new if rules.reregistration_bumps_epoch else choose(amends, current, new)


@rule("session.begins-with-the-controller", source="KAFKA-18138; KAFKA-19130; ClusterControlManager.activate",
      switches=("takeover-hears-fenced-brokers", "takeover-hears-nobody"),
      says="A controller that takes over counts each unfenced broker as heard of just now.")  # fmt: skip
def heard_at_takeover(fenced: Truth, rules: ControllerRules) -> Truth:
    """Whether a broker counts as heard of when a controller takes over."""
    if rules.takeover_hears_nobody:
        return False
    return any_of(negate(fenced), rules.takeover_hears_fenced_brokers)
