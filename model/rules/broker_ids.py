"""Choices of the system `broker-ids`."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.rules.choice import choice

_GROUP = "broker-ids"


@frozen
class BrokerIdRules:
    """How a broker finds its id. All off: ids are static, as in KRaft."""

    # What the document adds to static ids.
    fresh_ids_drawn: bool = choice(_GROUP, "KAFKA-1070", "a broker without an id draws a new one from a sequence")
    identity_by_hostname: bool = choice(
        _GROUP, "broker-id KIP, step a", "a broker without an id tries the one recorded for its hostname"
    )
    identity_by_elimination: bool = choice(
        _GROUP, "broker-id KIP, step b", "a broker without an id takes the only one that is used and not registered"
    )
    search_reads_every_topic: bool = choice(
        _GROUP, "broker-id KIP", "missing ids are found by reading every topic, not the nodes /brokers/missing_ids"
    )
    sweep_trusts_first_read: bool = choice(
        _GROUP, "broker-id KIP", "a hostname node is deleted without a condition on the registration read before"
    )
    missing_ids_noted_late: bool = choice(
        _GROUP,
        "broker-id KIP, rejected alternatives",
        "the controller keeps the nodes /brokers/missing_ids by a watch, some time after a registration goes",
    )
    garbage_deleted_unseen: bool = choice(
        _GROUP, "broker-id KIP", "a hostname node is deleted whether or not it has changed since it was read"
    )

    # Its alternative.
    zookeeper_before_disk: bool = choice(
        _GROUP, "broker-id KIP, rejected alternatives", "the id of the hostname is used although the disk has another"
    )

    # Seeded defects.
    failed_start_is_final: bool = choice(
        _GROUP, "seeded; broker-id KIP, step b.2", "a broker that stopped with an error is not started again"
    )
    registration_overwrites: bool = choice(
        _GROUP, "seeded", "a broker registers although its id is registered by another"
    )
    ambiguous_takes_first: bool = choice(
        _GROUP, "seeded; broker-id KIP, step b.2", "of several missing ids the lowest is taken"
    )
    fresh_unless_ambiguous: bool = choice(
        _GROUP, "seeded; broker-id KIP, step b.1", "a new id is drawn although exactly one is missing"
    )
    configured_id_wins: bool = choice(_GROUP, "seeded", "a configured id is used although meta.properties has another")


OF_DOCUMENT = (
    "fresh_ids_drawn", "identity_by_hostname", "identity_by_elimination", "search_reads_every_topic",
    "sweep_trusts_first_read", "missing_ids_noted_late", "garbage_deleted_unseen",
)  # fmt: skip
"""Choices that hold in the broker-id KIP as written, with its optional step b)."""
