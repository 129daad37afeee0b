"""State of the `directories` system: the controller's registration, the brokers with their disks, and budgets.

The controller is the `elections` system itself: its triggers are reused, none is restated.

One broker: its process, its disks, the logs on them, and what it still has to tell the controller.
Directories of a broker are numbered 0.. as *slots*; a slot is a disk with a
path. A slot's *name* is the directory id in its meta.properties, numbered as
the controller's registration numbers it (`FIRST_LOCAL + name` in assignments).
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from kraftcheck.model.language.anynumber import (
    each_record,
    for_any_number,
    record_of,
    rewritten_records,
    same_leaves,
    with_record,
)
from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.layout import all_where, ints, subset_of, truth
from kraftcheck.model.language.system import ANY, Conjuncts, Outcome, ScopeError, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, negate, none_of, pick, rule
from kraftcheck.model.partition.registration import FIRST_LOCAL, LOST, MIGRATING, UNASSIGNED, DirectoryMap
from kraftcheck.model.rules.groups import DirectoryRules, PartitionRules
from kraftcheck.model.systems.elections import state as elections
from kraftcheck.model.systems.elections.state import (
    Elections,
    ElectionsEvent,
    directory_online,
    new_topic,
    outsider_leads,
)
from kraftcheck.model.triggers.table import default_directory

ABSENT = 0  # the broker hosts no replica, as far as it knows
SERVING = 1  # the replica's log is open
OFFLINE = 2  # the replica's directory failed; the broker does nothing for it until it restarts
UNOPENED = 3  # the broker hosts the replica but has opened no log for it
NOTHING = -1  # no slot; no assignment
NEW = -2  # the known assignment of a partition that the metadata applied does not have yet
METADATA = 0  # the slot of the metadata log, where one of these directories has it: by default the first of `log.dirs`
IDLE, QUEUED, ACCEPTED = 0, 1, 2  # how far the assignment of a move has come (`ReassignmentState`)
Slots = BrokerSet  # a set of slots; the same kind of mask that holds sets of brokers


@frozen
class Host:
    """One broker."""

    up: Truth  # the process runs, registered since its start
    seen: Truth  # it has applied metadata that has the partition
    disks: Slots  # slots whose disk works
    names: tuple[Word, ...]  # the directory id in each slot's meta.properties; NOTHING: none
    drawn: Word  # how many ids were generated so far
    logs: Slots  # slots that hold a log of the partition, readable or not
    whole: Slots  # those whose log has every committed record
    future: Word  # the slot that holds a future log, or NOTHING
    copied: Truth  # the future log is level with the current one
    replica: Word  # ABSENT, SERVING, OFFLINE or UNOPENED
    known: Word  # the replica's assignment in the metadata applied
    leads: Truth  # it leads, by the metadata applied
    behind: Truth  # there is metadata of the partition that it has not applied
    moved: Truth  # such metadata rewrote the directories
    promotion: Word  # IDLE, QUEUED or ACCEPTED
    # ready, sent: the assignment waiting, and that in flight; NOTHING: none
    ready: Word
    sent: Word
    answered: Truth  # the controller has processed the one in flight
    late: Word  # a copy of an abandoned request that may still arrive; NOTHING: none
    late_stale: Truth  # that copy is of an earlier incarnation
    failed: Slots  # slots that failed since the process started, as it noticed
    told: Slots  # those a heartbeat has acknowledged
    clean: Slots  # those in which the last process left the mark of a clean stop

    def current(self) -> Word:
        """The slot of the readable log, or NOTHING; the lowest where there are several."""
        return self.logs.keep(self.disks).first()

    def has_log(self) -> Truth:
        """Whether a readable log exists."""
        return self.current() >= 0

    def directory(self, slot: Word) -> Word:
        """The id of a slot's directory as assignments name it."""
        return pick(self.names, slot, NOTHING) + FIRST_LOCAL

    def actual(self) -> Word:
        """The id of the directory where the readable log is."""
        return self.directory(self.current())

    def slot_of(self, directory: Word) -> Word:
        """The working slot with this id, or NOTHING."""
        found: Word = NOTHING
        for slot, name in enumerate(self.names):
            found = choose(all_of(self.disks.has(slot), name + FIRST_LOCAL == directory), slot, found)
        return found

    def ids(self, slots: Slots) -> BrokerSet:
        """The ids of slots, numbered as the controller's registration numbers them."""
        mask: Word = 0
        for slot, name in enumerate(self.names):
            mask = mask | choose(slots.has(slot), BrokerSet().just(name).mask, 0)
        return BrokerSet(mask)

    def some_offline(self) -> Truth:
        """Whether a configured directory does not work."""
        return self.disks.size() < len(self.names)

    def serving(self) -> Truth:
        """Whether the process runs and has the replica's log open."""
        return all_of(self.up, self.replica == SERVING)

    def healthy(self) -> Truth:
        """Whether the open log has every committed record."""
        return all_of(self.serving(), self.whole.has(self.current()))

    def moving(self) -> Truth:
        """Whether a future log can be copied to."""
        return all_of(self.serving(), self.disks.has(self.future))

    def queued(self) -> Truth:
        """Whether QueuedReplicaToDirAssignments is not zero: an assignment waits or is in flight."""
        return negate(all_of(self.ready == NOTHING, self.sent == NOTHING))

    def assigns_what_failed(self) -> Truth:
        """Whether an assignment to a failed directory, or to LOST, waits or is in flight."""
        failed = self.ids(self.failed)
        return any_of(*(any_of(one == LOST, failed.has(one - FIRST_LOCAL)) for one in (self.ready, self.sent)))

    @rule("directory-failure.in-every-heartbeat",
          source="KIP-858; catalogue 46; semantics 6.7; BrokerLifecycleManager.sendBrokerHeartbeat",
          switches=("failure-reported-once", "reported-until-acknowledged"),
          says="Every heartbeat carries all directories that failed since the start.")  # fmt: skip
    def reports(self, rules: DirectoryRules) -> Slots:
        """The failed directories that the next heartbeat carries."""
        if rules.reported_until_acknowledged or rules.failure_reported_once:
            return self.failed.minus(self.told)
        return self.failed

    def settled(self) -> Truth:
        """Whether, as far as the broker knows, every assignment is where its replica is (KIP-858)."""
        if len(self.names) == 1:
            return True
        accepted = all_of(self.moving(), self.known == self.directory(self.future))
        wrong = all_of(self.replica == SERVING, none_of(self.known == self.actual(), accepted))
        return none_of(self.queued(), wrong)

    @rule("unfence.asked-when-caught-up", source="KIP-631; semantics 5; invariant 37", switches=("unfence-unasked",),
          says="A broker asks to be unfenced once it has applied the metadata up to its registration.")  # fmt: skip
    @rule("unfence.assignments-settled", source="KIP-858; semantics 9", switches=("unfence-ignores-assignments",),
          says="A broker does not ask to be unfenced before its directory assignments are settled.")  # fmt: skip
    def ready_to_unfence(self, rules: DirectoryRules) -> Truth:
        """Whether its heartbeat asks to be unfenced: caught up and, in the KIP, settled."""
        caught_up = self.up if rules.unfence_unasked else all_of(self.up, self.seen)
        return caught_up if rules.unfence_ignores_assignments else all_of(caught_up, self.settled())

    def enqueue(self, when: Truth, directory: Word) -> Host:
        """The host with an assignment waiting, in place of the one that waited."""
        return evolve(self, ready=choose(when, directory, self.ready))

    def stopped(self) -> Host:
        """The host after its process ended: what was only in memory is gone."""
        return evolve(
            self, up=False, seen=False, replica=ABSENT, known=NOTHING, leads=False, behind=False, moved=False,
            promotion=IDLE, ready=NOTHING, sent=NOTHING, answered=False, late_stale=negate(self.late == NOTHING),
            failed=Slots(), told=Slots(),
        )  # fmt: skip

    def distinct_ids(self) -> Truth:
        """Whether no two working directories have one id; directories without id do not count."""
        pairs = [(i, j) for i in range(len(self.names)) for j in range(i)]
        return none_of(
            *(
                all_of(self.disks.has(i), self.disks.has(j), self.names[i] >= 0, self.names[i] == self.names[j])
                for i, j in pairs
            )
        )


