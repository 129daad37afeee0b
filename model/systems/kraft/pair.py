"""Actions on two partitions: each action of `kraft` is extended by its effect on the second partition.

The guards and effects are those of `directories`, asked of each partition. A broker's heartbeat, failure, stop and
start are of both; a request of assignments carries all that wait; metadata is applied of all that has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.system import Action, Conjuncts, Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, rule
from kraftcheck.model.partition.registration import FIRST_LOCAL
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.directories.control import Control
from kraftcheck.model.systems.directories.state import ABSENT, NOTHING, Host, Placement, Told, decided
from kraftcheck.model.systems.directories.system import actions as directory_actions
from kraftcheck.model.systems.elections.triggers import Triggers, start
from kraftcheck.model.systems.kraft.second import Second, capped
from kraftcheck.model.systems.kraft.state import Kraft
from kraftcheck.model.systems.parts import OfSetting

SHARED = (
    "start", "unfence", "report", "fail_directory", "log_dir_timeout", "lose_report", "fail_while_reporting",
    "apply_metadata", "send", "assign", "answer", "lose",
)  # fmt: skip
"""Actions of brokers that concern every partition; the others of `directories` concern the first one only."""

REPORTS = ("report", "unfence")  # heartbeats: they carry the failed directories

EITHER = (
    "metadata is newer", "an assignment waits", "a request is in flight", "broker is a replica",
    "a failure is not acknowledged",
)  # fmt: skip
"""Conjuncts of guards that one partition's need fulfils; the others are asked of both."""

SETTLED = ("broker asks for it", "the controller knows its directories")
"""Conjuncts of unfencing that say that a partition is settled."""


def due(host: Host) -> Truth:
    """Whether there is metadata of the partition to apply."""
    return any_of(host.behind, negate(host.seen))


def waiting(host: Host) -> Truth:
    """Whether an assignment goes with the next request."""
    return all_of(negate(host.ready == NOTHING), negate(host.replica == ABSENT))


def in_flight(host: Host) -> Truth:
    """Whether the request in flight names the partition."""
    return negate(host.sent == NOTHING)


CONCERNED: Mapping[str, Callable[[Host], Truth]] = {"apply_metadata": due, "send": waiting, "assign": in_flight}
"""Actions that may concern one partition and not the other."""


