"""State of the `broker-ids` system, and the steps of a start."""

from __future__ import annotations

import itertools

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import ints, subset_of, truth
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Outcome, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, pick, rule
from kraftcheck.model.rules.groups import BrokerIdRules
from kraftcheck.model.systems.parts import WithBudgets, budget_domains, budgets, members

NONE = -1  # no id, no machine, no hostname
DOWN = 0  # the process does not run
STARTED = 1  # it runs, and has looked at nothing yet
SEARCHING = 2  # neither configuration, disk nor hostname gave an id: it looks for missing ids
TOPICS_READ = 3  # it has read which ids topics use, and not yet which are registered
CHOSEN = 4  # it has an id and is about to register
LIVE = 5  # it is registered, as far as it knows
FAILED = 6  # it stopped with an error; somebody may start it again
EXPLICIT = 0  # the id is configured, or in meta.properties
BY_HOSTNAME = 1  # the id is that of the node /brokers/hosts/<hostname>: step a)
BY_ELIMINATION = 2  # the id is the only missing one: step b.1)
FRESH = 3  # the id is new: step b.3)


@frozen
class Machine:
    """A machine with one broker process."""

    status: Word  # DOWN to FAILED
    name: Word  # its hostname
    configured: Word  # the id of command line or server.properties, or NONE
    meta: Word  # the id in meta.properties, or NONE; it stays with the data
    id: Word  # the id it is about to register or lives with, else NONE
    source: Word  # EXPLICIT to FRESH; EXPLICIT where there is no id
    seen: BrokerSet  # ids that topics used when it read them
    recorded: Truth  # it has written /brokers/hosts/<hostname> since it registered
    before: Word  # ghost: the id on the disk that it lost last, or NONE

    def is_live(self) -> Truth:
        """Whether the broker works."""
        return self.status == LIVE

    def is_down(self) -> Truth:
        """Whether no process runs."""
        return any_of(self.status == DOWN, self.status == FAILED)

    def ended(self, status: int) -> Machine:
        """The machine without its process."""
        return evolve(self, status=status, id=NONE, source=EXPLICIT, seen=BrokerSet(), recorded=False)

    def chose(self, number: Word, source: int) -> Machine:
        """The process with an id to register."""
        return evolve(self, status=CHOSEN, id=number, source=source, seen=BrokerSet())


@frozen
class BrokerIdsBudgets:
    """What may still go wrong or change; starting again has no budget."""

    stops: Word
    disk_losses: Word
    renames: Word
    session_losses: Word
    rewrites: Word


@frozen
class BrokerIds(WithBudgets):
    """The whole state."""

    machines: tuple[Machine, ...]  # the machines
    sessions: tuple[Word, ...]  # for each id the machine that holds /brokers/ids/<id>, or NONE
    places: tuple[Word, ...]  # for each id the hostname that this node carries; 0 where there is no node
    hosts: tuple[Word, ...]  # for each hostname the id of /brokers/hosts/<hostname>, or NONE
    used: BrokerSet  # ids that topics are assigned to
    drawn: Word  # the next id of the sequence
    homes: tuple[Word, ...]  # ghost: for each id the machine whose disk holds its data, or NONE
    # swept_id, swept_host: what the garbage collection read of a registered id; NONE when it is idle
    swept_id: Word
    swept_host: Word
    swept_node: Word  # the hostname whose node it read then, and is about to delete, or NONE
    noted: BrokerSet  # ids with a node /brokers/missing_ids/<id>; empty where no broker reads it
    # ids that the controller saw when it last listed /brokers/ids; empty where it does not watch them
    listed: BrokerSet
    owed: BrokerSet  # ids that were gone then, whose nodes it has still to create
    left: BrokerIdsBudgets  # budgets

    def machine(self, number: Word) -> Machine:
        """A machine."""
        return pick(self.machines, number, self.machines[0])

    def with_machine(self, number: Word, machine: Machine) -> BrokerIds:
        """The state with one machine replaced."""
        return evolve(self, machines=put(self.machines, number, machine))

    def registered(self) -> BrokerSet:
        """The children of /brokers/ids."""
        return members(owner >= 0 for owner in self.sessions)

    def missing(self) -> BrokerSet:
        """Ids that topics use and nobody has registered."""
        return self.used.minus(self.registered())

    def zombie(self, number: Word) -> Truth:
        """Whether a broker works on although its session is gone."""
        machine = self.machine(number)
        return all_of(machine.is_live(), negate(pick(self.sessions, machine.id, NONE) == number))