@rule("move.failed-source-is-lost", source="KIP-858; catalogue 46; semantics 6.6",
      switches=("lost-source-reverts", "lost-source-unreported"),
      says="A move whose source fails reports the replica LOST; the code takes its assignment back.")  # fmt: skip
@rule("move.failed-target-takes-assignment-back", source="KAFKA-16297; ReplicaAlterLogDirsThread.removePartitions",
      switches=("revert-only-while-queued",),
      says="A move whose target fails takes its assignment back, accepted or not.")  # fmt: skip
@rule("metadata-directory.failure-stops-broker", source="KIP-858", switches=("metadata-failure-survived",),
      says="A broker stops when the directory of its metadata log fails, whichever others work.")  # fmt: skip
def failing(host: Host, slot: Word, rules: DirectoryRules, keeps_metadata: bool = False) -> Host:
    """The host after a disk fails under a running process, or under none.

    A replica there goes offline; a move that touches the disk ends. Its
    assignment, if one was made, is taken back, or the replica is reported LOST
    where it was the source that failed. Without a working disk the process halts,
    and without that of the metadata log, where a slot `keeps_metadata`.

    Source: `ReplicaManager.handleLogDirFailure`, `ReplicaAlterLogDirsThread.removePartitions`; KIP-858.
    """
    from_source = all_of(host.serving(), host.current() == slot)
    at_target = all_of(host.moving(), host.future == slot)
    origin = host.actual()
    undecided = negate(host.promotion == IDLE)
    if rules.revert_only_while_queued:
        undecided = host.promotion == QUEUED
    one = host.disks.just(slot)
    left = evolve(
        host,
        disks=host.disks.minus(one),
        failed=choose(host.up, host.failed.plus(one), host.failed),
        replica=choose(from_source, OFFLINE, host.replica),
        promotion=choose(any_of(from_source, at_target), IDLE, host.promotion),
    )
    left = left.enqueue(all_of(at_target, undecided), origin)
    if not rules.lost_source_unreported:
        told = origin if rules.lost_source_reverts else LOST
        left = left.enqueue(all_of(from_source, negate(host.promotion == IDLE)), told)
    halts = left.disks.is_empty()
    if keeps_metadata and not rules.metadata_failure_survived:
        halts = any_of(halts, slot == METADATA)
    return choose(halts, left.stopped(), left)


