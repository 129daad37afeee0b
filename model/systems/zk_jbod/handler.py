"""A broker's handling of failures: the exception handler, scheduled jobs, the cleaner, reports to the controller.

Source: the JBOD KIP on ZooKeeper, "ExceptionHandler" and "Putting LogDirs Directory Offline".
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Term, Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, rule
from kraftcheck.model.rules.groups import ZkJbodRules
from kraftcheck.model.systems.parts import members
from kraftcheck.model.systems.zk_jbod.state import (
    CHECKPOINTS_CUT,
    CLEANING_STOPPED,
    DETECTED,
    DIRECTORY,
    HALT,
    IDLE,
    NODE_READ,
    NONE,
    NOTHING,
    REMOVED,
    WATERMARK,
    DirectorySet,
    Host,
    ZkJbod,
    decision,
    raised,
)

NO_DIRECTORY = BrokerSet()  # a step that writes nowhere


@frozen
class ZkJbodEvent:
    """The events of a step: the directories of a broker that it wrote to."""

    broker: Word = NONE
    wrote: DirectorySet = NO_DIRECTORY


@frozen
class Handler:
    """The broker's steps under one rule set."""

    rules: ZkJbodRules

    def may_fail_operation(self, state: ZkJbod, broker: Word, partition: Word, kind: Word) -> dict[str, Truth]:
        """An append, a read or a checkpoint of the high watermark meets a broken disk or a spoiled log."""
        host = state.host(broker)
        at = host.log(partition)
        return {
            "it runs": host.up,
            "there is a log": at >= 0,
            "the operation fails": choose(kind == WATERMARK, host.broken.has(at), negate(host.works(partition))),
            "the handler is idle": host.stage == IDLE,
        }

    def fail_operation(self, state: ZkJbod, broker: Word, partition: Word, kind: Word) -> ZkJbod:
        """The exception comes to the handler, which looks whether the directory is there: steps 1 and 3."""
        return self._handled(state, broker, partition, kind, False)

    def may_glitch(self, state: ZkJbod, broker: Word, partition: Word, kind: Word) -> dict[str, Truth]:
        """An operation fails once, on a log and a disk that work."""
        host = state.host(broker)
        return {
            "its log works": host.works(partition),
            "the handler is idle": host.stage == IDLE,
            "a glitch is left": state.left.glitches > 0,
        }

    def glitch(self, state: ZkJbod, broker: Word, partition: Word, kind: Word) -> ZkJbod:
        """Tried again, it would succeed: question 4."""
        return self._handled(state, broker, partition, kind, True).spend("glitches")

    @rule("zk-jbod.error.directory-is-checked", source="JBOD KIP on ZooKeeper, open question 1",
          switches=("check-misses-failure",),
          says="The handler finds out whether the whole directory has failed.")  # fmt: skip
    def _handled(self, state: ZkJbod, broker: Word, partition: Word, kind: Word, transient: bool) -> ZkJbod:
        host = state.host(broker)
        at = host.log(partition)
        available: Truth = negate(host.broken.has(at))
        if self.rules.check_misses_failure:
            available = True
        what = decision(raised(kind, partition, at), available, transient, self.rules)
        if not isinstance(what, Term) and what == HALT:
            return with_host(state, broker, stopped(host))
        known = choose(host.broken.has(at), host.known.plus(host.known.just(at)), host.known)
        begun = evolve(
            host, known=known, stage=DETECTED, directory=at, partition=choose(what == DIRECTORY, NONE, partition)
        )
        return with_host(state, broker, choose(what == NOTHING, host, begun))

    def may_stop_cleaning(self, state: ZkJbod, broker: Word) -> dict[str, Truth]:
        """The handler has begun."""
        return {"the handler has begun": state.host(broker).stage == DETECTED}

    @rule("zk-jbod.offline.cleaning-ends", source="JBOD KIP on ZooKeeper, log directories",
          switches=("cleaner-not-aborted",), says="Cleaning ends in a directory that is put offline.")  # fmt: skip
    def stop_cleaning(self, state: ZkJbod, broker: Word) -> ZkJbod:
        """Abort and pause cleaning there: step 2 of the workflow."""
        host = state.host(broker)
        ends: Truth = host.cleaning == host.directory
        if self.rules.cleaner_not_aborted:
            ends = False
        stopped = evolve(host, stage=CLEANING_STOPPED, cleaning=choose(ends, NONE, host.cleaning))
        return with_host(state, broker, stopped)

    def may_cut_checkpoints(self, state: ZkJbod, broker: Word) -> dict[str, Truth]:
        """Cleaning has ended."""
        return {"cleaning has ended": state.host(broker).stage == CLEANING_STOPPED}

    @rule("zk-jbod.offline.no-checkpoints", source="JBOD KIP on ZooKeeper, log directories",
          switches=("checkpoints-kept",), says="An offline directory leaves the lists of checkpoints.")  # fmt: skip
    def cut_checkpoints(self, state: ZkJbod, broker: Word) -> ZkJbod:
        """Take the directory off the lists of checkpoints: step 3; for one log there is nothing to do."""
        host = state.host(broker)
        kept = host.checkpoints
        if not self.rules.checkpoints_kept:
            kept = choose(host.partition == NONE, kept.minus(kept.just(host.directory)), kept)
        cut = evolve(host, stage=CHECKPOINTS_CUT, checkpoints=kept)
        return with_host(state, broker, cut)

    def may_remove_logs(self, state: ZkJbod, broker: Word) -> dict[str, Truth]:
        """The lists are cut."""
        return {"lists are cut": state.host(broker).stage == CHECKPOINTS_CUT}

    @rule("zk-jbod.offline.not-recreated-before-restart", source="JBOD KIP on ZooKeeper, Partitions Restart",
          switches=("recreated-before-restart",),
          says="A lost log is made anew only after the controller has restarted the replica.")  # fmt: skip
    def remove_logs(self, state: ZkJbod, broker: Word) -> ZkJbod:
        """Logs leave the pools of LogManager and ReplicaManager, the directory leaves `logDirs`: step 4, and 2.3."""
        host = state.host(broker)
        whole = host.partition == NONE
        gone = [
            all_of(at >= 0, choose(whole, at == host.directory, host.partition == p)) for p, at in enumerate(host.logs)
        ]
        here = host.pool.just(host.directory)
        after = evolve(
            host,
            stage=REMOVED,
            directory=NONE,
            partition=NONE,
            pool=choose(whole, host.pool.minus(here), host.pool),
            logs=tuple(choose(lost, NONE, at) for lost, at in zip(gone, host.logs, strict=True)),
            spoiled=host.spoiled.minus(members(gone)),
            lost=members(gone),
        )
        me = BrokerSet().just(broker)
        partitions = tuple(
            evolve(
                p, holds=choose(lost, p.holds.minus(me), p.holds),
                restarted=choose(all_of(lost, self.rules.recreated_before_restart), p.restarted.plus(me), p.restarted),
            )
            for lost, p in zip(gone, state.partitions, strict=True)
        )  # fmt: skip
        return evolve(with_host(state, broker, after), partitions=partitions)

    def may_enqueue(self, state: ZkJbod, broker: Word) -> dict[str, Truth]:
        """Step 2.4."""
        return {"logs are removed": state.host(broker).stage == REMOVED}

    def enqueue(self, state: ZkJbod, broker: Word) -> ZkJbod:
        """Create a sequential node with the lost partitions: nobody else writes it.

        What the controller has read is another node: removing that leaves this one.
        """
        host, c = state.host(broker), state.controller
        told = tuple(choose(broker == b, asked.plus(host.lost), asked) for b, asked in enumerate(state.node))
        read = tuple(choose(broker == b, asked.minus(host.lost), asked) for b, asked in enumerate(c.read))
        return evolve(with_host(state, broker, _told(host)), node=told, controller=evolve(c, read=read))

    def read_node(self, state: ZkJbod, broker: Word) -> ZkJbod:
        """Read /restart_partitions, to add to it."""
        read = evolve(state.host(broker), stage=NODE_READ, copy=state.node)
        return with_host(state, broker, read)

    def may_write_node(self, state: ZkJbod, broker: Word) -> dict[str, Truth]:
        """It has read the node."""
        return {"the node is read": state.host(broker).stage == NODE_READ}

    def write_node(self, state: ZkJbod, broker: Word) -> ZkJbod:
        """Write what was read, and the lost partitions: whatever came between is overwritten."""
        host = state.host(broker)
        told = tuple(choose(broker == b, asked.plus(host.lost), asked) for b, asked in enumerate(host.copy))
        return evolve(with_host(state, broker, _told(host)), node=told)

    @rule("zk-jbod.offline.jobs-take-the-lock", source="JBOD KIP on ZooKeeper, log directories",
          switches=("jobs-without-lock",),
          says="Scheduled jobs read the list of directories and write to them under the lock.")  # fmt: skip
    def may_begin_job(self, state: ZkJbod, broker: Word) -> dict[str, Truth]:
        """The scheduler starts a flush, or a checkpoint; with the lock, not while the handler is at work."""
        host = state.host(broker)
        idle: Truth = True if self.rules.jobs_without_lock else any_of(host.stage == IDLE, host.stage >= REMOVED)
        return {"it runs": host.up, "no job runs": host.job.is_empty(), "the lock is free": idle}

    def begin_job(self, state: ZkJbod, broker: Word) -> ZkJbod:
        """Read the list of directories."""
        host = state.host(broker)
        return with_host(state, broker, evolve(host, job=host.checkpoints))

    def may_write_job(self, state: ZkJbod, broker: Word, directory: Word) -> dict[str, Truth]:
        """A directory of the list that it read."""
        host = state.host(broker)
        return {"it runs": host.up, "the job has this directory": host.job.has(directory)}

    def write_job(self, state: ZkJbod, broker: Word, directory: Word) -> Outcome:
        """Write there."""
        host = state.host(broker)
        one = host.job.just(directory)
        return Outcome(with_host(state, broker, evolve(host, job=host.job.minus(one))), ZkJbodEvent(broker, one))

    def run_job(self, state: ZkJbod, broker: Word) -> Outcome:
        """With the lock: read the list and write to each directory before anybody changes it."""
        return Outcome(state, ZkJbodEvent(broker, state.host(broker).checkpoints))

    def may_begin_cleaning(self, state: ZkJbod, broker: Word, partition: Word) -> dict[str, Truth]:
        """A log of a directory where cleaning is not paused."""
        host = state.host(broker)
        at = host.log(partition)
        paused = all_of(host.stage > DETECTED, host.stage < REMOVED, host.directory == at)
        return {"it runs": host.up, "there is a log": at >= 0, "the cleaner rests": host.cleaning == NONE,
                "cleaning is not paused": negate(paused)}  # fmt: skip

    def begin_cleaning(self, state: ZkJbod, broker: Word, partition: Word) -> ZkJbod:
        """The cleaner chooses a log."""
        host = state.host(broker)
        return with_host(state, broker, evolve(host, cleaning=host.log(partition)))

    def may_clean(self, state: ZkJbod, broker: Word) -> dict[str, Truth]:
        """It has chosen a log."""
        host = state.host(broker)
        return {"it runs": host.up, "a log is being cleaned": host.cleaning >= 0}

    def clean(self, state: ZkJbod, broker: Word) -> Outcome:
        """It writes cleaned segments."""
        host = state.host(broker)
        wrote = host.pool.just(host.cleaning)
        return Outcome(with_host(state, broker, evolve(host, cleaning=NONE)), ZkJbodEvent(broker, wrote))

    def may_recreate(self, state: ZkJbod, broker: Word, partition: Word) -> dict[str, Truth]:
        """LeaderAndIsr makes it a follower again, and there is a directory left."""
        host = state.host(broker)
        return {
            "it runs": host.up,
            "it is told to": self._is_told(state, broker, partition),
            "there is no log": host.log(partition) == NONE,
            "a directory is left": negate(host.pool.is_empty()),
        }

    def _is_told(self, state: ZkJbod, broker: Word, partition: Word) -> Truth:
        """LeaderAndIsr goes to assigned replicas only."""
        p = state.partition(partition)
        return all_of(p.restarted.has(broker), p.assigned.has(broker))

    def recreate(self, state: ZkJbod, broker: Word, partition: Word) -> Outcome:
        """An empty log in the first directory of the pool."""
        host, p = state.host(broker), state.partition(partition)
        at = host.pool.first()
        after = with_host(state, broker, evolve(host, logs=put(host.logs, partition, at)))
        told = evolve(p, restarted=p.restarted.minus(p.restarted.just(broker)))
        after = evolve(after, partitions=put(after.partitions, partition, told))
        return Outcome(after, ZkJbodEvent(broker, host.pool.just(at)))


def _told(host: Host) -> Host:
    """The handler is done."""
    return evolve(host, stage=IDLE, lost=BrokerSet(), copy=tuple(BrokerSet() for _ in host.copy))


def stopped(host: Host) -> Host:
    """The process is gone, and what it had in memory."""
    return evolve(_told(host), up=False, directory=NONE, partition=NONE, job=BrokerSet(), cleaning=NONE)


def with_host(state: ZkJbod, broker: Word, host: Host) -> ZkJbod:
    """The state with one broker replaced."""
    return evolve(state, hosts=put(state.hosts, broker, host))
