"""The `kraft` system: actions of `replication` and `directories`, each with its effect on the other half."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, frozen

from model.rules import RuleSet
from model.system import Action, Bound, Conjuncts, Outcome, Setting, System, conjuncts
from model.systems.directories.state import Placement
from model.systems.directories.system import actions as directory_actions
from model.systems.directories.system import at_rest
from model.systems.elections.triggers import Triggers
from model.systems.kraft.state import Kraft, decided, initial, layout, moved, replicated
from model.systems.replication import state as data_plane
from model.systems.replication.control import Control
from model.systems.replication.settle import settle
from model.systems.replication.state import Replication
from model.systems.replication.system import BOUNDS as DATA_BOUNDS
from model.systems.replication.system import unsettled_actions
from model.terms import Truth, Word
from model.words import all_of, choose, implies

DATA = {
    "produce": ("broker",), "produce_acks_1": ("broker",), "fetch": ("follower", "leader"), "apply_metadata": (),
    "propose_expand": ("broker",), "propose_shrink": ("broker",), "receive_answer": ("broker",), "give_up": ("broker",),
    "alter_partition": (),
}  # fmt: skip
"""Actions of the data plane, and the brokers of each that need their log open."""

DISKS = (
    "apply_metadata", "log_dir_timeout", "unfence", "report", "send", "assign", "answer", "lose", "assign_late", "move",
    "cancel_move", "copy", "request_promotion", "promote", "fail_directory", "intrude", "lose_report",
    "fail_while_reporting",
)  # fmt: skip
"""Actions of processes and disks that touch no log of the data plane but by replacing it."""


@frozen
class Both:
    """The actions of one setting."""

    setting: Setting

    @property
    def rules(self) -> RuleSet:
        """The rule set."""
        rules: RuleSet = self.setting.rules
        return rules

    def settled(self, state: Kraft) -> Kraft:
        """The state with one value for what nothing can read."""
        return evolve(state, data=settle(state.data, self.setting))

    def of_data(self, action: Action, brokers: tuple[str, ...]) -> Action:
        """An action of the data plane."""

        def effect(state: Kraft, **arguments: Any) -> Kraft:
            data = self._refusing(state) if action.name == "alter_partition" else state.data
            return self.settled(replicated(state, action.effect(data, **arguments), self.rules))

        def guard(state: Kraft, **arguments: Any) -> Conjuncts:
            opened = {f"{name} has its log open": state.serves(arguments[name]) for name in brokers}
            return {**action.guards(state.data, arguments), **opened}

        return evolve(action, effect=effect, guard=guard)

    def _refusing(self, state: Kraft) -> Replication:
        """Members on a directory known to be offline are refused like those of an earlier incarnation."""
        data = state.data
        if self.rules.alter_partition_ignores_directories:
            return data
        placed, request = state.placement(), data.request
        online = all_of(*(implies(request.isr.has(b), placed.may_be_online(b)) for b in range(len(state.hosts))))
        return choose(online, data, evolve(data, request=evolve(request, stale=True)))

    def of_disks(self, action: Action) -> Action:
        """An action of processes and disks."""

        def effect(state: Kraft, **arguments: Any) -> Kraft:
            found = action.outcome(state.placement(), arguments)
            placed: Placement = found.state
            data = state.data
            if found.event is not None:
                data = data_plane.decided(data, Outcome(placed.controller, found.event.event), self.rules)
            return self.settled(moved(state, data, placed))

        def guard(state: Kraft, **arguments: Any) -> Conjuncts:
            return action.guards(state.placement(), arguments)

        name = "apply_directories" if action.name == "apply_metadata" else action.name
        return evolve(action, name=name, effect=effect, guard=guard)

    def triggered(self, action: Action, trigger: Callable[..., Outcome]) -> Action:
        """A controller event with the guard and the budgets of `replication`."""

        def effect(state: Kraft, **arguments: Any) -> Kraft:
            spent: Replication = action.effect(state.data, **arguments)
            after = decided(state, trigger(state.data.controller, **arguments), self.rules)
            return self.settled(evolve(after, data=evolve(after.data, left=spent.left)))

        def guard(state: Kraft, **arguments: Any) -> Conjuncts:
            return action.guards(state.data, arguments)

        return evolve(action, effect=effect, guard=guard)

    def crash(self, state: Kraft, broker: Word, lost: Word) -> Kraft:
        """The process dies, and its disks with what was not flushed."""
        data = Control(self.rules).crash(state.data, broker, lost)
        placed = state.placement()
        return self.settled(moved(state, data, placed.with_host(broker, placed.host(broker).stopped())))

    def start(self, action: Action) -> Action:
        """A new incarnation: both halves register it."""

        def effect(state: Kraft, broker: Word) -> Kraft:
            data = Control(self.rules).register(state.data, broker)
            return self.settled(moved(state, data, action.outcome(state.placement(), {"broker": broker}).state))

        def guard(state: Kraft, broker: Word) -> Conjuncts:
            return action.guards(state.placement(), {"broker": broker})

        return evolve(action, effect=effect, guard=guard)


def actions(setting: Setting) -> list[Action]:
    """Every action of both systems that the composition has."""
    both, do = Both(setting), Triggers(setting.rules)
    data = {action.name: action for action in unsettled_actions(setting)}
    disks = {action.name: action for action in directory_actions(setting)}
    listed = [both.of_data(data[name], brokers) for name, brokers in DATA.items() if name in data]
    listed += [both.of_disks(disks[name]) for name in DISKS if name in disks]
    listed += [
        both.triggered(data["fence"], do.fence),
        both.triggered(data["elect_preferred"], do.elect_preferred),
        both.start(disks["start"]),
    ]
    if "crash" in data:
        died = data["crash"]

        def guard(state: Kraft, **arguments: Any) -> Conjuncts:
            return conjuncts(died.guards(state.data, arguments), "guard")

        listed.append(evolve(died, effect=both.crash, guard=guard))
    return listed


_OWN = (
    Bound("directories", 2, 2, "log directories of each broker"),
    Bound("failures", 0, 2, "budget: disks that fail"),
    Bound("moves", 0, 2, "budget: moves between directories of a broker, and their cancellations"),
    Bound("copies", 0, 1, "budget: abandoned assignment requests of which a copy arrives later"),
)
_FIXED = tuple(Bound(name, 0, 0, "not part of the composition") for name in
               ("crashes", "repairs", "disk-changes", "start", "clean-stops", "reassignments", "unclean-elections",
                "config-changes"))  # fmt: skip
BOUNDS = (
    *(b for b in DATA_BOUNDS if b.name not in {own.name for own in (*_OWN, *_FIXED)}),
    *_OWN,
    *_FIXED,
)

_BASE: Mapping[str, int] = {
    "brokers": 2, "replication": 2, "min-isr": 1, "elr": 0, "epochs": 6, "lag": 14, "loss": 0, "records": 1,
    "unclean-stops": 0, "fences": 1, "shrinks": 0, "directories": 2, "failures": 1, "moves": 0, "copies": 0,
    "reassignment": 0, "crashes": 0, "repairs": 0, "disk-changes": 0, "start": 0, "clean-stops": 0, "reassignments": 0,
    "unclean-elections": 0, "config-changes": 0,
}  # fmt: skip

SCOPES = {
    "tiny": _BASE,
    "moves": {**_BASE, "fences": 0, "moves": 1},
    "small": {**_BASE, "min-isr": 2, "elr": 1, "unclean-stops": 1, "loss": 1, "shrinks": 1},
}


def calm(state: Kraft) -> Truth:
    """No running broker has an assignment to send."""
    return at_rest(state.placement())


KRAFT = System(
    name="kraft",
    summary="logs and the disks they are on: is an acknowledged record lost when a directory fails?",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    quiescent=calm,
    rules=True,
)
"""The system without its properties; `properties.catalogue` adds them."""