RUNNING, MIGRATION, UPGRADE = 0, 1, 2
"""How a scope starts: a new partition; brokers stopped to leave ZooKeeper mode; brokers without directories on file."""


@frozen
class DirectoriesBudgets:
    """What may still go wrong, or be asked for; each counts down. Healing has no budget."""

    failures: Word
    crashes: Word
    clean_stops: Word
    fences: Word
    moves: Word
    copies: Word
    repairs: Word
    disk_changes: Word
    reassignments: Word
    records: Word


BUDGETS = (
    "failures", "crashes", "clean_stops", "fences", "moves", "copies", "repairs", "disk_changes", "reassignments",
    "records",
)  # fmt: skip


@frozen
class Placement:
    """The whole state."""

    controller: Elections  # the active controller's registration of partition and brokers
    hosts: tuple[Host, ...]  # the brokers
    written: Truth  # ghost: a record was committed; before, an empty log lacks nothing
    # ghost: a broker from outside ISR and ELR was elected, by the registrations before and after, or a disk with a log
    # was thrown away
    lossy: Truth
    left: DirectoriesBudgets  # budgets
    # by broker the directories that `cordoned.log.dirs` names; nothing where the scope cordons none
    cordoned: tuple[Slots, ...] = ()

    def cordoned_of(self, broker: Word) -> Slots:
        """The cordoned directories of a broker, in a scope that cordons some."""
        return pick(self.cordoned, broker, self.cordoned[0])

    def barred(self, broker: Word) -> Slots | None:
        """The cordoned directories of a broker; None where the scope cordons none."""
        return self.cordoned_of(broker) if self.cordoned else None

    def host(self, broker: Word) -> Host:
        """A broker."""
        found: Host = record_of(self.hosts, broker)
        return found

    def with_host(self, broker: Word, host: Host) -> Placement:
        """The state with one broker replaced."""
        return evolve(self, hosts=with_record(self.hosts, broker, host))

    def assigned(self, broker: Word) -> Word:
        """The directory that the controller has for a replica."""
        return self.controller.directories.of(broker)

    def spend(self, budget: str, amount: Word = 1) -> Placement:
        """The state with less of a budget."""
        return evolve(self, left=evolve(self.left, **{budget: getattr(self.left, budget) - amount}))

    def online(self, broker: Word, directory: Word, rules: PartitionRules) -> Truth:
        """Whether the controller takes a directory of a broker to be online."""
        return directory_online(self.controller, broker, directory, rules)