def notes(setting: Setting) -> bool:
    """Whether brokers find missing ids in nodes of their own."""
    rules = setting.rules.broker_ids
    return rules.identity_by_elimination and not rules.search_reads_every_topic


def late(setting: Setting) -> bool:
    """Whether it is a watch of the controller that keeps these nodes."""
    return notes(setting) and setting.rules.broker_ids.missing_ids_noted_late


def layout(setting: Setting) -> BrokerIds:
    """The domain of each field."""
    machines, ids, names = setting["machines"], setting["ids"], setting["hostnames"]
    number, someone = ints(NONE, ids - 1), ints(NONE, machines - 1)
    last = "the bound ids is how many broker ids there are; a broker that would be given a new one is left out"
    some, nobody = BrokerSet(subset_of(ids)), BrokerSet(ints(0, 0))
    machine = Machine(
        status=ints(DOWN, FAILED), name=ints(0, names - 1), configured=number, meta=number,
        id=ints(NONE, ids - 1, cap=last),
        source=ints(EXPLICIT, FRESH), seen=BrokerSet(subset_of(ids)), recorded=truth(), before=number,
    )  # fmt: skip
    return BrokerIds(
        machines=(machine,) * machines, sessions=(someone,) * ids, places=(ints(0, names - 1),) * ids,
        hosts=(number,) * names, used=BrokerSet(subset_of(ids)), drawn=ints(0, ids, cap=last), homes=(someone,) * ids,
        swept_id=number, swept_host=ints(NONE, names - 1), swept_node=ints(NONE, names - 1),
        noted=some if notes(setting) else nobody, listed=some if late(setting) else nobody,
        owed=some if late(setting) else nobody,
        left=budget_domains(BrokerIdsBudgets, setting),
    )  # fmt: skip


def initial(setting: Setting) -> list[BrokerIds]:
    """A cluster that runs: the first machines live with ids of their own, the others are new.

    With `configured`, every machine has an id in its configuration, each
    choice of them, two equal ones too, being one initial state.
    """
    machines, ids = setting["machines"], setting["ids"]
    members = [m for m in range(machines) if m < setting["running"]]
    states = []
    for configured in _configurations(setting):
        listed = tuple(_machine(setting, m, configured[m]) for m in range(machines))
        by_name = {listed[m].name: m for m in members if listed[m].recorded}  # on a shared host the last one wrote it
        owners = tuple(n if n in members else NONE for n in range(ids))
        states.append(
            BrokerIds(
                machines=listed, sessions=owners,
                places=tuple(listed[n].name if n in members else 0 for n in range(ids)),
                hosts=tuple(by_name.get(name, NONE) for name in range(setting["hostnames"])),
                used=BrokerSet.of(members), drawn=machines if setting["configured"] else len(members), homes=owners,
                swept_id=NONE, swept_host=NONE, swept_node=NONE, noted=BrokerSet(), owed=BrokerSet(),
                listed=BrokerSet.of(members) if late(setting) else BrokerSet(),
                left=budgets(BrokerIdsBudgets, setting),
            )
        )  # fmt: skip
    return states


