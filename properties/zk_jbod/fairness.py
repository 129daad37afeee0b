"""Liveness of `zk-jbod`: lost replicas are finally replicated again. Faults have budgets, so they end.

`FAIR_ZK_JBOD` is the system with these properties alone: `explore` judges them.
"""

from __future__ import annotations

from kraftcheck.model.language.system import Fairness, Property, Setting
from kraftcheck.model.language.words import all_of, negate
from kraftcheck.model.systems.zk_jbod.system import ZK_JBOD, actions
from kraftcheck.properties.kinds import fair_system, fair_to_each, leads_to, weak_fairness
from kraftcheck.properties.zk_jbod.promises import WAY, replicates, settles

FAILING = "fail_operation"
"""Some operation on a log that does not work meets the failure, whichever it is."""


def fairness(setting: Setting) -> list[Fairness]:
    """Failures are met by some operation and handled, the controller restarts what was asked for, followers fetch."""
    rest = fair_to_each(actions(setting), [name for name in WAY if name != FAILING])
    return [*rest, weak_fairness(FAILING, each=["broker", "partition"])]


def properties(setting: Setting) -> list[Property]:
    """What finally comes about, of all partitions together."""
    claims = [
        leads_to("lost-partition-finally-settles",
                 "a partition finally has a leader with a log, or is offline for good",
                 lambda s: negate(all_of(*settles(s).values())), settles, "JBOD KIP on ZooKeeper, 3",
                 ("restart-node-shared", "requests-removed-first", "filtered-requests-removed"),
                 ("zk-jbod.restart.each-request-has-its-node", "zk-jbod.restart.requests-removed-last",
                  "zk-jbod.restart.filtered-requests-stay")),
    ]  # fmt: skip
    if setting["directories"] > 1:
        claims.append(
            leads_to("lost-replica-finally-returns", "a broker with a directory left finally replicates again what has "
                     "a leader", lambda s: negate(all_of(*replicates(s).values())), replicates,
                     "JBOD KIP on ZooKeeper, Partitions Restart", ("restart-drops-replica", "restart-node-shared"),
                     ("zk-jbod.restart.selector", "zk-jbod.restart.each-request-has-its-node"))
        )  # fmt: skip
    return claims


FAIR_ZK_JBOD = fair_system(
    ZK_JBOD, "where failures are met and handled: which replicas finally return", properties, fairness
)
"""The system with its liveness."""
