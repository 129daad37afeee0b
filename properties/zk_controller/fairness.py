"""Liveness of `zk-controller`: decisions finally arrive, and partitions are led. Faults have budgets, so they end.

`FAIR_ZK_CONTROLLER` is the system with these properties alone: `explore` judges them.
"""

from __future__ import annotations

from kraftcheck.model.language.system import Conjuncts, Fairness, Property, Setting
from kraftcheck.model.language.words import all_of, negate
from kraftcheck.model.systems.zk_controller.state import ZkController
from kraftcheck.model.systems.zk_controller.system import ZK_CONTROLLER, actions
from kraftcheck.properties.kinds import fair_system, fair_to_each, leads_to
from kraftcheck.properties.zk_controller.promises import WAY, arrived, is_led, leaders_change


def fairness(setting: Setting) -> list[Fairness]:
    """Each step of a controller that works, and of a broker that reads its queue, is finally taken.

    A broker that has ended need not start again.
    """
    return fair_to_each(actions(setting), WAY)


def properties(setting: Setting) -> list[Property]:
    """What finally comes about, of all partitions together."""

    def led(s: ZkController) -> Conjuncts:
        return is_led(s, setting.rules.zk_controller.outsiders_wait)

    claims = [
        leads_to("partition-is-finally-led", "a partition with a broker that works finally has a leader that works",
                 lambda s: all_of(s.some_broker_works(), negate(all_of(*led(s).values()))), led,
                 "early controller design, question A.3",
                 ("replica-failure-unnoticed", "watch-set-after-read"),
                 ("zk-controller.replica.failure-halts-broker", "zk-controller.broker.reading-sets-the-watch")),
    ]  # fmt: skip
    if leaders_change(setting):
        claims.append(
            leads_to("decisions-finally-arrive", "every broker that works finally follows the leader that ZooKeeper "
                     "names", lambda s: negate(all_of(*arrived(s).values())), arrived,
                     "early controller design, D and question A.2",
                     ("failover-skips-republishing+decisions-one-by-one", "down-brokers-not-told",
                      "subscription-ignores-backlog", "watch-set-after-read"),
                     ("zk-controller.failover.publishes-again", "zk-controller.decision.every-replica-is-told",
                      "zk-controller.backlog-read", "zk-controller.broker.reading-sets-the-watch"))
        )  # fmt: skip
    return claims


FAIR_ZK_CONTROLLER = fair_system(
    ZK_CONTROLLER, "where what was begun is finished: which decisions finally arrive", properties, fairness
)
"""The system with its liveness."""
