"""Faults of brokers: crashes, expired sessions, failed replicas.

Source: the early controller design, E (on_broker_startup) and question A.3.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, choose, negate, rule
from kraftcheck.model.rules.groups import ZkControllerRules
from kraftcheck.model.systems.zk_controller.control import ZkControllerEvent
from kraftcheck.model.systems.zk_controller.state import (
    NOTHING,
    STARTING,
    Broker,
    ZkController,
    blank,
)


@frozen
class Faults:
    """Processes that die, sessions that end, replicas that fail."""

    rules: ZkControllerRules

    def may_fail(self, state: ZkController) -> dict[str, Truth]:
        """The controller dies or loses its session."""
        return {
            "there is a controller": state.controller.present,
            "a failure is left": state.left.controller_failures > 0,
        }

    def fail(self, state: ZkController) -> Outcome:
        """/controller is gone, and what it knew."""
        left = evolve(state.left, controller_failures=state.left.controller_failures - 1)
        gone = evolve(state, controller=blank(len(state.partitions)), changed=False, left=left)
        return Outcome(gone, ZkControllerEvent())

    def may_crash(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """It runs."""
        return {"it runs": state.broker(broker).up, "a stop is left": state.left.stops > 0}

    def crash(self, state: ZkController, broker: Word) -> Outcome:
        """The process is gone; session, queue and log stay."""
        left = evolve(state.left, stops=state.left.stops - 1)
        return Outcome(evolve(_crashed(state, broker), left=left), ZkControllerEvent())

    def may_expire(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """The session of a process that is gone."""
        b = state.broker(broker)
        return {"it is registered": b.registered, "it does not run": negate(b.up)}

    def expire(self, state: ZkController, broker: Word) -> Outcome:
        """/brokers/ids/<id> goes, which fires the controller's watch."""
        gone = evolve(state.broker(broker), registered=False)
        return Outcome(evolve(state.with_broker(broker, gone), changed=True), ZkControllerEvent())

    def may_lose_session(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """It is cut off from ZooKeeper for longer than its session."""
        return {"it works": state.broker(broker).works(), "a session loss is left": state.left.session_losses > 0}

    def lose_session(self, state: ZkController, broker: Word) -> Outcome:
        """Its node and its watches go; it leads and follows as before."""
        left = evolve(state.left, session_losses=state.left.session_losses - 1)
        cut = evolve(state.broker(broker), registered=False, status=STARTING)
        gone = evolve(state.with_broker(broker, cut), changed=True, left=left)
        return Outcome(_without_controller(gone, broker), ZkControllerEvent())

    def may_reconnect(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """It runs without a session."""
        b = state.broker(broker)
        return {"it runs": b.up, "it has no session": negate(b.registered)}

    def reconnect(self, state: ZkController, broker: Word) -> Outcome:
        """A new session: it registers, and reads everything again."""
        back = evolve(state.broker(broker), registered=True)
        return Outcome(evolve(state.with_broker(broker, back), changed=True), ZkControllerEvent())

    def may_fail_replica(self, state: ZkController, broker: Word, partition: Word) -> dict[str, Truth]:
        """One replica of a live broker fails (question A.3)."""
        return {
            "it runs": state.broker(broker).up,
            "its replica works": state.replica(broker, partition).role.version > 0,
            "a failure is left": state.left.replica_failures > 0,
        }

    @rule("zk-controller.replica.failure-halts-broker", source="early controller design, question A.3",
          switches=("replica-failure-unnoticed",))  # fmt: skip
    def fail_replica(self, state: ZkController, broker: Word, partition: Word) -> Outcome:
        """A broker of which a replica fails halts; where nobody notices, it lives on without the replica."""
        left = evolve(state.left, replica_failures=state.left.replica_failures - 1)
        if not self.rules.replica_failure_unnoticed:
            return Outcome(evolve(_crashed(state, broker), left=left), ZkControllerEvent())
        p, r = state.partition(partition), state.replica(broker, partition)
        dead = state.with_partition(partition, evolve(p, failed=p.failed.plus(p.failed.just(broker))))
        dead = dead.with_replica(broker, partition, evolve(r, role=NOTHING, fetching=False))
        return Outcome(evolve(dead, left=left), ZkControllerEvent())


def _crashed(state: ZkController, broker: Word) -> ZkController:
    b = state.broker(broker)
    idle = tuple(evolve(r, role=NOTHING, fetching=False) for r in b.replicas)
    down: Broker = evolve(b, up=False, status=STARTING, replicas=idle)
    healed = tuple(evolve(p, failed=p.failed.minus(p.failed.just(broker))) for p in state.partitions)
    return _without_controller(evolve(state.with_broker(broker, down), partitions=healed), broker)


def _without_controller(state: ZkController, broker: Word) -> ZkController:
    """A controller on this broker goes with it, and what it knew; the next one looks at everything."""
    gone = all_of(state.controller.present, state.controller.host == broker)
    c = choose(gone, blank(len(state.partitions)), state.controller)
    return evolve(state, controller=c, changed=all_of(state.changed, negate(gone)))
