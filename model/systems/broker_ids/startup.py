"""Startup of a broker: it finds its id and registers it.

Each read of ZooKeeper is a step of its own: others may act in between.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, pick, rule
from kraftcheck.model.rules.groups import BrokerIdRules
from kraftcheck.model.systems.broker_ids.state import (
    BY_ELIMINATION,
    BY_HOSTNAME,
    CHOSEN,
    DOWN,
    EXPLICIT,
    FAILED,
    FRESH,
    LIVE,
    NONE,
    SEARCHING,
    STARTED,
    TOPICS_READ,
    BrokerIds,
    Machine,
)

HOST_READS = 1
"""Reads of step a): the node of the hostname."""

LIST_READS = 1
"""Reads that tell what is registered: the children of /brokers/ids."""


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
    """What a step did besides changing the state.

    Attributes:
        reads: ZooKeeper nodes that were read.
        drew: a new id was taken from the sequence.
    """

    reads: Word = 0
    drew: Truth = False


@frozen
class Startup:
    """The steps of a start under one rule set.

    Attributes:
        rules: the rule set.
        topics: how many topics the cluster has.
        older: from this machine on they run the release before: without steps a) and b), and without a mapping.
    """

    rules: BrokerIdRules
    topics: int
    older: int

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
