"""State of the `directories` system: the controller's registration, the brokers with their disks, and budgets.

The controller is the `elections` system itself: its triggers are reused, none is restated.
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
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, negate, none_of
from kraftcheck.model.partition.registration import FIRST_LOCAL, MIGRATING, UNASSIGNED, DirectoryMap
from kraftcheck.model.rules.groups import DirectoryRules, PartitionRules
from kraftcheck.model.systems.directories.host import (
    ABSENT,
    ACCEPTED,
    IDLE,
    NEW,
    NOTHING,
    SERVING,
    UNOPENED,
    Host,
    Slots,
)
from kraftcheck.model.systems.elections import state as elections
from kraftcheck.model.systems.elections.any_number import new_topic
from kraftcheck.model.systems.elections.state import Elections, ElectionsEvent, directory_online, outsider_leads
from kraftcheck.model.triggers.table import default_directory

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
    """The whole state.

    Attributes:
        controller: the active controller's registration of partition and brokers.
        hosts: the brokers.
        written: ghost: a record was committed; before, an empty log lacks nothing.
        lossy: ghost: a broker from outside ISR and ELR was elected, by the registrations before and after, or a disk
            with a log was thrown away.
        left: budgets.
    """

    controller: Elections
    hosts: tuple[Host, ...]
    written: Truth
    lossy: Truth
    left: DirectoriesBudgets

    def host(self, broker: Word) -> Host:
        """A broker."""
        host: Host = record_of(self.hosts, broker)
        return host

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
    """What a step reports besides the state: what the controller did, and what it refused.

    Attributes:
        event: the controller's event.
        refused: a request was answered with CLUSTER_AUTHORIZATION_FAILED or STALE_BROKER_EPOCH.
    """

    event: ElectionsEvent
    refused: Truth


def decided(
    state: Placement, outcome: Outcome, rules: DirectoryRules, refused: Truth = False,
    proposed: BrokerSet | None = None,
) -> Outcome:  # fmt: skip
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
    )  # fmt: skip


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
    return [Placement(controller, hosts, began != RUNNING, False, left)]


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