@frozen
class Told:
    """The report of a step: the acts and the refusals of the controller."""

    event: ElectionsEvent  # the controller's event
    refused: Truth  # a request was answered with CLUSTER_AUTHORIZATION_FAILED or STALE_BROKER_EPOCH


def decided(
    state: Placement, outcome: Outcome, rules: DirectoryRules, refused: Truth = False, proposed: BrokerSet | None = None
) -> Outcome:
    """The state after a controller event: every running broker it concerns has metadata to apply.

    `proposed` is the ISR that the event was asked for.
    """
    before, after = state.controller, outcome.state
    changed = outcome.event.partition_epoch_bumps > 0
    rewritten: Truth = False
    if rules.catch_up_as_coded:
        same = all_of(before.directories.same(after.directories), before.replicas.same(after.replicas))
        rewritten = all_of(changed, negate(same))

    def told_of(broker: Word, host: Host) -> Host:
        concerned = all_of(host.up, any_of(after.replicas.has(broker), negate(host.replica == ABSENT)))
        return evolve(
            host,
            behind=any_of(host.behind, all_of(concerned, changed)),
            moved=any_of(host.moved, all_of(concerned, rewritten)),
        )

    hosts = rewritten_records(state.hosts, told_of)
    joined = before.isr.none() if proposed is None else proposed
    lossy = any_of(state.lossy, outsider_leads(before, after, joined))
    told = Told(outcome.event, refused)
    return Outcome(evolve(state, controller=after, hosts=hosts, lossy=lossy), told, outcome.records)


def names_of(bounds: Mapping[str, int]) -> int:
    """How many directory ids a broker may come to have."""
    return bounds["directories"] + drawn_by(bounds)


def drawn_by(bounds: Mapping[str, int]) -> int:
    """How many ids a broker may have to generate: for each exchanged disk, and for one that never had an id."""
    return bounds["disk-changes"] + (1 if bounds["start"] == MIGRATION else 0)


def _controller(setting: Setting) -> Setting:
    """The setting of `elections` as the controller here: as many ids as a broker may come to have."""
    return evolve(setting, bounds={**setting.bounds, "directories": names_of(setting.bounds)})


def layout(setting: Setting) -> Placement:
    """The domain of each field."""
    slots, names = setting["directories"], names_of(setting.bounds)
    some, slot = Slots(subset_of(slots)), ints(NOTHING, slots - 1)
    assignment = ints(NOTHING, FIRST_LOCAL + names - 1)
    changes = drawn_by(setting.bounds) > 0
    host = Host(
        up=truth(), seen=truth(), disks=some,
        names=tuple(ints(NOTHING if changes else s, names - 1 if changes else s) for s in range(slots)),
        drawn=ints(0, drawn_by(setting.bounds)),
        logs=some, whole=some, future=slot if setting["moves"] else ints(NOTHING, NOTHING), copied=truth(),
        replica=ints(ABSENT, UNOPENED), known=ints(NEW, FIRST_LOCAL + names - 1), leads=truth(),
        behind=truth(), moved=truth(), promotion=ints(IDLE, ACCEPTED if setting["moves"] else IDLE),
        ready=assignment, sent=assignment, answered=truth(),
        late=assignment if setting["copies"] else ints(NOTHING, NOTHING), late_stale=truth(),
        failed=some, told=some, clean=Slots(subset_of(slots if setting["clean-stops"] else 0)),
    )  # fmt: skip
    return Placement(
        controller=elections.layout(_controller(setting)),
        hosts=for_any_number(host) if setting["brokers"] == ANY else (host,) * setting["brokers"],
        written=truth(), lossy=truth(),
        left=DirectoriesBudgets(**{name: ints(0, setting[name.replace("_", "-")]) for name in BUDGETS}),
        cordoned=_cordons(setting, some),
    )  # fmt: skip


