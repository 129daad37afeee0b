"""The `kraft` system: actions of `replication` and `directories`, each with its effect on the other half."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.system import Action, Bound, Conjuncts, Legend, Outcome, Setting, System, sent
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate
from kraftcheck.model.rules.groups import CONTROLLER_GROUPS
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.directories.process import Process
from kraftcheck.model.systems.directories.state import Placement, Slots, Told
from kraftcheck.model.systems.directories.system import DIRECTORY_ARROWS, at_rest
from kraftcheck.model.systems.directories.system import actions as directory_actions
from kraftcheck.model.systems.elections.state import replicas_offline
from kraftcheck.model.systems.elections.system import BROKER, CONTROLLER, OPERATOR, STRIP, lanes
from kraftcheck.model.systems.elections.triggers import Triggers
from kraftcheck.model.systems.kraft.pair import Beside
from kraftcheck.model.systems.kraft.state import Kraft, decided, initial, layout, moved, replicated
from kraftcheck.model.systems.parts import OfSetting
from kraftcheck.model.systems.replication import state as data_plane
from kraftcheck.model.systems.replication.control import Control
from kraftcheck.model.systems.replication.settle import settle
from kraftcheck.model.systems.replication.state import STOPPED_CLEAN, STOPPED_UNCLEAN, Replication, Request
from kraftcheck.model.systems.replication.system import BOUNDS as DATA_BOUNDS
from kraftcheck.model.systems.replication.system import REPLICATION_ARROWS, unsettled_actions
from kraftcheck.model.triggers.leadership import kept_out

_ABSENT = (
    "replace_disk", "copy_meta_properties", "register_again", "apply_equal_metadata", "cordon",
)  # fmt: skip
"""What only the parts have when they are explored by themselves."""

_OF_PARTS = {**DIRECTORY_ARROWS, **REPLICATION_ARROWS}

LEGEND = Legend(
    lanes,
    {
        **{name: arrows for name, arrows in _OF_PARTS.items() if name not in _ABSENT},
        "apply_directories": sent(CONTROLLER, BROKER, "metadata records"),
        "elect_second_preferred": sent(OPERATOR, CONTROLLER, "ElectLeaders PREFERRED"),
        "expand_second_isr": sent(BROKER, CONTROLLER, "AlterPartition"),
        "delete_second": sent(OPERATOR, CONTROLLER, "DeleteTopics"),
    },
    {
        **{label: f"data.controller.{path}" for label, path in STRIP.items()},
        "leader epoch": "data.leader_epoch",
        "committed": "data.committed",
    },
)


DATA = {
    "produce": ("broker",), "produce_acks_1": ("broker",), "fetch": ("follower", "leader"), "apply_metadata": (),
    "propose_expand": ("broker",), "propose_shrink": ("broker",), "receive_answer": ("broker",), "give_up": ("broker",),
    "alter_partition": (), "lose_alter_partition": (),
}  # fmt: skip
"""Actions of the data plane, and the brokers of each that need their log open."""

DISKS = (
    "apply_metadata", "log_dir_timeout", "unfence", "report", "send", "assign", "answer", "lose", "assign_late", "move",
    "cancel_move", "copy", "request_promotion", "promote", "fail_directory", "intrude", "lose_report",
    "fail_while_reporting", "repair", "lose_decision",
)  # fmt: skip
"""Actions of processes and disks that touch no log of the data plane but by replacing it."""


def request_in_flight(state: Kraft, rules: RuleSet) -> Request:
    """The AlterPartition request in flight, as the controller judges it.

    Members on a directory known to be offline are refused like those of an earlier incarnation.
    """
    request, offline = state.data.request, replicas_offline(state.data.controller, rules.partition)
    refused = request.isr.keep(kept_out(offline, rules.directories))
    return evolve(request, stale=any_of(request.stale, negate(refused.is_empty())))


@frozen
class Both(OfSetting[RuleSet]):
    """The actions of one setting."""

    GROUP = ""

    @property
    def pair(self) -> Beside:
        """What the steps mean for a second partition."""
        return Beside(self.setting)

    def settled(self, state: Kraft) -> Kraft:
        """The state with one value for what nothing can read."""
        return evolve(state, data=settle(state.data, self.setting))

    def of_data(self, action: Action, brokers: tuple[str, ...]) -> Action:
        """An action of the data plane."""

        def effect(state: Kraft, **arguments: Any) -> Kraft:
            data = state.data
            if action.name.endswith("alter_partition"):
                data = evolve(data, request=request_in_flight(state, self.rules))
            return self.settled(replicated(state, action.effect(data, **arguments), self.rules.directories))

        def guard(state: Kraft, **arguments: Any) -> Conjuncts:
            opened = {f"{name} has its log open": state.serves(arguments[name]) for name in brokers}
            return {**action.guards(state.data, arguments), **opened}

        return evolve(action, effect=effect, guard=guard)

    def of_disks(self, action: Action) -> Action:
        """An action of processes and disks."""

        def effect(state: Kraft, **arguments: Any) -> Outcome:
            found = self.pair.first(action, state, arguments)
            placed: Placement = found.state
            data = state.data
            if found.event is not None:
                data = data_plane.decided(data, Outcome(placed.controller, found.event.event), self.rules.data_plane)
            after = evolve(moved(state, data, placed), others=self.pair.others(action, state, arguments))
            outcome = Outcome(self.settled(after), found.event, found.records)
            return self._answered(state, outcome, action, arguments)

        def guard(state: Kraft, **arguments: Any) -> Conjuncts:
            found = self.pair.guard(action, state, arguments)
            return {**found, **_one_log(state, **arguments)} if action.name == "repair" else found

        chosen = dict(action.parameters)
        if action.name == "apply_metadata" and self.setting["second"]:
            chosen["beside"] = chosen["slot"]
        name = "apply_directories" if action.name == "apply_metadata" else action.name
        return evolve(action, name=name, effect=effect, guard=guard, parameters=chosen)

    def _answered(self, before: Kraft, found: Outcome, action: Action, arguments: Mapping[str, Any]) -> Outcome:
        """The outcome; nothing happens where the controller resigns over a heartbeat."""
        fatal = self.pair.fatal(action, before, arguments)
        if fatal is False:
            return found
        told = evolve(found.event, event=evolve(found.event.event, resigned=True))
        return Outcome(choose(fatal, before, found.state), choose(fatal, told, found.event))

    def triggered(self, action: Action, trigger: Callable[..., Outcome]) -> Action:
        """A controller event with the guard and the budgets of `replication`."""

        def effect(state: Kraft, **arguments: Any) -> Outcome:
            spent: Replication = action.effect(state.data, **arguments)
            found = trigger(state.data.controller, **arguments)
            after = decided(state, found, self.rules)
            if action.name in ("fence", "shut_down"):
                after = evolve(after, others=self.pair.triggered(state, lambda c: trigger(c, **arguments)))
            after = self.settled(evolve(after, data=evolve(after.data, left=spent.left)))
            return Outcome(after, Told(found.event, False), found.records)

        def guard(state: Kraft, **arguments: Any) -> Conjuncts:
            return action.guards(state.data, arguments)

        return evolve(action, effect=effect, guard=guard)

    def crash(self, state: Kraft, broker: Word, lost: Word) -> Kraft:
        """The process dies, and its disks with what was not flushed."""
        return self._ended(state, Control(self.rules).crash(state.data, broker, lost), broker, Slots())

    def stop(self, state: Kraft, broker: Word) -> Kraft:
        """The process ends in order, its log flushed, and marks every directory that works as closed."""
        data = Control(self.rules).stop(state.data, broker)
        return self._ended(state, data, broker, state.host(broker).disks)

    def _ended(self, state: Kraft, data: Replication, broker: Word, clean: Slots) -> Kraft:
        placed = state.placement()
        host = evolve(placed.host(broker).stopped(), clean=clean)
        after = moved(state, data, placed.with_host(broker, host))
        return self.settled(evolve(after, others=self.pair.stopped(state, broker)))

    def start(self, action: Action) -> Action:
        """A new incarnation: both halves register it."""

        def effect(state: Kraft, broker: Word) -> Outcome:
            data = Control(self.rules).register(self._closed(state, broker), broker)
            found = action.outcome(state.placement(), {"broker": broker})
            others = self.pair.others(action, state, {"broker": broker})
            after = self.settled(evolve(moved(state, data, found.state), others=others))
            return Outcome(after, found.event, found.records)

        def guard(state: Kraft, broker: Word) -> Conjuncts:
            return self.pair.guard(action, state, {"broker": broker})

        return evolve(action, effect=effect, guard=guard)

    def ending(self, action: Action, effect: Callable[..., Kraft]) -> Action:
        """The end of a process, with the guard of `replication`, asked of every partition."""

        def guard(state: Kraft, **arguments: Any) -> Conjuncts:
            found = {**action.guards(state.data, arguments)}
            for second in state.others if action.name == "stop" else ():
                found["broker leads nothing beside"] = negate(second.leader == arguments["broker"])
            return found

        return evolve(action, effect=effect, guard=guard)

    def _closed(self, state: Kraft, broker: Word) -> Replication:
        """The logs, where a stop counts as clean only if every directory was closed."""
        if not self.setting["clean-stops"]:
            return state.data
        clean = Process(self.rules).starts_clean(state.host(broker))
        status = choose(clean, STOPPED_CLEAN, STOPPED_UNCLEAN)
        return state.data.with_broker(broker, evolve(state.data.broker(broker), status=status))


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
    if setting["reassignments"]:
        listed.append(both.triggered(data["reassign"], do.reassign))
    if "shut_down" in data:
        listed.append(both.triggered(data["shut_down"], do.controlled_shutdown))
    for name, effect in (("crash", both.crash), ("stop", both.stop)):
        if name in data:
            listed.append(both.ending(data[name], effect))
    return [*listed, *both.pair.actions()] if setting["second"] else listed


_OWN = (
    Bound("directories", 2, 2, "log directories of each broker"),
    Bound("failures", 0, 2, "budget: disks that fail"),
    Bound("moves", 0, 2, "budget: moves between directories of a broker, and their cancellations"),
    Bound("copies", 0, 1, "budget: abandoned assignment requests of which a copy arrives later"),
    Bound("second", 0, 2, "replicas of a second partition, whose records are left out; 0: there is none"),
    Bound("min-isr", 1, 5, "min.insync.replicas at the start", at_most="brokers"),
    Bound("deletions", 0, 1, "budget: deletions of the second partition", at_most="second"),
    Bound("repairs", 0, 2, "budget: disks that come back with what was on them"),
    Bound("reassignments", 0, 2, "budget: reassignments to other brokers"),
)
_FIXED = tuple(Bound(name, 0, 0, "not part of the composition") for name in
               ("crashes", "disk-changes", "metadata-slot", "start", "torn-moves", "unclean-elections",
                "config-changes", "late-replies", "cordons"))  # fmt: skip
BOUNDS = (*(b for b in DATA_BOUNDS if b.name not in {own.name for own in (*_OWN, *_FIXED)}), *_OWN, *_FIXED)

_BASE: Mapping[str, int] = {
    "brokers": 2, "replication": 2, "min-isr": 1, "elr": 0, "epochs": 6, "lag": 14, "loss": 0, "records": 1,
    "unclean-stops": 0, "fences": 1, "shrinks": 0, "directories": 2, "failures": 1, "moves": 0, "copies": 0,
    "reassignment": 0, "crashes": 0, "repairs": 0, "disk-changes": 0, "metadata-slot": 0, "start": 0,
    "clean-stops": 0, "reassignments": 0, "unclean-elections": 0, "config-changes": 0, "second": 0, "deletions": 0,
}  # fmt: skip

SCOPES = {
    "tiny": _BASE,
    "moves": {**_BASE, "fences": 0, "moves": 1},
    "pair": {**_BASE, "fences": 0, "second": 1},
    "deletion": {**_BASE, "replication": 1, "elr": 1, "second": 1, "deletions": 1},
    "restarts": {**_BASE, "min-isr": 2, "elr": 1, "fences": 0, "clean-stops": 1},
    "repairs": {**_BASE, "replication": 1, "fences": 0, "repairs": 1, "reassignments": 1},
    "takeovers": {**_BASE, "fences": 0, "moves": 1, "shrinks": 1, "takeovers": 1},
    "small": {**_BASE, "min-isr": 2, "elr": 1, "unclean-stops": 1, "loss": 1, "shrinks": 1},
}


def _one_log(state: Kraft, broker: Word, slot: Word) -> Conjuncts:
    """Whether a disk brings back the broker's only log: of two no offsets are kept."""
    host = state.host(broker)
    return {"no other log was made": any_of(negate(host.has_log()), negate(host.logs.has(slot)))}


def calm(state: Kraft) -> Truth:
    """No running broker has an assignment to send."""
    first = state.placement()
    return all_of(*(at_rest(placed) for placed in (first, *(second.placement(first) for second in state.others))))


KRAFT = System(
    name="kraft",
    summary="logs and the disks they are on: is an acknowledged record lost when a directory fails?",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    quiescent=calm,
    rules=CONTROLLER_GROUPS,
    legend=LEGEND,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
