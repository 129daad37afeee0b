"""Rules that no property checks, each with the reason, and what holds the rule instead."""

from __future__ import annotations

_RELEASES = "releases differ in it, both ways keep all properties of `elections`, and `kraftcheck conform` asks each"
_CHOSEN = "which of several right choices is made is no promise; `kraftcheck conform` compares it with Kafka's builder"
_STEPS = "it refuses a request that would change nothing that is promised; the conformance tour compares the answers"
_CONTROLLER = "only the controller on ints has it, which is not explored; tests/model/controller asks it by requests"
_PLACEMENT = "placement is not explored; the vectors of Kafka's own tests are, in `kraftcheck conform --vectors`"
_DOCUMENT = "the document and the code differ in it, and both ways keep all properties of `directories`"

UNCOVERED: dict[str, str] = {
    "isr.shrink.bumps-leader-epoch": _RELEASES,
    "last-known.remembered-as-isr-empties": _RELEASES,
    "last-known.noted-on-leader-loss": _RELEASES,
    "election.last-known.is-replica": "where last-known.is-a-replica is kept, no state has another; "
    "`kraftcheck conform` asks the releases that keep neither",
    "elr.listed-in-hash-order": _CHOSEN,
    "election.clean.keeps-valid-leader": _CHOSEN,
    "election.preferred.first-replica": _CHOSEN,
    "directories.migrating-lists-made-anew": "explored systems keep a map of directories, not a list; "
    "`kraftcheck conform` compares the replay of every such record",
    "election.clean.from-previous-isr": "it feeds a metric and decides nothing; a vector of Kafka's own tests asks it",
    "alter-partition.leader-epoch-current": "an outdated request is dropped from the settled state, so that no scope "
    "has one to accept; tests/model/controller and the vectors ask every answer",
    "alter-partition.sender-leads": "explored systems let the leader send only; tests/model/controller asks the others",
    "alter-partition.sender-of-current-incarnation": _CONTROLLER,
    "alter-partition.moved-leadership-is-answered": _CONTROLLER,
    "directory.default-for-new-replica": "another default is corrected by the broker later, and no property asks "
    "where a replica begins; `kraftcheck conform` asks it",
    "election.preferred.only-when-needed": _STEPS,
    "election.unclean.only-leaderless": _STEPS,
    "assignment.own-replicas-only": _STEPS,
    "assignment-by-hand.registered-and-distinct": _STEPS,
    "registration.overwrites-everything": "it is how the record is replayed; `kraftcheck conform` compares it",
    "config.topic-written-only-where-it-differs": _CONTROLLER,
    "config.node-values-checked": _CONTROLLER,
    "config.min-isr-of-brokers-with-elr": _CONTROLLER,
    "config.resolution-order": _CONTROLLER,
    "config.stored-trimmed": _CONTROLLER,
    "topic.creation.rows-are-independent": _CONTROLLER,
    "topic.deletion.removes-partitions": _CONTROLLER,
    "topic.growth.all-or-nothing": _CONTROLLER,
    "topic.growth.factor-of-first-in-map": _CONTROLLER,
    "event.batches-of-records": _CONTROLLER,
    "session.registration-forgets-offset": _CONTROLLER,
    "session.expiry-longest-silent": _CONTROLLER,
    "shutdown.controlled-while-leading": _CONTROLLER,
    "unfence.registration-applied": "only the controller on ints has it; explored brokers ask only when it is so, "
    "unfence.asked-when-caught-up, which `unfenced-when-caught-up` checks",
    "heartbeat.expired-counts-as-contact": _CONTROLLER,
    "cordoning.reported-by-heartbeat": _CONTROLLER,
    "registration.amendment-moves-leaders": _CONTROLLER,
    "registration.record-is-written-last": _CONTROLLER,
    "registration.supports-finalized-features": _CONTROLLER,
    "session.of-each-contact": _CONTROLLER,
    "assignment-by-hand.on-brokers-that-take-replicas": _CONTROLLER,
    "cordoning.of-each-directory-cordons-the-broker": _CONTROLLER,
    "session.expiry-in-table-order": _CONTROLLER,
    "reassignment.factor-kept-on-request": _CONTROLLER,
    "topic.creation.partitions-are-limited": _CONTROLLER,
    "topic.creation.policy-answers-for-its-row": _CONTROLLER,
    "topic.growth.partitions-are-limited": _CONTROLLER,
    "config.unsupported-skipped-at-replay": _CONTROLLER,
    "registration.live-broker-is-duplicate": _CONTROLLER,
    "registration.directories-own-and-unreserved": _CONTROLLER,
    "reassignment.rows-are-independent": _CONTROLLER,
    "broker-epoch.current": _CONTROLLER,
    "placement.striped-over-racks": _PLACEMENT,
    "placement.unfenced-leader": _PLACEMENT,
    "placement.factor-can-be-met": _PLACEMENT,
    "directory-failure.reported-without-waiting": _DOCUMENT,
    "directory-failure.unreported-stops-broker": _DOCUMENT,
}
"""Rule id to reason."""
