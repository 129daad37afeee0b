"""State of the `zk-jbod` system: disks and logs of brokers, /restart_partitions, and the controller.

Source: the JBOD KIP on ZooKeeper.

The exceptions of failing disks as values, and the decisions of their handler.
Source: the JBOD KIP on ZooKeeper, "IO Errors", "ExceptionHandler", and its open questions 1, 2 and 4.
"""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import ints, subset_of, truth
from kraftcheck.model.language.system import Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, pick, rule
from kraftcheck.model.rules.groups import ZkJbodRules
from kraftcheck.model.systems.parts import WithBudgets, budget_domains, budgets, members

APPEND = 0  # LogAppendException(log)
READ = 1  # LogReadException(log)
WATERMARK = 2  # HighWatermarkIOException(file): a directory, and no log

KINDS = (APPEND, READ, WATERMARK)
NONE = -1  # no partition, no directory
NOTHING = 0  # nobody handles it
PARTITION = 1  # one log goes offline
DIRECTORY = 2  # the whole directory goes offline
HALT = 3  # the broker stops


@frozen
class IOFailure:
    """A failed operation with its context."""

    kind: Word  # APPEND to WATERMARK
    partition: Word  # whose log it is; NONE for WATERMARK
    directory: Word  # where


def raised(kind: Word, partition: Word, directory: Word) -> IOFailure:
    """The exception of an operation on a log; that of a high-watermark file knows no log."""
    return IOFailure(kind, choose(kind == WATERMARK, NONE, partition), directory)


@rule("zk-jbod.error.broker-lives-on", source="JBOD KIP on ZooKeeper, motivation", switches=("disk-errors-halt",),
      says="A disk error does not stop the broker.")  # fmt: skip
@rule("zk-jbod.error.operation-is-retried", source="JBOD KIP on ZooKeeper, open question 4",
      switches=("failed-operation-not-retried",),
      says="An operation that fails is tried again before anything is restarted.")  # fmt: skip
@rule("zk-jbod.error.reads-are-attributed", source="JBOD KIP on ZooKeeper, open question 2",
      switches=("read-errors-unattributed",),
      says="An error while a log is read is known to be that log's.")  # fmt: skip
def decision(failure: IOFailure, available: Truth, transient: Truth, rules: ZkJbodRules) -> Word:
    """The decision of the handler: NOTHING to HALT.

    Args:
        available: what the check of the directory says (question 1).
        transient: the same operation would succeed if it were tried again (question 4).
    """
    if rules.disk_errors_halt:
        return HALT
    healed: Truth = all_of(transient, available)
    if rules.failed_operation_not_retried:
        healed = False
    alone = all_of(available, negate(failure.partition == NONE))
    handled = choose(alone, PARTITION, DIRECTORY)
    unknown = all_of(rules.read_errors_unattributed, failure.kind == READ)
    return choose(unknown, NOTHING, choose(healed, NOTHING, handled))


IDLE = 0  # the exception handler has nothing to do
DETECTED = 1  # it knows what is lost
CLEANING_STOPPED = 2  # cleaning there is aborted and paused
CHECKPOINTS_CUT = 3  # the directory is off the lists of checkpoints
REMOVED = 4  # logs are out of the pools; the controller has to be told
NODE_READ = 5  # it has read /restart_partitions and is about to write it
DirectorySet = BrokerSet  # a set of directories of one broker, as a bit mask
PartitionSet = BrokerSet  # a set of partitions, as a bit mask


@frozen
class Host:
    """A broker with its disks."""

    up: Truth  # the process runs
    broken: DirectorySet  # directories that have failed
    known: DirectorySet  # ghost: failed directories of which a failure has come to the handler
    pool: DirectorySet  # directories that LogManager writes to: `logDirs`
    checkpoints: DirectorySet  # directories on the lists of checkpoints
    logs: tuple[Word, ...]  # by partition the directory of its log, or NONE
    spoiled: PartitionSet  # partitions whose log cannot be written although its directory can
    stage: Word  # IDLE to NODE_READ
    # directory, partition: what the handler is about; `partition` is NONE for a whole directory
    directory: Word
    partition: Word
    lost: PartitionSet  # partitions to tell the controller of
    copy: tuple[PartitionSet, ...]  # by broker what it has read of /restart_partitions
    job: DirectorySet  # directories that a scheduled job has still to write to
    cleaning: Word  # the directory that the cleaner writes to, or NONE

    def handled(self) -> DirectorySet:
        """Failed directories whose failure the handler knew, and is done with."""
        busy = all_of(self.stage >= DETECTED, self.stage < REMOVED)
        return choose(busy, self.known.minus(self.known.just(self.directory)), self.known)

    def log(self, partition: Word) -> Word:
        """The directory of a partition's log, or NONE."""
        return pick(self.logs, partition, NONE)

    def works(self, partition: Word) -> Truth:
        """Whether a partition's log can be read and written."""
        at = self.log(partition)
        return all_of(self.up, at >= 0, negate(self.broken.has(at)), negate(self.spoiled.has(partition)))