def _cordons(setting: Setting, each: Slots) -> tuple[Slots, ...]:
    """A set of slots for each broker, where the scope cordons directories."""
    if not setting["cordons"]:
        return ()
    if setting["brokers"] == ANY:
        raise ScopeError("any number of brokers cordons no directory: leave out cordons")
    return (each,) * setting["brokers"]


def initial(setting: Setting) -> list[Placement]:
    """One state: a partition on the first brokers, led by the first, as the bound `start` says."""
    if setting["brokers"] == ANY:
        return [all_where(lambda state: _new_topic(setting, state))]
    brokers, slots, began = setting["brokers"], setting["directories"], setting["start"]
    replicas = BrokerSet.of(range(setting["replication"]))
    everyone = BrokerSet.of(range(brokers))
    first = int(default_directory(True, slots, FIRST_LOCAL, True, setting.rules.partition))
    assigned = MIGRATING if began else first
    controller = Elections(
        replicas=Replicas.of(range(setting["replication"]), brokers),
        directories=DirectoryMap(tuple(assigned if replicas.has(b) else UNASSIGNED for b in range(brokers))),
        isr=replicas, elr=BrokerSet(), last_known_elr=AtMostOne(), removing=BrokerSet(), adding=BrokerSet(),
        leader=NO_LEADER if began == MIGRATION else 0, recovering=False,
        registered=everyone, fenced=everyone if began == MIGRATION else BrokerSet(), shutting_down=BrokerSet(),
        online_dirs=(BrokerSet() if began else BrokerSet.of(range(slots)),) * brokers,
        min_insync_replicas=1, unclean_election=False,
        elr_enabled=bool(setting["elr"]) and setting.rules.partition.elr_available,
    )  # fmt: skip
    hosts = tuple(_host(setting, b, bool(replicas.has(b)), assigned) for b in range(brokers))
    left = DirectoriesBudgets(**{name: setting[name.replace("_", "-")] for name in BUDGETS})
    return [Placement(controller, hosts, began != RUNNING, False, left, _cordons(setting, Slots()))]


def _new_topic(setting: Setting, state: Placement) -> Conjuncts:
    """What holds of a topic that is new on any of the brokers that have registered; the others do not run."""
    if setting["start"] != RUNNING:
        raise ScopeError("any number of brokers begins with a new topic: leave out start")
    controller, slots = state.controller, setting["directories"]
    elr = bool(setting["elr"]) and setting.rules.partition.elr_available
    assigned = int(default_directory(True, slots, FIRST_LOCAL, True, setting.rules.partition))
    hosts = {replica: _host(setting, 0, replica, assigned) for replica in (False, True)}

    def begins(broker: Word, host: Host) -> Truth:
        running = choose(controller.replicas.has(broker), hosts[True], hosts[False])
        return same_leaves(host, choose(controller.registered.has(broker), running, hosts[False].stopped()))

    left = {name: getattr(state.left, name) == setting[name.replace("_", "-")] for name in BUDGETS}
    return {
        **new_topic(controller, slots, elr),
        **{f"{name} are left": truth for name, truth in left.items()},
        "nothing is written, nor lost": none_of(state.written, state.lossy),
        **{f"host of {name}": truth for name, truth in each_record(state.hosts, begins).items()},
    }


def _host(setting: Setting, broker: int, replica: bool, assigned: int) -> Host:
    """A broker of the start: before any log, or with its log in one of its directories."""
    slots, began = setting["directories"], setting["start"]
    everything = Slots.of(range(slots))
    log = Slots.of([broker % slots] if replica and began else [])
    host = Host(
        up=True, seen=True, disks=everything,
        names=tuple(NOTHING if began == MIGRATION and s == slots - 1 else s for s in range(slots)), drawn=0,
        logs=log, whole=log, future=NOTHING, copied=False,
        replica=SERVING if replica and began else ABSENT,
        known=(assigned if began else NEW) if replica else NOTHING, leads=bool(began) and broker == 0,
        behind=not began and replica, moved=False, promotion=IDLE,
        ready=NOTHING, sent=NOTHING, answered=False, late=NOTHING, late_stale=False,
        failed=Slots(), told=Slots(), clean=Slots(),
    )  # fmt: skip
    return host.stopped() if began == MIGRATION else host
