"""Controller events of the `directories` system: heartbeats, sessions, elections, the ISR, reassignments.

Each calls a trigger of `elections`; what is here is when it may happen.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.anynumber import all_records, rewritten_records
from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.system import Conjuncts, Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, rule, word
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.directories.state import Host, Placement, Slots, decided, failing
from kraftcheck.model.systems.elections import system as guards
from kraftcheck.model.systems.elections.triggers import Triggers
from kraftcheck.model.triggers.leadership import may_be_named, takes_replicas


@frozen
class Control:
    """The effects and guards of controller events under one rule set."""

    rules: RuleSet  # the rule set
    keeps_metadata: bool = False  # whether the first directory of a broker has the metadata log too

    @property
    def do(self) -> Triggers:
        """The controller's triggers."""
        return Triggers(self.rules)

    def may_fence(self, state: Placement, broker: Word) -> Conjuncts:
        """A stopped broker is fenced for free; a running one costs budget."""
        return {
            **guards.unfenced(state.controller, broker),
            "broker is stopped or a fence is left": any_of(negate(state.host(broker).up), state.left.fences > 0),
        }

    def fence(self, state: Placement, broker: Word) -> Outcome:
        """Session expiry."""
        spent = state.spend("fences", word(state.host(broker).up))
        return decided(spent, self.do.fence(state.controller, broker), self.rules.directories)

    def may_shut_down(self, state: Placement, broker: Word) -> Conjuncts:
        """A running broker asks for a controlled shutdown."""
        return {
            **guards.running(state.controller, broker),
            "broker runs": state.host(broker).up,
            "a clean stop is left": state.left.clean_stops > 0,
        }

    def shut_down(self, state: Placement, broker: Word) -> Outcome:
        """A heartbeat asks for it, and the broker leaves the ISR."""
        told = self.do.controlled_shutdown(state.controller, broker)
        return decided(state.spend("clean_stops"), told, self.rules.directories)

    def may_unfence(self, state: Placement, broker: Word) -> Conjuncts:
        """A heartbeat of a fenced broker that is caught up, and, in the KIP, settled.

        The KIP asks it of both sides: the broker does not want to be unfenced
        before, and the controller does not unfence it while a directory of a
        replica of it is not known.
        """
        host = state.host(broker)
        return {
            **guards.may_unfence(state.controller, broker, self.rules.directories),
            "broker asks for it": host.ready_to_unfence(self.rules.directories),
        }

    def unfence(self, state: Placement, broker: Word, delivered: Truth) -> Outcome:
        """One heartbeat: the broker is unfenced, and the failed directories that it lists go offline."""
        told = self.do.heartbeat(state.controller, broker, self.news(state, broker))
        return decided(self._acknowledged(state, broker, delivered), told, self.rules.directories)

    def news(self, state: Placement, broker: Word) -> BrokerSet:
        """The failed directories of a heartbeat that are still registered; only these act."""
        host = state.host(broker)
        return host.ids(host.reports(self.rules.directories)).keep(state.controller.dirs_of(broker))

    def _acknowledged(self, state: Placement, broker: Word, delivered: Truth) -> Placement:
        host = state.host(broker)
        told = host.told.plus(host.reports(self.rules.directories))
        marks = True if self.rules.directories.failure_reported_once else delivered
        return state.with_host(broker, evolve(host, told=choose(marks, told, host.told)))

    @rule("directory-failure.reported-without-waiting", source="KIP-858, first draft; semantics 6.5",
          switches=("reports-wait-for-assignments",),
          says="A failed directory is reported without waiting for queued assignments.")  # fmt: skip
    def may_report(self, state: Placement, broker: Word) -> Conjuncts:
        """A running broker has failed directories to report."""
        host = state.host(broker)
        silent = host.failed.within(host.told)
        waits = host.queued() if self.rules.directories.reports_wait_for_assignments else False
        return {
            "broker runs": all_of(host.up, state.controller.registered.has(broker)),
            "there is news": any_of(negate(silent), negate(self.news(state, broker).is_empty())),
            "assignments are sent first": negate(waits),
        }

    def report(self, state: Placement, broker: Word, delivered: Truth) -> Outcome:
        """A heartbeat lists failed directories; the reply may be lost."""
        told = self.do.directories_offline(state.controller, broker, self.news(state, broker))
        return decided(self._acknowledged(state, broker, delivered), told, self.rules.directories)

    def lose_report(self, state: Placement, broker: Word) -> Placement:
        """The defect of reporting once: the heartbeat is lost, and the failure with it."""
        return self._acknowledged(state, broker, True)

    def may_report_late(self, state: Placement, broker: Word, slot: Word) -> Conjuncts:
        """A heartbeat is in flight while a directory fails."""
        host = state.host(broker)
        has_failed = negate(host.failed.is_empty())
        return {
            **({} if self.rules.directories.reported_while_in_flight else {"another has failed": has_failed}),
            "broker runs": all_of(host.up, state.controller.registered.has(broker)),
            "disk works": host.disks.has(slot),
            "another works too": host.disks.size() > 1,
            "a failure is left": state.left.failures > 0,
        }

    @rule("directory-failure.in-flight-is-not-reported",
          source="B16; BrokerLifecycleManager.propagateDirectoryFailure",
          switches=("reported-while-in-flight", "second-reported-while-in-flight"),
          says="A directory that fails while a heartbeat is in flight is not reported by that heartbeat.")  # fmt: skip
    def report_late(self, state: Placement, broker: Word, slot: Word) -> Outcome:
        """B16: the reply marks the new failure as reported, although the heartbeat did not carry it."""
        sent = self.report(state, broker, True)
        after = failing(sent.state.host(broker), slot, self.rules.directories, self.keeps_metadata)
        marked = evolve(after, told=after.told.plus(Slots().just(slot)))
        return Outcome(sent.state.spend("failures").with_host(broker, marked), sent.event, sent.records)

    def _leader(self, state: Placement) -> Host:
        return state.host(state.controller.leader)

    def _leads(self, state: Placement) -> dict[str, Truth]:
        """Guard of what the leader does: it runs, knows that it leads, and serves its log."""
        leader = self._leader(state)
        return {
            "there is a leader": state.controller.leader >= 0,
            "the leader knows": all_of(leader.leads, negate(leader.behind)),
            "the leader serves its log": leader.serving(),
        }

    def may_expand(self, state: Placement, broker: Word) -> Conjuncts:
        """The leader proposes a follower that has caught up; the controller looks at its directory, or not (X8)."""
        host, controller = state.host(broker), state.controller
        isr = controller.isr.plus(controller.isr.just(broker))
        return {
            **self._leads(state),
            **guards.may_alter(controller, isr, False, self.rules),
            "broker is outside the ISR": negate(controller.isr.has(broker)),
            "broker has caught up": host.healthy(),
        }

    def expand(self, state: Placement, broker: Word) -> Outcome:
        """AlterPartition with one member more."""
        isr = state.controller.isr.plus(state.controller.isr.just(broker))
        told = self.do.alter_partition(state.controller, isr, False)
        return decided(state, told, self.rules.directories, proposed=isr)

    def may_shrink(self, state: Placement, broker: Word) -> Conjuncts:
        """The leader drops a follower that does not fetch."""
        controller = state.controller
        isr = controller.isr.minus(controller.isr.just(broker))
        return {
            **self._leads(state),
            **guards.may_alter(controller, isr, False, self.rules),
            "broker is in the ISR": controller.isr.has(broker),
            "broker does not fetch": negate(state.host(broker).healthy()),
        }

    def shrink(self, state: Placement, broker: Word) -> Outcome:
        """AlterPartition with one member less."""
        isr = state.controller.isr.minus(state.controller.isr.just(broker))
        told = self.do.alter_partition(state.controller, isr, False)
        return decided(state, told, self.rules.directories, proposed=isr)

    def may_write(self, state: Placement) -> Conjuncts:
        """A record reaches every ISR member, and is committed."""
        isr = state.controller.isr
        reached = all_records(state.hosts, lambda b, host: implies(isr.has(b), host.serving()))
        return {
            **self._leads(state),
            "a record is left": state.left.records > 0,
            "every ISR member serves its log": reached,
        }

    def write(self, state: Placement) -> Placement:
        """Replicas outside the ISR lack the record; future logs are behind."""
        isr = state.controller.isr

        def written(broker: Word, host: Host) -> Host:
            has = all_of(isr.has(broker), host.healthy())
            whole = choose(has, host.disks.just(host.current()), Slots())
            return evolve(host, whole=whole, copied=False)

        return evolve(state.spend("records"), hosts=rewritten_records(state.hosts, written), written=True)

    def may_replicate(self, state: Placement, broker: Word) -> Conjuncts:
        """A follower lacks records that its leader has."""
        host = state.host(broker)
        return {
            **self._leads(state),
            "broker is another replica": all_of(
                state.controller.replicas.has(broker), negate(state.controller.leader == broker)
            ),
            "broker serves its log": host.serving(),
            "broker lacks records": negate(host.healthy()),
            "the leader has them": self._leader(state).healthy(),
        }

    def replicate(self, state: Placement, broker: Word) -> Placement:
        """The follower fetches to the end."""
        host = state.host(broker)
        fetched = host.whole.plus(host.disks.just(host.current()))
        return state.with_host(broker, evolve(host, whole=fetched, copied=False))

    def may_elect_preferred(self, state: Placement) -> Conjuncts:
        """The leader is not the first replica."""
        return dict(guards.not_preferred(state.controller))

    def elect_preferred(self, state: Placement) -> Outcome:
        """ElectLeaders PREFERRED, or the balance timer."""
        return decided(state, self.do.elect_preferred(state.controller), self.rules.directories)

    def may_reassign(self, state: Placement, target: Replicas) -> Conjuncts:
        """An operator moves the partition to other brokers."""
        allowed = {"a reassignment is left": state.left.reassignments > 0}
        if state.cordoned:
            named = (implies(target.has(b), self._may_be_named(state, b)) for b in range(len(state.hosts)))
            allowed["its brokers take replicas"] = all_of(*named)
        return {**guards.targets_registered(state.controller, target), **allowed}

    def _may_be_named(self, state: Placement, broker: int) -> Truth:
        """Whether a target may name a broker: the controller knows what each of its heartbeats says it cordons."""
        listed = state.controller.dirs_of(broker)
        uncordoned = listed.minus(state.host(broker).ids(state.cordoned_of(broker)))
        takes = takes_replicas(listed.is_empty(), negate(uncordoned.is_empty()))
        return may_be_named(takes, self.rules.controller)

    def reassign(self, state: Placement, target: Replicas) -> Outcome:
        """AlterPartitionReassignments to a target."""
        return decided(state.spend("reassignments"), self.do.reassign(state.controller, target), self.rules.directories)
