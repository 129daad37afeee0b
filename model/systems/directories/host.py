"""One broker: its process, its disks, the logs on them, and what it still has to tell the controller.

Directories of a broker are numbered 0.. as *slots*; a slot is a disk with a
path. A slot's *name* is the directory id in its meta.properties, numbered as
the controller's registration numbers it (`FIRST_LOCAL + name` in assignments).
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, none_of, pick, rule
from kraftcheck.model.partition.registration import FIRST_LOCAL, LOST
from kraftcheck.model.rules.groups import DirectoryRules

ABSENT = 0
"""The broker hosts no replica, as far as it knows."""
SERVING = 1
"""The replica's log is open."""
OFFLINE = 2
"""The replica's directory failed; the broker does nothing for it until it restarts."""
UNOPENED = 3
"""The broker hosts the replica but has opened no log for it."""

NOTHING = -1
"""No slot; no assignment."""
NEW = -2
"""The known assignment of a partition that the metadata applied does not have yet."""

METADATA = 0
"""The slot of the metadata log, where one of these directories has it: by default the first of `log.dirs`."""

IDLE, QUEUED, ACCEPTED = 0, 1, 2
"""How far the assignment of a move has come (`ReassignmentState`)."""

Slots = BrokerSet
"""A set of slots; the same kind of mask that holds sets of brokers."""


@frozen
class Host:
    """One broker.

    Attributes:
        up: the process runs, registered since its start.
        seen: it has applied metadata that has the partition.
        disks: slots whose disk works.
        names: the directory id in each slot's meta.properties; NOTHING: none.
        drawn: how many ids were generated so far.
        logs: slots that hold a log of the partition, readable or not.
        whole: those whose log has every committed record.
        future: the slot that holds a future log, or NOTHING.
        copied: the future log is level with the current one.
        replica: ABSENT, SERVING, OFFLINE or UNOPENED.
        known: the replica's assignment in the metadata applied.
        leads: it leads, by the metadata applied.
        behind: there is metadata of the partition that it has not applied.
        moved: such metadata rewrote the directories.
        promotion: IDLE, QUEUED or ACCEPTED.
        ready, sent: the assignment waiting, and that in flight; NOTHING: none.
        answered: the controller has processed the one in flight.
        late: a copy of an abandoned request that may still arrive; NOTHING: none.
        late_stale: that copy is of an earlier incarnation.
        failed: slots that failed since the process started, as it noticed.
        told: those a heartbeat has acknowledged.
        clean: those in which the last process left the mark of a clean stop.
    """

    up: Truth
    seen: Truth
    disks: Slots
    names: tuple[Word, ...]
    drawn: Word
    logs: Slots
    whole: Slots
    future: Word
    copied: Truth
    replica: Word
    known: Word
    leads: Truth
    behind: Truth
    moved: Truth
    promotion: Word
    ready: Word
    sent: Word
    answered: Truth
    late: Word
    late_stale: Truth
    failed: Slots
    told: Slots
    clean: Slots

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
