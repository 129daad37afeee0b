"""Faults of machines, lost sessions among them."""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, choose, negate, none_of, pick, rule
from kraftcheck.model.rules.groups import BrokerIdRules
from kraftcheck.model.systems.broker_ids.startup import BrokerIdsEvent, registered
from kraftcheck.model.systems.broker_ids.state import DOWN, FAILED, NONE, BrokerIds, replaced


@frozen
class Faults:
    """Stops, lost disks, other hostnames, lost sessions; and the topics that operators create."""

    rules: BrokerIdRules

    def may_stop(self, state: BrokerIds, machine: Word, clean: Truth) -> dict[str, Truth]:
        """A broker stops or dies, live or while it starts."""
        m = state.machine(machine)
        return {"a process runs": negate(m.is_down()), "a stop is left": state.left.stops > 0}

    def stop(self, state: BrokerIds, machine: Word, clean: Truth) -> Outcome:
        """After a clean stop the ephemeral node is gone at once; otherwise it stays until the session expires."""
        m = state.machine(machine)
        left = evolve(state.left, stops=state.left.stops - 1)
        after = evolve(state.with_machine(machine, m.ended(DOWN)), left=left)
        held = all_of(m.is_live(), pick(state.sessions, m.id, NONE) == machine)
        return Outcome(choose(all_of(clean, held), self._unregistered(after, m.id), after), BrokerIdsEvent())

    def may_expire(self, state: BrokerIds, id: Word) -> dict[str, Truth]:  # noqa: A002
        """The session of a process that is gone."""
        owner = pick(state.sessions, id, NONE)
        holder = state.machine(owner)
        return {
            "id is registered": owner >= 0,
            "its process is gone": negate(all_of(holder.is_live(), holder.id == id)),
        }

    def expire(self, state: BrokerIds, id: Word) -> Outcome:  # noqa: A002
        """ZooKeeper removes the ephemeral node."""
        return Outcome(self._unregistered(state, id), BrokerIdsEvent())

    def may_lose_session(self, state: BrokerIds, machine: Word) -> dict[str, Truth]:
        """A broker that works is cut off from ZooKeeper for longer than its session."""
        m = state.machine(machine)
        return {
            "broker is live": m.is_live(),
            "its session lasts": negate(state.zombie(machine)),
            "a session loss is left": state.left.session_losses > 0,
        }

    def lose_session(self, state: BrokerIds, machine: Word) -> Outcome:
        """The node goes, the broker does not know."""
        left = evolve(state.left, session_losses=state.left.session_losses - 1)
        return Outcome(self._unregistered(evolve(state, left=left), state.machine(machine).id), BrokerIdsEvent())

    def may_return(self, state: BrokerIds, machine: Word) -> dict[str, Truth]:
        """A broker without a session learns of it."""
        return {"session is gone": state.zombie(machine)}

    def come_back(self, state: BrokerIds, machine: Word) -> Outcome:
        """It registers again under its id; where somebody else has, it stops."""
        m = state.machine(machine)
        back = registered(state, machine, m, self.rules)
        free = pick(state.sessions, m.id, NONE) < 0
        return Outcome(choose(free, back, state.with_machine(machine, m.ended(FAILED))), BrokerIdsEvent())

    def may_lose_disk(self, state: BrokerIds, machine: Word) -> dict[str, Truth]:
        """Hardware fails while no process runs."""
        m = state.machine(machine)
        return {
            "machine is down": m.is_down(),
            "there is an id on its disk": m.meta >= 0,
            "a disk loss is left": state.left.disk_losses > 0,
        }

    def lose_disk(self, state: BrokerIds, machine: Word) -> Outcome:
        """Data and meta.properties are gone; the machine, or its replacement, keeps the hostname."""
        m = state.machine(machine)
        left = evolve(state.left, disk_losses=state.left.disk_losses - 1)
        homes = tuple(choose(home == machine, NONE, home) for home in state.homes)
        empty = evolve(m, meta=NONE, before=m.meta)
        return Outcome(evolve(state.with_machine(machine, empty), homes=homes, left=left), BrokerIdsEvent())

    def may_rename(self, state: BrokerIds, machine: Word, name: Word) -> dict[str, Truth]:
        """A machine comes up under a hostname that no other has."""
        others = [m.name == name for m in state.machines]
        return {
            "machine is down": state.machine(machine).is_down(),
            "hostname is free": none_of(*others),
            "a rename is left": state.left.renames > 0,
        }

    def rename(self, state: BrokerIds, machine: Word, name: Word) -> Outcome:
        """Another address, another hostname."""
        left = evolve(state.left, renames=state.left.renames - 1)
        return Outcome(
            evolve(state.with_machine(machine, evolve(state.machine(machine), name=name)), left=left), BrokerIdsEvent()
        )

    def may_rewrite_host(self, state: BrokerIds, machine: Word) -> dict[str, Truth]:
        """A replacement that is down has no id on its disk, and its hostname's node is not that of the id it had."""
        m = state.machine(machine)
        return {
            "machine is down": m.is_down(),
            "it replaces another disk": all_of(m.meta == NONE, m.before >= 0),
            "the node is another": negate(pick(state.hosts, m.name, NONE) == m.before),
            "a rewrite is left": state.left.rewrites > 0,
        }

    def rewrite_host(self, state: BrokerIds, machine: Word) -> Outcome:
        """A tool writes the id that the machine had into /brokers/hosts/<hostname>."""
        m, left = state.machine(machine), evolve(state.left, rewrites=state.left.rewrites - 1)
        return Outcome(evolve(state, hosts=replaced(state.hosts, m.name, m.before), left=left), BrokerIdsEvent())

    def may_create_topic(self, state: BrokerIds, id: Word) -> dict[str, Truth]:  # noqa: A002
        """Partitions are placed on registered brokers."""
        return {"id is registered": state.registered().has(id), "no topic uses it yet": negate(state.used.has(id))}

    def create_topic(self, state: BrokerIds, id: Word) -> Outcome:  # noqa: A002
        """A topic now uses the id."""
        return Outcome(evolve(state, used=state.used.plus(state.used.just(id))), BrokerIdsEvent())

    @rule("broker-id.missing-ids-noted-at-once", source="broker-id KIP, rejected alternatives",
          switches=("missing-ids-noted-late",),
          says="The node of a missing id is there as soon as its registration goes.")  # fmt: skip
    def _unregistered(self, state: BrokerIds, id: Word) -> BrokerIds:  # noqa: A002
        gone = evolve(state, sessions=replaced(state.sessions, id, NONE), places=replaced(state.places, id, 0))
        if self.rules.missing_ids_noted_late or self.rules.search_reads_every_topic:
            return gone
        noted = self.rules.identity_by_elimination
        return evolve(gone, noted=state.noted.plus(state.noted.just(id))) if noted else gone