def _machine(setting: Setting, number: int, configured: int) -> Machine:
    name = 0 if setting["shared"] and number == 1 else number
    blank = Machine(DOWN, name, configured, NONE, NONE, source=EXPLICIT, seen=BrokerSet(), recorded=False, before=NONE)
    if number >= setting["running"]:
        return blank
    knows = number < setting["machines"] - setting["older"]
    return evolve(blank, status=LIVE, meta=number, id=number, recorded=knows)


def _configurations(setting: Setting) -> list[tuple[int, ...]]:
    """The configurations of machines; a member's may differ from the id on its disk."""
    machines = setting["machines"]
    if not setting["configured"]:
        return [(NONE,) * machines]
    return list(itertools.product(range(machines), repeat=machines))


HOST_READS = 1  # reads of step a): the node of the hostname
LIST_READS = 1  # reads that tell what is registered: the children of /brokers/ids


def missing_id_reads(topics: int, every_topic: bool) -> int:
    """ZooKeeper reads until the missing ids are known, but for the list of what is registered.

    Args:
        topics: how many topics the cluster has.
        every_topic: each topic's node is read, after their list; otherwise the
            controller keeps the children of /brokers/missing_ids, one read.

    >>> missing_id_reads(1000, every_topic=True), missing_id_reads(1000, every_topic=False)
    (1001, 1)
    """
    return topics + 1 if every_topic else 1


@frozen
class BrokerIdsEvent:
    """The events of a step besides the change of the state."""

    reads: Word = 0  # ZooKeeper nodes that were read
    drew: Truth = False  # a new id was taken from the sequence


