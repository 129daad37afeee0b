"""Choices of the system `zk-controller`."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.rules.choice import choice

_GROUP = "zk-controller"
_SOURCE = "early controller design"


@frozen
class ZkControllerRules:
    """How the first controller tells brokers what it decides. All off: one conditional multi, told to everybody."""

    # The document as written.
    decisions_one_by_one: bool = choice(
        _GROUP, f"{_SOURCE}, A", "decisions are written one by one, and published to the queues afterwards"
    )
    decision_write_unconditional: bool = choice(
        _GROUP, f"{_SOURCE}, A", "a decision is written whether or not the node has changed since it was read"
    )
    outsiders_by_old_list: bool = choice(
        _GROUP,
        f"{_SOURCE}, A",
        "a leader from outside the ISR is chosen by a list of live brokers that may be outdated",
    )
    replica_failure_unnoticed: bool = choice(
        _GROUP, f"{_SOURCE}, question A.3", "a broker of which one replica fails lives on, and nobody is told"
    )
    reassignment_waits_for_all: bool = choice(
        _GROUP, f"{_SOURCE}, F 3.1", "a reassignment completes only when the ISR is all old and new replicas"
    )
    reassignment_keeps_leader: bool = choice(
        _GROUP, f"{_SOURCE}, F 3.1", "a reassignment completes without another leader, whoever leads"
    )
    leavers_rejoin: bool = choice(
        _GROUP, f"{_SOURCE}, F", "a leader takes a follower back into the ISR that is no replica any more"
    )
    backlog_revives_replica: bool = choice(
        _GROUP, f"{_SOURCE}, E and F", "a broker that starts follows its queue about a partition that it has not"
    )
    deletion_forgets_topic: bool = choice(
        _GROUP, f"{_SOURCE}, C", "the nodes of a deleted topic go before its replicas are stopped"
    )
    controller_writes_unfenced: bool = choice(
        _GROUP, f"{_SOURCE}, D", "a controller's writes are not conditional on its being the controller"
    )

    # What its questions could be answered with, and what Kafka made of it later.
    outsiders_wait: bool = choice(
        _GROUP, "KAFKA-1028", "a partition without a live ISR member has no leader until one is back"
    )
    hopeless_isr_emptied: bool = choice(
        _GROUP, f"{_SOURCE}, question A.1", "a partition without a live replica loses its leader and its ISR"
    )
    down_brokers_not_told: bool = choice(
        _GROUP, f"{_SOURCE}, question A.2", "decisions are published only to brokers that lived when they were listed"
    )

    # Seeded defects.
    isr_update_unconditional: bool = choice(
        _GROUP, f"seeded; {_SOURCE}, B", "a leader updates the ISR although the controller has changed it"
    )
    failover_skips_republishing: bool = choice(
        _GROUP, f"seeded; {_SOURCE}, D", "a new controller does not publish earlier decisions again"
    )
    zombie_refreshes_epoch: bool = choice(
        _GROUP, "seeded; KAFKA-6082", "a controller that was deposed reads the epoch of the new one, and writes with it"
    )
    watch_set_after_read: bool = choice(
        _GROUP, "seeded; ZooKeeper watches", "a broker empties its queue and sets the watch as two operations"
    )
    subscription_ignores_backlog: bool = choice(
        _GROUP, f"seeded; {_SOURCE}, E", "a broker that subscribes waits for a change of its queue"
    )
    older_decisions_followed: bool = choice(
        _GROUP, f"seeded; {_SOURCE}, D", "a broker follows a published decision that is older than its own"
    )
    leads_before_fetcher_stops: bool = choice(
        _GROUP, f"seeded; {_SOURCE}, B", "a new leader leads before its fetcher to the old one has stopped"
    )
    outsider_preferred: bool = choice(
        _GROUP, f"seeded; {_SOURCE}, A", "a live replica outside the ISR is preferred to its members"
    )
    reassignment_ignores_isr: bool = choice(
        _GROUP, f"seeded; {_SOURCE}, F", "a reassignment completes without a look at the ISR"
    )
    reassignment_skips_leader: bool = choice(
        _GROUP,
        f"seeded; {_SOURCE}, F 4",
        "the ISR that a reassignment writes is published to the new replicas, and not to the leader",
    )
    outsider_keeps_isr: bool = choice(
        _GROUP, f"seeded; {_SOURCE}, A", "a leader from outside the ISR is written beside the old ISR"
    )


OF_FIRST_CONTROLLER = (
    "decisions_one_by_one", "decision_write_unconditional", "outsiders_by_old_list", "replica_failure_unnoticed",
    "reassignment_waits_for_all", "reassignment_keeps_leader", "leavers_rejoin",
    "backlog_revives_replica",
    "deletion_forgets_topic", "controller_writes_unfenced",
)  # fmt: skip
"""Choices that hold in the early controller design as written."""
