"""Faults: disks and logs that fail, brokers that stop."""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, choose, negate, rule
from kraftcheck.model.rules.groups import ZkJbodRules
from kraftcheck.model.systems.zk_jbod.errors import NONE
from kraftcheck.model.systems.zk_jbod.handler import ZkJbodEvent, partitions_of, stopped, with_host
from kraftcheck.model.systems.zk_jbod.state import IDLE, REMOVED, ZkJbod, replaced


@frozen
class Faults:
    """The actions that budgets bound."""

    rules: ZkJbodRules

    def may_break_disk(self, state: ZkJbod, broker: Word, directory: Word) -> dict[str, Truth]:
        """It worked."""
        return {"it works": negate(state.host(broker).broken.has(directory)),
                "a failure is left": state.left.disk_failures > 0}  # fmt: skip

    def break_disk(self, state: ZkJbod, broker: Word, directory: Word) -> Outcome:
        """What is on it is gone; nobody knows yet."""
        host, me = state.host(broker), BrokerSet().just(broker)
        left = evolve(state.left, disk_failures=state.left.disk_failures - 1)
        broken = evolve(host, broken=host.broken.plus(host.broken.just(directory)))
        partitions = tuple(
            evolve(p, holds=choose(at == directory, p.holds.minus(me), p.holds))
            for at, p in zip(host.logs, state.partitions, strict=True)
        )
        return Outcome(evolve(with_host(state, broker, broken), partitions=partitions, left=left), ZkJbodEvent())

    def may_spoil_log(self, state: ZkJbod, broker: Word, partition: Word) -> dict[str, Truth]:
        """It worked."""
        return {"its log works": state.works(broker, partition), "a failure is left": state.left.log_failures > 0}

    def spoil_log(self, state: ZkJbod, broker: Word, partition: Word) -> Outcome:
        """One log cannot be read or written any more; its directory can."""
        host, p, me = state.host(broker), state.partition(partition), BrokerSet().just(broker)
        left = evolve(state.left, log_failures=state.left.log_failures - 1)
        spoiled = evolve(host, spoiled=host.spoiled.plus(host.spoiled.just(partition)))
        after = with_host(state, broker, spoiled)
        less = replaced(after.partitions, partition, evolve(p, holds=p.holds.minus(me)))
        return Outcome(evolve(after, partitions=less, left=left), ZkJbodEvent())

    def may_repair(self, state: ZkJbod, broker: Word, directory: Word) -> dict[str, Truth]:
        """Its disk has failed, and what was noticed of that is dealt with."""
        host = state.host(broker)
        return {
            "it runs": host.up,
            "the disk has failed": host.broken.has(directory),
            "the handler is idle": host.stage == IDLE,
            "a repair is left": state.left.repairs > 0,
        }

    @rule("zk-jbod.repair.new-disk-stays-empty", source="JBOD KIP on ZooKeeper, motivation",
          switches=("repaired-disk-filled",),
          says="A broker makes no log on a new disk before it is told to.")  # fmt: skip
    def repair(self, state: ZkJbod, broker: Word, directory: Word) -> Outcome:
        """An empty disk in its place, and a restart within the session.

        A log that was not known to be lost is not there: the broker asks for a restart as if it had failed.
        """
        host = state.host(broker)
        left = evolve(state.left, repairs=state.left.repairs - 1)
        me = host.broken.just(directory)
        gone = [all_of(at >= 0, at == directory) for at in host.logs]
        fresh = evolve(
            stopped(host), up=True, broken=host.broken.minus(me), known=host.known.minus(me), pool=host.pool.plus(me),
            checkpoints=host.checkpoints.plus(me), spoiled=host.spoiled.minus(partitions_of(gone)),
        )  # fmt: skip
        if not self.rules.repaired_disk_filled:
            lost = partitions_of(gone)
            logs = tuple(choose(empty, NONE, at) for empty, at in zip(gone, host.logs, strict=True))
            fresh = evolve(fresh, logs=logs, lost=lost, stage=choose(lost.is_empty(), IDLE, REMOVED))
        return Outcome(evolve(with_host(state, broker, fresh), left=left), ZkJbodEvent())

    def may_stop(self, state: ZkJbod, broker: Word) -> dict[str, Truth]:
        """It runs."""
        return {"it runs": state.host(broker).up, "a stop is left": state.left.stops > 0}

    def stop(self, state: ZkJbod, broker: Word) -> Outcome:
        """The process is gone; its disks keep what they have."""
        left = evolve(state.left, stops=state.left.stops - 1)
        return Outcome(evolve(with_host(state, broker, stopped(state.host(broker))), left=left), ZkJbodEvent())
