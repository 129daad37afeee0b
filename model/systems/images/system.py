"""The `images` system: state, actions, scopes and bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import evolve, frozen

from kraftcheck.model.language.layout import ints, truth
from kraftcheck.model.language.system import Action, Bound, Conjuncts, Legend, Setting, System, events, sent
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, none_of, rule
from kraftcheck.model.rules.groups import ImageRules
from kraftcheck.model.systems.parts import OfSetting

NOBODY = -1  # the number of a topic, where there is none


@frozen
class Topic:
    """A topic of one partition."""

    exists: Truth = False  # whether there is such a topic
    mine: Truth = False  # whether the broker is a replica
    elr: Truth = False  # whether some replica is in the ELR
    unassigned: Truth = False  # whether a replica is in no directory yet (UNASSIGNED), which an old version cannot say


@frozen
class Change:
    """The change of one topic by a batch."""

    changed: Truth = False  # whether it is among those that the batch changes
    based: Truth = False  # whether it is joined to what the image has, and not to an empty topic
    topic: Topic = Topic()  # as the batch leaves it
    deleted: Truth = False  # whether it is among those of the image that the batch has deleted


@frozen
class Log:
    """The log of one topic on the broker."""

    held: Truth = False  # whether the broker has it
    offline: Truth = False  # whether it was on a disk that has failed


@frozen
class Images:
    """The whole state; topics by the order of their creation."""

    made: Word  # how many topics were created
    topics: tuple[Topic, ...]  # as all records have them
    directories: Truth  # whether the metadata version has directories
    elr_enabled: Truth  # whether ELR is switched on
    up: Truth  # whether the broker runs
    image: tuple[Topic, ...]  # the topics of its image
    knows: Truth  # whether its image is of a version that has directories
    changes: tuple[Change, ...]  # what the records after the image change, by topic
    created: Word  # the topic that the batch created last of that name, or NOBODY
    pending: Truth  # whether there are records after the image
    failed: Truth  # whether a batch could not be joined
    logs: tuple[Log, ...]  # its logs, by topic
    # of which the file that names the topic is not on disk yet; nothing where the scope has no crashes
    unnamed: tuple[Truth, ...] = ()

    def current(self) -> Word:
        """The topic that exists; NOBODY if none does."""
        found: Word = NOBODY
        for number, topic in enumerate(self.topics):
            found = choose(topic.exists, number, found)
        return found


def layout(setting: Setting) -> Images:
    """The domain of each field."""
    count = setting["topics"]
    topic = Topic(truth(), truth(), truth(), truth())
    return Images(
        ints(0, count), (topic,) * count, truth(), truth(), truth(), (topic,) * count, truth(),
        (Change(truth(), truth(), topic, truth()),) * count, ints(NOBODY, count - 1), truth(), truth(),
        (Log(truth(), truth()),) * count, (truth(),) * count * setting["crashes"],
    )  # fmt: skip


def initial(setting: Setting) -> list[Images]:
    """A broker of a cluster without topics and with ELR on, whose version has directories, or has none yet."""
    count = setting["topics"]
    none = (Topic(),) * count
    changes, logs = (Change(),) * count, (Log(),) * count
    unnamed = (False,) * count * setting["crashes"]
    return [
        Images(0, none, directories, True, True, none, directories, changes, NOBODY, False, False, logs, unnamed)
        for directories in (False, True)
    ]


Record = Callable[[Topic], Topic]  # what a record makes of a topic

CONTROLLER, BROKER = "controller", "broker"


def lanes(bounds: Mapping[str, int]) -> tuple[str, ...]:
    """The controller and the broker."""
    return (CONTROLLER, BROKER)


LEGEND = Legend(
    lanes,
    {
        "create": sent(CONTROLLER, BROKER, "TopicRecord, PartitionRecord"),
        "delete": sent(CONTROLLER, BROKER, "RemoveTopicRecord"),
        "reassign": sent(CONTROLLER, BROKER, "PartitionChangeRecord"),
        "shrink": sent(CONTROLLER, BROKER, "PartitionChangeRecord"),
        "clear_elr": sent(CONTROLLER, BROKER, "ClearElrRecord"),
        "disable_elr": sent(CONTROLLER, BROKER, "FeatureLevelRecord"),
        "raise_version": sent(CONTROLLER, BROKER, "FeatureLevelRecord"),
        **events(BROKER, "publish", "load_snapshot", "stop", "start", "fail_disk", "crash", "name_logs"),
    },
    {"topics created": "made", "records to join": "pending"},
)

BOUNDS = (
    Bound("topics", 1, 3, "topics of one name that are created in turn"),
    Bound("crashes", 0, 1, "whether the broker may crash before its logs name their topics"),
)

SCOPES = {"tiny": {"topics": 2}, "small": {"topics": 3}, "crashes": {"topics": 2, "crashes": 1}}


@frozen
class Joining(OfSetting[ImageRules]):
    """The steps of one setting."""

    GROUP = "images"

    # Records: each changes the topics, and what a running broker has to join.

    def written(self, state: Images, topics: tuple[Topic, ...], changes: tuple[Change, ...]) -> Images:
        """The state after a record: a broker that does not run reads it at its start."""
        kept = tuple(choose(state.up, new, old) for new, old in zip(changes, state.changes, strict=True))
        return evolve(state, topics=topics, changes=kept, pending=state.up)

    def may_create(self, state: Images, mine: Word) -> Conjuncts:
        """There is no topic of that name."""
        return {"there is no topic": state.current() == NOBODY, "one is left": state.made < self.setting["topics"]}

    def create(self, state: Images, mine: Word) -> Images:
        """A topic is created: with the broker as a replica, or without it."""
        topic = Topic(True, mine == 1, False, state.directories)
        topics = tuple(choose(state.made == n, topic, old) for n, old in enumerate(state.topics))
        changes = tuple(choose(state.made == n, Change(True, False, topic), old) for n, old in enumerate(state.changes))
        after = self.written(state, topics, changes)
        return evolve(after, made=state.made + 1, created=choose(state.up, state.made, state.created))

    def exists(self, state: Images) -> Conjuncts:
        """There is a topic."""
        return {"there is a topic": state.current() > NOBODY}

    @rule("image.deletion-takes-a-topic-out", switches=("deleted-topic-stays-created",),
          source="KAFKA-19497; PR 20242; TopicsDelta.replay",
          says="A topic that a batch deletes is no longer among those that the batch changes, or has created.",
          )  # fmt: skip
    def delete(self, state: Images) -> Images:
        """The topic is deleted."""
        gone = state.current()
        topics = tuple(choose(gone == n, Topic(), old) for n, old in enumerate(state.topics))
        changes = tuple(
            choose(gone == n, Change(deleted=state.image[n].exists), old) for n, old in enumerate(state.changes)
        )
        after = self.written(state, topics, changes)
        if self.rules.deleted_topic_stays_created:
            return after
        return evolve(after, created=choose(all_of(state.up, state.created == gone), NOBODY, state.created))

    def changed(self, state: Images, record: Record) -> Images:
        """The state after a record that changes the topic that exists."""
        number = state.current()
        topics = tuple(choose(number == n, record(old), old) for n, old in enumerate(state.topics))
        joined = self.joined(state, lambda n: number == n, record)
        return self.written(state, topics, joined)

    def joined(self, state: Images, of: Callable[[int], Truth], record: Record) -> tuple[Change, ...]:
        """What a batch changes once a record of some topics is joined: to the batch's, or else to the image's."""

        def after(n: int, old: Change) -> Change:
            topic = record(choose(old.changed, old.topic, state.image[n]))
            return choose(of(n), Change(True, choose(old.changed, old.based, True), topic, old.deleted), old)

        return tuple(after(n, old) for n, old in enumerate(state.changes))

    @rule("image.old-version-names-no-directory", switches=("merge-fills-unassigned",),
          source="KAFKA-16583; PR 16118; PartitionRegistration.merge",
          says="A change of replicas without directories leaves what a version without them can say.")  # fmt: skip
    def reassign(self, state: Images) -> Images:
        """The broker becomes a replica, or is one no longer; the ELR loses it."""

        def record(topic: Topic) -> Topic:
            # Without directories the others of the replicas are in none that could be named, assigned or not.
            filled = negate(topic.mine) if self.rules.merge_fills_unassigned else topic.unassigned
            return evolve(topic, mine=negate(topic.mine), unassigned=any_of(filled, state.directories))

        right = state.directories
        after = self.changed(state, record)
        number = state.current()
        topics = tuple(
            choose(number == n, evolve(topic, unassigned=any_of(old.unassigned, right)), topic)
            for n, (topic, old) in enumerate(zip(after.topics, state.topics, strict=True))
        )
        return evolve(after, topics=topics)

    def may_shrink(self, state: Images) -> Conjuncts:
        """The topic that exists has no ELR, which is on."""
        none = none_of(*(topic.elr for topic in state.topics))
        return {**self.exists(state), "ELR is on": state.elr_enabled, "the ELR is empty": none}

    def shrink(self, state: Images) -> Images:
        """The ISR shrinks below min ISR: a replica enters the ELR."""
        return self.changed(state, lambda topic: evolve(topic, elr=True))

    def may_clear(self, state: Images, named: Word) -> Conjuncts:
        """One topic is named that exists, or all are meant."""
        return {"the topic exists": implies(named == 1, state.current() > NOBODY)}

    @rule("image.cleared-elr-is-of-living-topics", switches=("clear-elr-reads-old-image", "clear-elr-unhandled"),
          source="KAFKA-19383; PR 19916; KAFKA-18649; TopicsDelta",
          says="ClearElrRecord empties the ELR of the topic that has the name now, or of every topic that is not "
               "deleted.")  # fmt: skip
    def clear_elr(self, state: Images, named: Word) -> Images:
        """The ELR is emptied, of the topic that is named, or of all."""
        topics = tuple(evolve(topic, elr=False) for topic in state.topics)
        if self.rules.clear_elr_unhandled:
            return self.written(state, topics, state.changes)
        meant = self._meant(state, named)
        dangling = any_of(*(all_of(one, self._unknown(state, n)) for n, one in enumerate(meant)))
        joined = self.joined(state, lambda n: meant[n], lambda topic: evolve(topic, elr=False))
        after = self.written(state, topics, joined)
        return evolve(after, failed=any_of(state.failed, all_of(state.up, dangling)))

    def _meant(self, state: Images, named: Word) -> list[Truth]:
        """The topics that a ClearElrRecord is joined to."""
        old: Word = NOBODY
        for n, topic in enumerate(state.image):
            old = choose(topic.exists, n, old)
        if self.rules.clear_elr_reads_old_image:
            of_name = choose(old > NOBODY, old, state.created)
        else:
            of_name = choose(state.created > NOBODY, state.created, old)
        found = list[Truth]()
        for n, topic in enumerate(state.image):
            is_old = self.rules.clear_elr_reads_old_image
            every = topic.exists if is_old else any_of(topic.exists, state.created == n)
            one = any_of(all_of(named == 1, of_name == n), all_of(named == 0, every))
            stays = True if is_old else negate(state.changes[n].deleted)
            found.append(all_of(one, stays))
        return found

    def _unknown(self, state: Images, number: int) -> Truth:
        """Whether neither the image nor the batch has a topic."""
        return none_of(state.image[number].exists, state.changes[number].changed)

    def may_disable_elr(self, state: Images) -> Conjuncts:
        """ELR is on."""
        return {"ELR is on": state.elr_enabled}

    def disable_elr(self, state: Images) -> Images:
        """ELR is switched off, and what partitions have of it stays."""
        return evolve(state, elr_enabled=False, pending=state.up)

    def may_raise(self, state: Images) -> Conjuncts:
        """The version has no directories yet."""
        return {"the version has no directories": negate(state.directories)}

    def raise_version(self, state: Images) -> Images:
        """The version gets directories."""
        return evolve(state, directories=True, pending=state.up)

    # The broker.

    def may_publish(self, state: Images) -> Conjuncts:
        """A batch has been read."""
        return {**self.running(state), "records are to be joined": state.pending}

    def publish(self, state: Images) -> Images:
        """The image becomes what the batch makes of it, and logs follow."""
        return self.published(state, state.changes)

    def published(self, state: Images, changes: tuple[Change, ...]) -> Images:
        """The state once changes are joined to the image: deletions first."""

        def after(old: Topic, change: Change) -> Topic:
            return choose(change.changed, change.topic, choose(change.deleted, Topic(), old))

        image = tuple(after(old, change) for old, change in zip(state.image, changes, strict=True))
        joined = evolve(
            state, image=image, knows=state.directories, changes=(Change(),) * len(changes), created=NOBODY,
            pending=False,
        )  # fmt: skip
        return self.holding(joined, self.logs(state, changes))

    def holding(self, state: Images, logs: tuple[Log, ...]) -> Images:
        """The state with these logs: one that is made names its topic later."""
        unnamed = tuple(
            all_of(log.held, any_of(negate(old.held), late))
            for log, old, late in zip(logs, state.logs, state.unnamed, strict=False)
        )
        return evolve(state, logs=logs, unnamed=unnamed)

    @rule("image.logs-follow-replicas", switches=("removed-replica-keeps-log", "offline-without-topic-id"),
          source="TopicDelta.localChanges; ReplicaManager.applyDelta; KAFKA-16157; PR 15263",
          says="A broker deletes the logs of deleted topics and of removed replicas, then makes those "
               "of new replicas; what failed with another topic of that name does not count.")  # fmt: skip
    def logs(self, state: Images, changes: tuple[Change, ...]) -> tuple[Log, ...]:
        """The logs once a batch is joined."""
        kept = list[Log]()
        for log, old, change in zip(state.logs, state.image, changes, strict=True):
            removed = all_of(change.changed, change.based, old.mine, negate(change.topic.mine))
            if self.rules.removed_replica_keeps_log:
                removed = False
            gone = any_of(removed, all_of(change.deleted, old.mine))
            offline = log.offline if self.rules.offline_without_topic_id else all_of(log.offline, negate(gone))
            kept.append(Log(all_of(log.held, negate(gone)), offline))
        broken = any_of(*(log.offline for log in kept)) if self.rules.offline_without_topic_id else False

        def told(old: Topic, change: Change) -> Truth:
            # What makes a deleted topic come back changes its partition only where there is an ELR to empty.
            return all_of(change.changed, change.topic.mine, any_of(negate(change.deleted), old.elr))

        return tuple(
            evolve(log, held=any_of(log.held, all_of(told(old, change), none_of(log.offline, broken))))
            for log, old, change in zip(kept, state.image, changes, strict=True)
        )

    @rule("image.snapshot-is-joined-to-the-image", switches=("snapshot-forgets-replicas", "snapshot-keeps-deleted"),
          source="KAFKA-16892; PR 16206; TopicsDelta.finishSnapshot",
          says="A topic of a snapshot is joined to what the image has of it, and what the snapshot lacks is deleted.",
          )  # fmt: skip
    def load_snapshot(self, state: Images) -> Images:
        """A running broker that is too far behind reads a snapshot of everything."""

        def change(topic: Topic, old: Topic) -> Change:
            based = False if self.rules.snapshot_forgets_replicas else old.exists
            deleted = False if self.rules.snapshot_keeps_deleted else all_of(old.exists, negate(topic.exists))
            return Change(topic.exists, all_of(topic.exists, based), topic, deleted)

        pairs = zip(self.snapshot(state), state.image, strict=True)
        return self.published(state, tuple(change(topic, old) for topic, old in pairs))

    @rule("image.snapshot-has-the-elr", switches=("snapshot-drops-elr",),
          source="KIP-630; PartitionRegistration.toRecord",
          says="A snapshot has the ELR of a partition as records have left it, whether ELR is on or off.")  # fmt: skip
    def snapshot(self, state: Images) -> tuple[Topic, ...]:
        """The topics of a snapshot."""
        if not self.rules.snapshot_drops_elr:
            return state.topics
        return tuple(evolve(topic, elr=all_of(topic.elr, state.elr_enabled)) for topic in state.topics)

    def running(self, state: Images) -> Conjuncts:
        """The broker runs, and has joined every batch."""
        return {"the broker runs": state.up, "it has not failed": negate(state.failed)}

    def stop(self, state: Images) -> Images:
        """The broker ends in order."""
        return self.crash(self.name_logs(state))

    def may_name(self, state: Images) -> Conjuncts:
        """A log of a running broker does not name its topic yet."""
        return {"the broker runs": state.up, "a log names no topic": any_of(*state.unnamed)}

    def name_logs(self, state: Images) -> Images:
        """The files that name topics are written."""
        return evolve(state, unnamed=(False,) * len(state.unnamed))

    def crash(self, state: Images) -> Images:
        """The broker ends; what it has read is lost."""
        none = (Topic(),) * len(state.image)
        return evolve(
            state, up=False, image=none, changes=(Change(),) * len(none), created=NOBODY, pending=False, knows=False
        )

    @rule("image.log-without-topic-is-stray", switches=("unnamed-log-stops-start",), source="KAFKA-16814; PR 16165",
          says="A log that names no topic is a stray one, and keeps no broker from starting.")  # fmt: skip
    def may_start(self, state: Images) -> Conjuncts:
        """The broker does not run."""
        found = {"the broker does not run": negate(state.up)}
        if not self.rules.unnamed_log_stops_start:
            return found
        return {**found, "each log names its topic": none_of(*state.unnamed)}

    @rule("image.stray-logs-are-told-by-id", switches=("stray-found-by-name",), source="KAFKA-14616; PR 15230",
          says="A broker that starts deletes each log whose topic id is none of its replicas', and makes the missing.",
          )  # fmt: skip
    def start(self, state: Images) -> Images:
        """The broker reads everything, and looks through its disks."""
        named = any_of(*(topic.mine for topic in state.topics))
        kept = tuple(any_of(topic.mine, named if self.rules.stray_found_by_name else False) for topic in state.topics)
        old = tuple(Log(all_of(log.held, keep), all_of(log.offline, keep))
                    for log, keep in zip(state.logs, kept, strict=True))  # fmt: skip
        taken = any_of(*(log.held for log in old)) if self.rules.stray_found_by_name else False
        logs = tuple(
            evolve(log, held=any_of(log.held, all_of(topic.mine, none_of(log.offline, taken))))
            for log, topic in zip(old, state.topics, strict=True)
        )
        after = evolve(state, up=True, image=state.topics, knows=state.directories)
        return self.holding(after, logs)

    def may_fail(self, state: Images) -> Conjuncts:
        """The broker has a log."""
        return {"the broker runs": state.up, "it has a log": any_of(*(log.held for log in state.logs))}

    def fail_disk(self, state: Images) -> Images:
        """The disk of the broker's logs fails; another one is left."""
        return self.holding(state, tuple(Log(False, any_of(log.held, log.offline)) for log in state.logs))


