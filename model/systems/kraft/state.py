"""State of `kraft`: `replication` and `directories` side by side, with one controller.

What each half says of the other's matters is derived here: a broker's log in
`replication` is the readable one, and a log that is not the old one is empty.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.system import Outcome, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, choose, negate, word
from kraftcheck.model.partition.registration import FIRST_LOCAL, DirectoryMap
from kraftcheck.model.rules.groups import DirectoryRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.directories import state as directories
from kraftcheck.model.systems.directories.state import ABSENT, IDLE, NOTHING, SERVING, Host, Placement, Slots
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.model.systems.elections.triggers import start
from kraftcheck.model.systems.kraft import second
from kraftcheck.model.systems.kraft.second import Second
from kraftcheck.model.systems.replication import state as data_plane
from kraftcheck.model.systems.replication import system as replication
from kraftcheck.model.systems.replication.log import smaller
from kraftcheck.model.systems.replication.state import STOPPED_UNCLEAN, Broker, Replication
from kraftcheck.model.triggers.table import effective_min_isr


@frozen
class Kraft:
    """The whole state."""

    data: Replication  # logs, watermarks, messages, and the controller's registration, directories included
    hosts: tuple[Host, ...]  # processes, disks and assignments
    left: directories.DirectoriesBudgets  # budgets of disks and moves; the others are those of `data`
    others: tuple[Second, ...] = ()  # a second partition on the same brokers, where the scope has one
    deletions: Word = 0  # budget: how often its topic may be deleted

    def placement(self) -> Placement:
        """The state as `directories` sees it; a log that is made always lacks records there."""
        return Placement(self.data.controller, self.hosts, True, self.data.lossy, self.left)

    def host(self, broker: Word) -> Host:
        """A broker's process and disks."""
        return self.placement().host(broker)

    def serves(self, broker: Word) -> Truth:
        """Whether a broker has its log open."""
        return self.host(broker).serving()


def decided(state: Kraft, outcome: Outcome, rules: RuleSet) -> Kraft:
    """The state after a controller event, in both halves."""
    placed = directories.decided(state.placement(), outcome, rules.directories).state
    data = data_plane.decided(state.data, outcome, rules.data_plane)
    return evolve(state, data=evolve(data, controller=placed.controller), hosts=placed.hosts)


def replicated(state: Kraft, data: Replication, rules: DirectoryRules) -> Kraft:
    """The state after a step of the data plane: brokers hear of a changed registration, future logs fall behind."""
    quiet = start(data.controller).event
    changed = word(negate(_same(state.data.controller, data.controller)))
    outcome = Outcome(data.controller, evolve(quiet, partition_epoch_bumps=changed))
    placed = directories.decided(state.placement(), outcome, rules).state
    hosts = []
    for host, old, new in zip(placed.hosts, state.data.brokers, data.brokers, strict=True):
        level = all_of(*(a == b for a, b in zip(old.log.entries, new.log.entries, strict=True)))
        hosts.append(evolve(host, copied=all_of(host.copied, level)))
    return evolve(state, data=data, hosts=tuple(hosts))


def _same(a: Elections, b: Elections) -> Truth:
    recovering = word(a.recovering) == word(b.recovering)
    known = a.last_known_elr.same(b.last_known_elr)
    return all_of(a.leader == b.leader, a.isr.same(b.isr), a.elr.same(b.elr), known, recovering)


def moved(state: Kraft, data: Replication, placed: Placement) -> Kraft:
    """The first partition after a step of processes and disks: replaced logs are empty, stopped processes stopped."""
    brokers = tuple(_synced(broker, host) for broker, host in zip(data.brokers, placed.hosts, strict=True))
    hosts = tuple(evolve(host, whole=host.logs) for host in placed.hosts)
    after = evolve(data, controller=placed.controller, brokers=brokers)
    return Kraft(after, hosts, placed.left, state.others, state.deletions)


def _synced(broker: Broker, host: Host) -> Broker:
    replaced = all_of(host.has_log(), negate(host.whole.has(host.current())))
    log = choose(replaced, broker.log.truncate(0), broker.log)
    status = choose(all_of(broker.running(), negate(host.up)), STOPPED_UNCLEAN, broker.status)
    return evolve(broker, log=log, high_watermark=smaller(broker.high_watermark, log.end()), status=status)


def layout(setting: Setting) -> Kraft:
    """The domain of each field."""
    data, placed = replication.layout(_of_first(setting)), directories.layout(setting)
    controller = evolve(
        data.controller, directories=placed.controller.directories, online_dirs=placed.controller.online_dirs
    )
    return Kraft(
        evolve(data, controller=controller), placed.hosts, placed.left, second.layout(setting),
        ints(0, setting["deletions"]),
    )  # fmt: skip


def initial(setting: Setting) -> list[Kraft]:
    """An empty partition on live brokers: every log is open in the first directory, and assigned there."""
    (data,) = replication.initial(_of_first(setting))
    everything = Slots.of(range(setting["directories"]))
    replicas, brokers = data.controller.replicas, range(setting["brokers"])
    controller = evolve(
        data.controller,
        directories=DirectoryMap(tuple(choose(replicas.has(b), FIRST_LOCAL, 1) for b in brokers)),
        online_dirs=(everything,) * len(brokers),
    )
    hosts = tuple(_host(setting, bool(replicas.has(b)), b == 0, everything) for b in brokers)
    left = directories.DirectoriesBudgets(**{name: setting[name.replace("_", "-")] for name in directories.BUDGETS})
    others = second.initial(setting)
    return [Kraft(evolve(data, controller=controller), hosts, left, others, setting["deletions"])]


def _of_first(setting: Setting) -> Setting:
    """The setting of the first partition: its min ISR is at most its replication factor."""
    least = int(effective_min_isr(setting["min-isr"], setting["replication"]))
    return evolve(setting, bounds={**setting.bounds, "min-isr": least})


def _host(setting: Setting, replica: bool, leads: bool, everything: Slots) -> Host:
    log = Slots.of([0] if replica else [])
    return Host(
        up=True, seen=True, disks=everything, names=tuple(range(setting["directories"])), drawn=0, logs=log, whole=log,
        future=NOTHING, copied=False, replica=SERVING if replica else ABSENT, known=FIRST_LOCAL if replica else NOTHING,
        leads=leads, behind=False, moved=False, promotion=IDLE, ready=NOTHING, sent=NOTHING, answered=False,
        late=NOTHING, late_stale=False, failed=Slots(), told=Slots(), clean=Slots(),
    )  # fmt: skip