@frozen
class Partition:
    """A partition as ZooKeeper and brokers know it."""

    leader: Word  # broker, or NONE while it is offline
    # isr, assigned: as usual; every broker is assigned at first
    isr: BrokerSet
    assigned: BrokerSet
    holds: BrokerSet  # ghost: brokers whose disk has every acknowledged record
    restarted: BrokerSet  # brokers that are told to start the replica anew, and have not yet
    busy: Truth  # it is being reassigned: the controller leaves it out


@frozen
class Controller:
    """Memory of the controller: by broker the partitions that it has read, and those still to restart."""

    working: Truth
    read: tuple[PartitionSet, ...]
    todo: tuple[PartitionSet, ...]


@frozen
class ZkJbodBudgets:
    """What may still go wrong or change."""

    disk_failures: Word
    log_failures: Word
    glitches: Word
    stops: Word
    controller_failures: Word
    reassignments: Word
    repairs: Word


@frozen
class ZkJbod(WithBudgets):
    """The whole state; `node`: /restart_partitions, by broker the partitions that it asks to restart."""

    hosts: tuple[Host, ...]
    partitions: tuple[Partition, ...]
    node: tuple[PartitionSet, ...]
    controller: Controller
    left: ZkJbodBudgets

    def host(self, number: Word) -> Host:
        """A broker."""
        return pick(self.hosts, number, self.hosts[0])

    def partition(self, number: Word) -> Partition:
        """A partition."""
        return pick(self.partitions, number, self.partitions[0])

    def live(self) -> BrokerSet:
        """The brokers that run."""
        return members(host.up for host in self.hosts)

    def works(self, broker: Word, partition: Word) -> Truth:
        """Whether a broker can read and write its log of a partition."""
        return self.host(broker).works(partition)


def any_set(sets: tuple[PartitionSet, ...]) -> Truth:
    """Whether one of the sets has a member."""
    return any_of(*(negate(one.is_empty()) for one in sets))


def layout(setting: Setting) -> ZkJbod:
    """The domain of each field."""
    brokers, partitions, directories = setting["brokers"], setting["partitions"], setting["directories"]
    disks, parts, some = (BrokerSet(subset_of(n)) for n in (directories, partitions, brokers))
    place, asked = ints(NONE, directories - 1, none=NONE), (parts,) * brokers
    host = Host(
        truth(), disks, disks, disks, disks, logs=(place,) * partitions, spoiled=parts, stage=ints(IDLE, NODE_READ),
        directory=place,
        partition=ints(NONE, partitions - 1, none=NONE), lost=parts, copy=asked, job=disks, cleaning=place,
    )  # fmt: skip
    partition = Partition(ints(NONE, brokers - 1, none=NONE), some, some, some, some, busy=truth())
    return ZkJbod(
        (host,) * brokers, (partition,) * partitions, asked, Controller(truth(), asked, asked),
        budget_domains(ZkJbodBudgets, setting),
    )  # fmt: skip


def initial(setting: Setting) -> list[ZkJbod]:
    """Everything works: partition p is in directory p of each broker, modulo their number; broker p leads it."""
    brokers, partitions, directories = setting["brokers"], setting["partitions"], setting["directories"]
    disks, everyone, nothing = BrokerSet.of(range(directories)), BrokerSet.of(range(brokers)), BrokerSet()
    asked = (nothing,) * brokers
    host = Host(
        True, nothing, nothing, disks, disks, logs=tuple(p % directories for p in range(partitions)),
        spoiled=nothing, stage=IDLE, directory=NONE,
        partition=NONE, lost=nothing, copy=asked, job=nothing, cleaning=NONE,
    )  # fmt: skip
    listed = tuple(Partition(p % brokers, everyone, everyone, everyone, nothing, busy=False) for p in range(partitions))
    return [ZkJbod((host,) * brokers, listed, asked, Controller(False, asked, asked), budgets(ZkJbodBudgets, setting))]


def settled(state: ZkJbod) -> Truth:
    """Nobody has anything to do; a replica may lack a directory to start anew in, and a partition a leader."""
    hosts = [any_of(negate(h.up), h.stage == IDLE) for h in state.hosts]
    return all_of(*hosts, negate(any_set(state.node)), negate(state.controller.working))