@frozen
class Startup:
    """The steps of a start under one rule set."""

    rules: BrokerIdRules  # the rule set
    topics: int  # how many topics the cluster has
    older: int  # from this machine on they run the release before: without steps a) and b), and without a mapping

    @rule("broker-id.failed-start-is-repeated", source="broker-id KIP, step b.2",
          switches=("failed-start-is-final",),
          says="A broker that stopped with an error is started again.")  # fmt: skip
    def may_start(self, state: BrokerIds, machine: Word) -> dict[str, Truth]:
        """Somebody, or a supervisor, starts the process."""
        m = state.machine(machine)
        return {"machine is down": m.status == DOWN if self.rules.failed_start_is_final else m.is_down()}

    def start(self, state: BrokerIds, machine: Word) -> Outcome:
        """The process begins."""
        begun = state.machine(machine).ended(STARTED)
        return Outcome(state.with_machine(machine, begun), BrokerIdsEvent())

    def may_decide(self, state: BrokerIds, machine: Word) -> dict[str, Truth]:
        """Configuration and disk are looked at first."""
        return {"process has started": state.machine(machine).status == STARTED}

    @rule("broker-id.disk-and-configuration-agree", source="broker-id KIP", switches=("configured-id-wins",),
          says="A broker whose configuration and disk have different ids stops.")  # fmt: skip
    @rule("broker-id.by-hostname", source="broker-id KIP, step a", switches=("identity-by-hostname",),
          says="A broker without an id tries the one recorded for its hostname.")  # fmt: skip
    def decide(self, state: BrokerIds, machine: Word) -> Outcome:
        """Configuration, then meta.properties, then the hostname's node: step a)."""
        m = state.machine(machine)
        explicit = any_of(m.configured >= 0, m.meta >= 0)
        differ = all_of(m.configured >= 0, m.meta >= 0, negate(m.configured == m.meta))
        if self.rules.configured_id_wins:
            differ = False
        own = m.chose(choose(m.configured >= 0, m.configured, m.meta), EXPLICIT)
        settled = state.with_machine(machine, choose(differ, m.ended(FAILED), own))
        if not self.rules.identity_by_hostname:
            otherwise = self._search(state, machine, m)
            return choose_outcome(explicit, Outcome(settled, BrokerIdsEvent()), otherwise)
        known = pick(state.hosts, m.name, NONE)
        first = all_of(self._asks_first(known), machine < self.older)
        explicit = any_of(m.configured >= 0, all_of(m.meta >= 0, negate(first)))
        named = Outcome(state.with_machine(machine, m.chose(known, BY_HOSTNAME)), BrokerIdsEvent(HOST_READS))
        searched = self._search(state, machine, m)
        searched = Outcome(searched.state, evolve(searched.event, reads=searched.event.reads + HOST_READS))
        by_name = choose_outcome(known >= 0, named, searched)
        by_name = choose_outcome(machine < self.older, by_name, self._draw(state, machine, m))
        return choose_outcome(explicit, Outcome(settled, BrokerIdsEvent()), by_name)

    @rule("broker-id.disk-before-zookeeper", source="broker-id KIP, rejected alternatives",
          switches=("zookeeper-before-disk",),
          says="The id on the disk comes before the one of the hostname.")  # fmt: skip
    def _asks_first(self, known: Word) -> Truth:
        """Whether the hostname's id is used whatever is on the disk."""
        return known >= 0 if self.rules.zookeeper_before_disk else False

    @rule("broker-id.by-elimination", source="broker-id KIP, step b", switches=("identity-by-elimination",),
          says="A broker without an id takes the only one that is used and not registered.")  # fmt: skip
    def _search(self, state: BrokerIds, machine: Word, m: Machine) -> Outcome:
        """What comes after step a): step b), or a new id, or, with neither, an error."""
        if self.rules.identity_by_elimination:
            looking = evolve(m, status=SEARCHING, id=NONE, source=EXPLICIT)
            return Outcome(state.with_machine(machine, looking), BrokerIdsEvent())
        return self._draw(state, machine, m)

    @rule("broker-id.fresh-from-sequence", source="KAFKA-1070; broker-id KIP", switches=("fresh-ids-drawn",),
          says="A new id is drawn from a sequence; with static ids none is drawn.")  # fmt: skip
    def _draw(self, state: BrokerIds, machine: Word, m: Machine) -> Outcome:
        """A new id from the sequence, where ids are generated at all."""
        if not self.rules.fresh_ids_drawn:
            return Outcome(state.with_machine(machine, m.ended(FAILED)), BrokerIdsEvent())
        drawn = evolve(state.with_machine(machine, m.chose(state.drawn, FRESH)), drawn=state.drawn + 1)
        return Outcome(drawn, BrokerIdsEvent(drew=True))

    def may_read_used_ids(self, state: BrokerIds, machine: Word) -> dict[str, Truth]:
        """Step b) begins."""
        return {"broker looks for missing ids": state.machine(machine).status == SEARCHING}

    @rule("broker-id.missing-ids-are-nodes", source="broker-id KIP, rejected alternatives",
          switches=("search-reads-every-topic",),
          says="Missing ids are found in nodes of their own, not by reading every topic.")  # fmt: skip
    def read_used_ids(self, state: BrokerIds, machine: Word) -> Outcome:
        """Read every topic; or, in the alternative, the nodes of missing ids, which settles it at once."""
        m = state.machine(machine)
        reads = missing_id_reads(self.topics, self.rules.search_reads_every_topic)
        if not self.rules.search_reads_every_topic:
            found = self._choose_missing(state, machine, m, state.noted)
            return Outcome(found.state, evolve(found.event, reads=reads))
        read = evolve(m, status=TOPICS_READ, seen=state.used)
        return Outcome(state.with_machine(machine, read), BrokerIdsEvent(reads))

    def may_list_ids(self, state: BrokerIds, machine: Word) -> dict[str, Truth]:
        """The topics have been read."""
        return {"broker has read the topics": state.machine(machine).status == TOPICS_READ}

    def list_ids(self, state: BrokerIds, machine: Word) -> Outcome:
        """List what is registered; the difference is what is missing."""
        m = state.machine(machine)
        found = self._choose_missing(state, machine, m, m.seen.minus(state.registered()))
        return Outcome(found.state, evolve(found.event, reads=LIST_READS))

    @rule("broker-id.several-missing-is-an-error", source="broker-id KIP, step b.2",
          switches=("ambiguous-takes-first",), says="A broker that finds several missing ids stops.")  # fmt: skip
    @rule("broker-id.no-fresh-one-beside-a-missing-one", source="broker-id KIP, step b.1",
          switches=("fresh-unless-ambiguous",), says="No new id is drawn where exactly one is missing.")  # fmt: skip
    def _choose_missing(self, state: BrokerIds, machine: Word, m: Machine, missing: BrokerSet) -> Outcome:
        """One missing id is taken; several are an error; none means a new id: steps b.1) to b.3)."""
        certain = missing.size() == 1
        if self.rules.ambiguous_takes_first:
            certain = missing.size() > 0
        taken = state.with_machine(machine, m.chose(missing.first(), BY_ELIMINATION))
        ambiguous = state.with_machine(machine, m.ended(FAILED))
        held = Outcome(choose(certain, taken, ambiguous), BrokerIdsEvent())
        drawn = self._draw(state, machine, m)
        if self.rules.fresh_unless_ambiguous:
            return choose_outcome(missing.size() < 2, drawn, held)
        return choose_outcome(missing.is_empty(), drawn, held)

    def may_register(self, state: BrokerIds, machine: Word) -> dict[str, Truth]:
        """An id has been chosen."""
        return {"broker has chosen an id": state.machine(machine).status == CHOSEN}

    @rule("broker-id.registered-once", source="broker-id KIP", switches=("registration-overwrites",),
          says="A broker does not register an id that another has registered.")  # fmt: skip
    def register(self, state: BrokerIds, machine: Word) -> Outcome:
        """Create the ephemeral node; where it exists, step a) goes on, everybody else stops with an error."""
        m = state.machine(machine)
        taken = pick(state.sessions, m.id, NONE) >= 0
        if self.rules.registration_overwrites:
            taken = False
        refused = Outcome(state.with_machine(machine, m.ended(FAILED)), BrokerIdsEvent())
        again = self._search(state, machine, m)
        retried = choose_outcome(m.source == BY_HOSTNAME, again, refused)
        return choose_outcome(taken, retried, Outcome(self._registered(state, machine, m), BrokerIdsEvent()))

    def _registered(self, state: BrokerIds, machine: Word, m: Machine) -> BrokerIds:
        """The broker lives, and its id is on its disk."""
        live = evolve(m, status=LIVE, meta=m.id, recorded=False)
        homes = put(state.homes, m.id, machine)
        return evolve(registered(state.with_machine(machine, live), machine, m, self.rules), homes=homes)

    def may_record(self, state: BrokerIds, machine: Word) -> dict[str, Truth]:
        """The mapping is written after registration."""
        m = state.machine(machine)
        return {"broker is live": m.is_live(), "its hostname is not recorded yet": negate(m.recorded),
                "it knows of such nodes": machine < self.older}  # fmt: skip

    def record(self, state: BrokerIds, machine: Word) -> Outcome:
        """Write /brokers/hosts/<hostname>."""
        m = state.machine(machine)
        written = evolve(state, hosts=put(state.hosts, m.name, m.id))
        return Outcome(written.with_machine(machine, evolve(m, recorded=True)), BrokerIdsEvent())


def registered(state: BrokerIds, machine: Word, m: Machine, rules: BrokerIdRules) -> BrokerIds:
    """The state with the machine's id registered; its node of a missing id goes, unless the controller is to do it."""
    noted = state.noted if rules.missing_ids_noted_late else state.noted.minus(state.noted.just(m.id))
    sessions, places = put(state.sessions, m.id, machine), put(state.places, m.id, m.name)
    return evolve(state, sessions=sessions, places=places, noted=noted)


def choose_outcome(condition: Truth, then: Outcome, otherwise: Outcome) -> Outcome:
    """One of two outcomes, as a whole."""
    return Outcome(choose(condition, then.state, otherwise.state), choose(condition, then.event, otherwise.event))
