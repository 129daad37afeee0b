"""State of the `broker-ids` system: machines, their nodes in ZooKeeper, and budgets.

Source: the broker-id KIP ("Determining Broker Id on Broker Startup").
"""

from __future__ import annotations

import itertools
from typing import TypeVar

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import ints, subset_of, truth
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, negate, pick
from kraftcheck.model.systems.parts import WithBudgets, budget_domains, budgets, members

T = TypeVar("T")

NONE = -1
"""No id, no machine, no hostname."""

DOWN = 0
"""The process does not run."""
STARTED = 1
"""It runs, and has looked at nothing yet."""
SEARCHING = 2
"""Neither configuration, disk nor hostname gave an id: it looks for missing ids."""
TOPICS_READ = 3
"""It has read which ids topics use, and not yet which are registered."""
CHOSEN = 4
"""It has an id and is about to register."""
LIVE = 5
"""It is registered, as far as it knows."""
FAILED = 6
"""It stopped with an error; somebody may start it again."""

EXPLICIT = 0
"""The id is configured, or in meta.properties."""
BY_HOSTNAME = 1
"""The id is that of the node /brokers/hosts/<hostname>: step a)."""
BY_ELIMINATION = 2
"""The id is the only missing one: step b.1)."""
FRESH = 3
"""The id is new: step b.3)."""


@frozen
class Machine:
    """A machine with one broker process.

    Attributes:
        status: DOWN to FAILED.
        name: its hostname.
        configured: the id of command line or server.properties, or NONE.
        meta: the id in meta.properties, or NONE; it stays with the data.
        id: the id it is about to register or lives with, else NONE.
        source: EXPLICIT to FRESH; EXPLICIT where there is no id.
        seen: ids that topics used when it read them.
        recorded: it has written /brokers/hosts/<hostname> since it registered.
        before: ghost: the id on the disk that it lost last, or NONE.
    """

    status: Word
    name: Word
    configured: Word
    meta: Word
    id: Word
    source: Word
    seen: BrokerSet
    recorded: Truth
    before: Word

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
    """The whole state.

    Attributes:
        machines: the machines.
        sessions: for each id the machine that holds /brokers/ids/<id>, or NONE.
        places: for each id the hostname that this node carries; 0 where there is no node.
        hosts: for each hostname the id of /brokers/hosts/<hostname>, or NONE.
        used: ids that topics are assigned to.
        drawn: the next id of the sequence.
        homes: ghost: for each id the machine whose disk holds its data, or NONE.
        swept_id, swept_host: what the garbage collection read of a registered id; NONE when it is idle.
        swept_node: the hostname whose node it read then, and is about to delete, or NONE.
        noted: ids with a node /brokers/missing_ids/<id>; empty where no broker reads it.
        listed: ids that the controller saw when it last listed /brokers/ids; empty where it does not watch them.
        owed: ids that were gone then, whose nodes it has still to create.
        left: budgets.
    """

    machines: tuple[Machine, ...]
    sessions: tuple[Word, ...]
    places: tuple[Word, ...]
    hosts: tuple[Word, ...]
    used: BrokerSet
    drawn: Word
    homes: tuple[Word, ...]
    swept_id: Word
    swept_host: Word
    swept_node: Word
    noted: BrokerSet
    listed: BrokerSet
    owed: BrokerSet
    left: BrokerIdsBudgets

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
    """What machines have in their configuration; that of a member may differ from the id on its disk."""
    machines = setting["machines"]
    if not setting["configured"]:
        return [(NONE,) * machines]
    return list(itertools.product(range(machines), repeat=machines))