@frozen
class Beside(OfSetting[RuleSet]):
    """The steps of one setting with two partitions."""

    GROUP = ""

    def view(self, state: Kraft, second: Second) -> Placement:
        """The second partition, as the rules at work decide about it."""
        placed = second.placement(state.placement())
        capping = self.rules.controller.min_isr_from_first_partition
        return capped(placed, state.data.controller.replicas) if capping else placed

    def guard(self, action: Action, state: Kraft, arguments: Mapping[str, Any]) -> Conjuncts:
        """The guard of an action of `directories`, of all partitions."""
        first = {name: value for name, value in arguments.items() if name != "beside"}
        found = dict(action.guards(state.placement(), first))
        if action.name not in SHARED:
            return found
        for second in state.others:
            again = action.guards(self.view(state, second), _own(action, arguments))
            found = {name: self._joined(name, truth, again[name]) for name, truth in found.items()}
            if action.name == "apply_metadata":
                found |= self._chosen(action, state, second, arguments)
        return found

    @rule("unfence.every-partition-settled", source="KIP-858", switches=("unfence-awaits-one-partition",),
          says="A broker is unfenced once the assignments of all its partitions are settled.")  # fmt: skip
    def _joined(self, name: str, first: Truth, second: Truth) -> Truth:
        one = name in EITHER or (name in SETTLED and self.rules.directories.unfence_awaits_one_partition)
        return any_of(first, second) if one else all_of(first, second)

    def _chosen(self, action: Action, state: Kraft, second: Second, arguments: Mapping[str, Any]) -> dict[str, Truth]:
        """Where each partition that has something to apply makes its log; no choice for the other one."""
        chosen = "the directory chosen works"
        parts = {}
        for name, placed, slot in (
            (chosen, state.placement(), arguments["slot"]),
            ("the directory beside works", self.view(state, second), arguments["beside"]),
        ):
            broker = arguments["broker"]
            asked = action.guards(placed, {"broker": broker, "slot": slot})[chosen]
            parts[name] = choose(due(placed.host(broker)), asked, slot == 0)
        return parts

    def first(self, action: Action, state: Kraft, arguments: Mapping[str, Any]) -> Outcome:
        """The effect of an action on the first partition; none where it concerns the other alone."""
        own = {name: value for name, value in arguments.items() if name != "beside"}
        return _outcome(action, state.placement(), own, bool(state.others))

    def others(self, action: Action, state: Kraft, arguments: Mapping[str, Any]) -> tuple[Second, ...]:
        """The effect of the same action on the second partition."""
        if action.name not in SHARED:
            return state.others
        own = _own(action, arguments)
        return tuple(second.after(self._moved(action, state, second, own)) for second in state.others)

    @rule("directory.failure-leads-every-partition-away", source="KIP-858; semantics 6.3",
          switches=("failure-moves-one-partition",),
          says="A failed directory ends leadership and ISR membership of every replica in it.")  # fmt: skip
    def _moved(self, action: Action, state: Kraft, second: Second, arguments: Mapping[str, Any]) -> Placement:
        placed = self.view(state, second)
        found: Placement = _outcome(action, placed, arguments, True).state
        if not self.rules.directories.failure_moves_one_partition or action.name not in REPORTS:
            return found
        # The defect: where the first partition is in a directory that is reported, the second stays as it is.
        silent = evolve(self.setting, rules=self.rules.switched(offline_directory_leader_kept=True))
        (deaf,) = [other for other in directory_actions(silent) if other.name == action.name]
        kept: Placement = deaf.outcome(placed, arguments).state
        news = Control(self.rules).news(placed, arguments["broker"])
        hit = news.has(state.placement().assigned(arguments["broker"]) - FIRST_LOCAL)
        return choose(hit, kept, found)

    def fatal(self, action: Action, state: Kraft, arguments: Mapping[str, Any]) -> Truth:
        """B7: whether a heartbeat reports a directory for which the index lists a partition that is deleted."""
        if action.name not in REPORTS:
            return False
        news = Control(self.rules).news(state.placement(), arguments["broker"])
        return any_of(*(all_of(negate(s.exists()), s.lists(arguments["broker"], news)) for s in state.others))

    def triggered(self, state: Kraft, trigger: Callable[[Any], Outcome]) -> tuple[Second, ...]:
        """The second partition after a decision about a broker."""
        return tuple(self._decided(state, second, trigger) for second in state.others)

    def stopped(self, state: Kraft, broker: Word) -> tuple[Second, ...]:
        """The second partition after a process has died."""
        views = ((second, self.view(state, second)) for second in state.others)
        return tuple(second.after(view.with_host(broker, view.host(broker).stopped())) for second, view in views)

    def elect_preferred(self, state: Kraft) -> Kraft:
        """ElectLeaders PREFERRED of the second partition."""
        return evolve(state, others=self.triggered(state, Triggers(self.rules).elect_preferred))

    def _decided(self, state: Kraft, second: Second, trigger: Callable[[Any], Outcome]) -> Second:
        placed = self.view(state, second)
        return second.after(decided(placed, trigger(placed.controller), self.rules.directories).state)

    def expand(self, state: Kraft, broker: Word) -> Kraft:
        """AlterPartition of the second partition, with one member more."""
        control = Control(self.rules)
        grown = (second.after(control.expand(self.view(state, second), broker).state) for second in state.others)
        return evolve(state, others=tuple(grown))

    @rule("election.preferred.of-each-partition", source="KAFKA-20708; PR 22934",
          switches=("preferred-waits-for-other-partitions",),
          says="A first replica in sync is elected whatever becomes of its broker's other partitions.")  # fmt: skip
    def _in_sync_beside(self, state: Kraft) -> Conjuncts:
        """The gate that was asked for: the broker is in sync wherever it is a replica."""
        if not self.rules.controller.preferred_waits_for_other_partitions:
            return {}
        first, beside = state.others[0].replicas.first(), state.data.controller
        return {"its broker is in sync": any_of(negate(beside.replicas.has(first)), beside.isr.has(first))}

    def delete(self, state: Kraft) -> Kraft:
        """The topic of the second partition is deleted."""
        spent = evolve(state, deletions=state.deletions - 1)
        return evolve(spent, others=tuple(second.deleted(self.rules.controller) for second in state.others))

    def actions(self) -> list[Action]:
        """Actions of the second partition alone."""
        control = Control(self.rules)
        each = {"broker": tuple(range(self.setting["brokers"]))}

        def may_expand(state: Kraft, broker: Word) -> Conjuncts:
            return control.may_expand(self.view(state, state.others[0]), broker)

        def may_elect(state: Kraft) -> Conjuncts:
            there = {"it is not deleted": state.others[0].exists(), **self._in_sync_beside(state)}
            return {**control.may_elect_preferred(self.view(state, state.others[0])), **there}

        def may_delete(state: Kraft) -> Conjuncts:
            return {"it is not deleted": state.others[0].exists(), "a deletion is left": state.deletions > 0}

        listed = [
            Action("elect_second_preferred", self.elect_preferred, may_elect, {}, "electLeaders PREFERRED"),
            Action("expand_second_isr", self.expand, may_expand, each, "alterPartition"),
        ]
        if self.setting["deletions"]:
            listed.append(Action("delete_second", self.delete, may_delete, {}, "deleteTopics"))
        return listed


def _own(action: Action, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the second partition gets them: where a log is made, it has a choice of its own."""
    own = {name: value for name, value in arguments.items() if name != "beside"}
    return {**own, "slot": arguments["beside"]} if "beside" in arguments else own


def _outcome(action: Action, placed: Placement, arguments: Mapping[str, Any], several: bool) -> Outcome:
    found = action.outcome(placed, arguments)
    if not several or action.name not in CONCERNED:
        return found
    concerned = CONCERNED[action.name](placed.host(arguments["broker"]))
    if action.name != "assign":
        return evolve(found, state=choose(concerned, found.state, placed))
    known = all_of(concerned, placed.controller.replicas.has(arguments["broker"]))
    # Processed it is in any case, with an error for a partition that does not exist.
    host = evolve(placed.host(arguments["broker"]), answered=True)
    quiet = placed.with_host(arguments["broker"], host)
    told = Told(start(placed.controller).event, False)
    return Outcome(choose(known, found.state, quiet), choose(known, found.event, told))
