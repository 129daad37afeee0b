"""Sessions and controlled shutdown: offsets that the controller waits for, epochs, and what a new controller has heard.

Offsets may be counted from anywhere, also backwards from the end of the log. Source: `BrokerHeartbeatManager`,
`ClusterControlManager.registerBroker`, `ClusterControlManager.activate`.
"""

from __future__ import annotations

from kraftcheck.model.language.rule import rule
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import any_of, choose, negate
from kraftcheck.model.rules.groups import ControllerRules


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
