"""Broker processes and their disks: failures, stops, starts, and what operators do to disks."""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Conjuncts, Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, rule, word
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.directories.catchup import Assigned, decide, left, swapped, taken
from kraftcheck.model.systems.directories.host import METADATA, NOTHING, OFFLINE, Host, Slots, failing
from kraftcheck.model.systems.directories.state import Placement, decided
from kraftcheck.model.systems.elections.triggers import Triggers


@frozen
class Process:
    """The effects and guards under one rule set.

    Attributes:
        rules: the rule set.
        keeps_metadata: whether the first directory of a broker has the metadata log too.
    """

    rules: RuleSet
    keeps_metadata: bool = False

    def may_fail(self, state: Placement, broker: Word, slot: Word) -> Conjuncts:
        """Any working disk may fail, under a running process or not."""
        return {"disk works": state.host(broker).disks.has(slot), "a failure is left": state.left.failures > 0}

    def fail(self, state: Placement, broker: Word, slot: Word) -> Placement:
        """A disk fails."""
        after = failing(state.host(broker), slot, self.rules.directories, self.keeps_metadata)
        return state.spend("failures").with_host(broker, after)

    def may_crash(self, state: Placement, broker: Word) -> Conjuncts:
        """Any running process may stop."""
        return {"broker runs": state.host(broker).up, "a crash is left": state.left.crashes > 0}

    def crash(self, state: Placement, broker: Word) -> Placement:
        """The process dies; what is on its disks stays."""
        return state.spend("crashes").with_host(broker, state.host(broker).stopped())

    def may_stop(self, state: Placement, broker: Word) -> Conjuncts:
        """A controlled shutdown is granted once the broker leads nothing."""
        return {
            "broker runs": state.host(broker).up,
            "broker is in controlled shutdown": state.controller.shutting_down.has(broker),
            "broker leads nothing": negate(state.controller.leader == broker),
        }

    def stop(self, state: Placement, broker: Word) -> Placement:
        """The process ends, and marks every directory that works as closed."""
        host = state.host(broker)
        return state.with_host(broker, evolve(host.stopped(), clean=host.disks))

    @rule("restart.clean-with-every-directory", source="KIP-966; LogManager",
          switches=("clean-with-any-directory",),
          says="A start is clean only where each directory works and has the mark of the last clean stop.")  # fmt: skip
    def starts_clean(self, host: Host) -> Truth:
        """Whether the broker says that its last process stopped cleanly."""
        marked = host.clean.keep(host.disks)
        any_is_enough = self.rules.directories.clean_with_any_directory
        return negate(marked.is_empty()) if any_is_enough else marked.size() == len(host.names)

    @rule("directory-failure.unreported-stops-broker", source="KIP-858; semantics 6.7; semantics 9",
          switches=("timeout-only-if-leading",),
          says="A broker that cannot report a failed directory in time stops; in the document only if "
               "it leads in that directory.")  # fmt: skip
    @rule("assignment.into-failed-directory-stops-broker", source="KIP-858", switches=("assignments-never-time-out",),
          says="A broker that cannot tell in time which replica was in a failed directory stops.")  # fmt: skip
    def may_time_out(self, state: Placement, broker: Word) -> Conjuncts:
        """A failure, or an assignment into what failed, was not acknowledged for log.dir.failure.timeout.ms."""
        host, rules = state.host(broker), self.rules.directories
        untold = negate(host.failed.within(host.told))
        if not rules.assignments_never_time_out:
            untold = any_of(untold, host.assigns_what_failed())
        leading = all_of(host.leads, host.replica == OFFLINE) if rules.timeout_only_if_leading else True
        return {"broker runs": host.up, "a failure is not acknowledged": all_of(untold, leading)}

    def time_out(self, state: Placement, broker: Word) -> Placement:
        """The broker stops, so that the controller will elect another leader."""
        return state.with_host(broker, state.host(broker).stopped())

    @rule("startup.directory-ids-differ", source="KIP-858; LogManager.loadDirectoryIds",
          switches=("duplicate-ids-start",),
          says="A broker with two directories of one id does not start.")  # fmt: skip
    def may_start(self, state: Placement, broker: Word) -> Conjuncts:
        """A stopped process comes back: LogManager refuses two equal ids, and two logs of one partition."""
        host = state.host(broker)
        return {
            "broker is stopped": negate(host.up),
            "a directory works": negate(host.disks.is_empty()),
            "the metadata log can be read": any_of(not self.keeps_metadata, host.disks.has(METADATA)),
            "directory ids differ": any_of(self.rules.directories.duplicate_ids_start, host.distinct_ids()),
            "the partition is in one directory": host.logs.keep(host.disks).size() <= 1,
        }

    @rule("directory-id.reserved-not-drawn", source="KIP-858; DirectoryId.random; semantics 6.1",
          switches=("reserved-ids-drawn",), says="No reserved id is drawn for a directory.")  # fmt: skip
    def start(self, state: Placement, broker: Word) -> Outcome:
        """Missing ids are generated, and a new incarnation registers with the working directories."""
        host = state.host(broker)
        names, drawn = [], host.drawn
        for slot, name in enumerate(host.names):
            missing = all_of(host.disks.has(slot), name == NOTHING)
            # A drawn id was never seen before; the defect draws LOST.
            fresh = NOTHING if self.rules.directories.reserved_ids_drawn else len(host.names) + drawn
            names.append(choose(missing, fresh, name))
            drawn = drawn if self.rules.directories.reserved_ids_drawn else drawn + word(missing)
        begun, clean = evolve(host, up=True, names=tuple(names), drawn=drawn, clean=Slots()), self.starts_clean(host)
        told = Triggers(self.rules).new_incarnation(state.controller, broker, clean, begun.ids(begun.disks))
        return decided(state.with_host(broker, begun), told, self.rules.directories)

    @rule("registration.again-once-directories-are-known",
          source="KAFKA-16162; BrokerLifecycleManager.resendBrokerRegistrationUnlessZkMode",
          switches=("registration-without-directories",),
          says="A broker registers again when its registration lists no directory.")  # fmt: skip
    def may_register_again(self, state: Placement, broker: Word) -> Conjuncts:
        """The metadata version knows directories now, and the registration lists none (KAFKA-16162)."""
        return {
            "broker runs": state.host(broker).up,
            "no directory is on file": state.controller.dirs_of(broker).is_empty(),
            "broker is registered": state.controller.registered.has(broker),
            "brokers register again": not self.rules.directories.registration_without_directories,
        }

    @rule("registration.again-keeps-fencing", source="KAFKA-16757; catalogue 45", switches=("reregistration-fences",),
          says="Registering again in the same incarnation does not fence the broker.")  # fmt: skip
    def register_again(self, state: Placement, broker: Word) -> Placement:
        """The same incarnation registers with the directories it started with; failed ones are among them."""
        host, controller = state.host(broker), state.controller
        amended = controller.with_dirs(broker, host.ids(host.disks.plus(host.failed)))
        if self.rules.directories.reregistration_fences:
            amended = evolve(amended, fenced=amended.fenced.plus(BrokerSet().just(broker)))
        # The code looks at assignments again only where they change.
        looks = not self.rules.directories.catch_up_as_coded
        host = evolve(host, behind=any_of(host.behind, all_of(looks, state.controller.replicas.has(broker))))
        return evolve(state, controller=amended).with_host(broker, host)

    def may_repair(self, state: Placement, broker: Word, slot: Word) -> Conjuncts:
        """An operator repairs a disk of a stopped broker."""
        host = state.host(broker)
        return {
            "broker is stopped": negate(host.up),
            "disk does not work": negate(host.disks.has(slot)),
            "a repair is left": state.left.repairs > 0,
        }

    def repair(self, state: Placement, broker: Word, slot: Word) -> Placement:
        """The disk is back, with what was on it."""
        host = state.host(broker)
        return state.spend("repairs").with_host(broker, evolve(host, disks=host.disks.plus(host.disks.just(slot))))

    def may_replace(self, state: Placement, broker: Word, slot: Word) -> Conjuncts:
        """An operator puts in another disk."""
        return {"broker is stopped": negate(state.host(broker).up), "a change is left": state.left.disk_changes > 0}

    def replace(self, state: Placement, broker: Word, slot: Word) -> Placement:
        """An empty disk without meta.properties; what was on the old one is gone."""
        host = state.host(broker)
        one = host.disks.just(slot)
        gone = host.future == slot
        fresh = evolve(
            host,
            disks=host.disks.plus(one), logs=host.logs.minus(one), whole=host.whole.minus(one),
            clean=host.clean.minus(one),
            future=choose(gone, NOTHING, host.future), copied=all_of(host.copied, negate(gone)),
            names=tuple(choose(slot == s, NOTHING, name) for s, name in enumerate(host.names)),
        )  # fmt: skip
        after = state.spend("disk_changes").with_host(broker, fresh)
        return evolve(after, lossy=any_of(state.lossy, host.logs.has(slot)))

    def may_clone(self, state: Placement, broker: Word, slot: Word) -> Conjuncts:
        """An operator copies a meta.properties file from the first directory to another."""
        host = state.host(broker)
        return {
            "broker is stopped": negate(host.up),
            "a change is left": state.left.disk_changes > 0,
            "both disks work": all_of(host.disks.has(0), host.disks.has(slot)),
            "it is another directory": negate(slot == 0),
        }

    def clone(self, state: Placement, broker: Word, slot: Word) -> Placement:
        """Two directories have one id now."""
        host = state.host(broker)
        names = tuple(choose(slot == s, host.names[0], name) for s, name in enumerate(host.names))
        return state.spend("disk_changes").with_host(broker, evolve(host, names=names))

    def assignment(self, state: Placement, broker: Word) -> Assigned:
        """The partition in the newest metadata, as a broker reads it."""
        controller, directory = state.controller, state.assigned(broker)
        return Assigned(
            directory, state.online(broker, directory, self.rules.partition), controller.leader >= 0,
            controller.leader == broker, state.written,
        )  # fmt: skip

    def may_apply(self, state: Placement, broker: Word, slot: Word) -> Conjuncts:
        """There is metadata to apply; a directory is chosen only where a log is made."""
        host, assigned = state.host(broker), self.assignment(state, broker)
        replica = state.controller.replicas.has(broker)
        verdict = decide(swapped(host, assigned, self.rules.directories), assigned, self.rules.directories)
        chooses = all_of(replica, verdict.free)
        return {
            "broker runs": host.up,
            "metadata is newer": any_of(host.behind, negate(host.seen)),
            "the directory chosen works": choose(chooses, host.disks.has(slot), slot == 0),
        }

    def apply(self, state: Placement, broker: Word, slot: Word) -> Placement:
        """The broker applies all metadata there is: it opens, makes or deletes its log, and corrects its assignment."""
        host = state.host(broker)
        replica = state.controller.replicas.has(broker)
        after = choose(replica, taken(host, self.assignment(state, broker), slot, self.rules.directories), left(host))
        return state.with_host(broker, after)