def actions(setting: Setting) -> list[Action]:
    """Records of the controller, and what the broker does."""
    do = Joining(setting)
    crashes = [
        Action("crash", do.crash, do.running, {}, "power failure"),
        Action("name_logs", do.name_logs, do.may_name, {}, "PartitionMetadataFile.maybeFlush"),
    ]
    return [
        *(crashes if setting["crashes"] else ()),
        Action("create", do.create, do.may_create, {"mine": (0, 1)}, "createTopics"),
        Action("delete", do.delete, do.exists, {}, "deleteTopics"),
        Action("reassign", do.reassign, do.exists, {}, "alterPartitionReassignments"),
        Action("shrink", do.shrink, do.may_shrink, {}, "alterPartition"),
        Action("clear_elr", do.clear_elr, do.may_clear, {"named": (0, 1)}, "incrementalAlterConfigs"),
        Action("disable_elr", do.disable_elr, do.may_disable_elr, {}, "updateFeatures"),
        Action("raise_version", do.raise_version, do.may_raise, {}, "updateFeatures"),
        Action("publish", do.publish, do.may_publish, {}, "MetadataDelta.apply"),
        Action("load_snapshot", do.load_snapshot, do.running, {}, "MetadataLoader.handleLoadSnapshot"),
        Action("stop", do.stop, do.running, {}, "the end of a broker"),
        Action("start", do.start, do.may_start, {}, "the start of a broker"),
        Action("fail_disk", do.fail_disk, do.may_fail, {}, "LogManager.handleLogDirFailure"),
    ]


IMAGES = System(
    name="images",
    summary="a broker's image of the metadata: batches and snapshots that are joined to it, and the logs that follow",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    rules=(ImageRules,),
    legend=LEGEND,
    quiescent=lambda state: state.failed,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
