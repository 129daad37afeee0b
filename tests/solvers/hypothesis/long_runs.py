"""Settings too large for any layout, which the engines on ints run where exhaustive search cannot.

Epochs, versions, records and budgets are as large as a run is long, so that to
a run they are unbounded. A system that is not named runs at its first scope.
"""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from kraftcheck.model.language.system import Setting, Step, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, negate
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.elections.outsiders import needed_isr, working

LENGTH = -1  # in place of a bound: as large as a run is long


@frozen
class Beyond:
    """One such setting."""

    name: str  # of the setting, unique within the system
    bounds: Mapping[str, int] = field(factory=dict)  # override those of the scope
    # how often a random run prefers an action, by name; 1 where it is not named
    weights: Mapping[str, int] = field(factory=dict)
    rules: str = "fixed"  # a rule set under which every property holds
    scope: str | None = None  # what the bounds start from; None for the first

    def setting(self, system: System, length: int, variant: str = "") -> Setting:
        """The setting for runs of a length, with a variant of its rules such as `+NAME`."""
        bounds = {name: length if value == LENGTH else value for name, value in self.bounds.items()}
        return system.unlimited_setting(self.scope, bounds, parse(self.rules + variant) if system.rules else None)


_LONG = {
    "epochs": LENGTH, "lag": LENGTH, "records": LENGTH, "loss": 3, "clean-stops": LENGTH, "fences": LENGTH,
    "shrinks": LENGTH,
}  # fmt: skip
_NO_CLEAN_STOPS = {name: value for name, value in _LONG.items() if name != "clean-stops"}
_RARE = {"enable_elr": 4, "new_incarnation": 3, "unfence": 2, "unclean_timer": 3, "set_unclean_election": 2}
_PROGRESS = {
    "fetch": 8, "apply_metadata": 6, "alter_partition": 4, "receive_answer": 4, "produce": 3, "propose_expand": 3,
    "unfence": 2, "register": 2,
}  # fmt: skip
_SETTLING = {
    "start": 8, "unfence": 8, "apply_metadata": 6, "send": 4, "assign": 6, "answer": 6, "expand_isr": 8,
    "shrink_isr": 6, "replicate": 8, "copy": 4, "request_promotion": 4, "promote": 6, "cancel_move": 3, "report": 8,
}  # fmt: skip

_DECIDING = {
    "list_brokers": 12, "read_node": 12, "write_all": 12, "retry": 20, "abandon": 20, "expire": 8, "load": 8,
    "stop_fetcher": 8, "act": 8, "finish": 4, "change_isr": 4, "start_replicas": 8, "check_isr": 12, "complete": 12,
    "recheck": 20, "publish": 8, "stop_replica": 8, "delete_partition": 8, "depose": 8, "take_over": 4,
}  # fmt: skip

_RESTARTING = {
    "fail_operation": 8, "stop_cleaning": 8, "cut_checkpoints": 8, "remove_logs": 8, "enqueue": 8, "read_requests": 6,
    "restart": 6, "remove_requests": 4, "recreate": 8, "rejoin": 4, "end_reassignment": 4, "drop_broker": 4,
}  # fmt: skip
_RECOVERING = {"start": 4, "answer": 4, "decide": 8, "request": 8, "finish": 8, "come_back": 2, "replicate": 3}

BEYOND: Mapping[str, tuple[Beyond, ...]] = {
    "elections": (
        Beyond("nine-brokers", {"brokers": 9, "directories": 4, "replication": 5, "reserved": 1}, _RARE),
        Beyond("one-directory", {"brokers": 7, "replication": 5}, _RARE),
    ),
    "replication": (
        Beyond("nine-brokers", {**_LONG, "brokers": 9, "replication": 4, "unclean-stops": 1, "config-changes": 2},
               _PROGRESS),
        Beyond("reassigned", {**_LONG, "brokers": 5, "unclean-stops": 1, "reassignments": LENGTH}, _PROGRESS),
    ),
    "directories": (
        Beyond(
            "four-brokers",
            {"brokers": 4, "directories": 4, "replication": 3, "failures": 2, "crashes": 4, "fences": 2,
             "records": LENGTH, "moves": LENGTH},
            _SETTLING,
        ),
        Beyond("two-brokers", {"failures": 2, "crashes": LENGTH, "fences": LENGTH, "moves": LENGTH}, _SETTLING),
    ),
    "kraft": (
        Beyond("three-brokers", {**_NO_CLEAN_STOPS, "brokers": 3, "replication": 3, "unclean-stops": 1, "failures": 2},
               {**_PROGRESS, **_SETTLING}, scope="small"),
        Beyond("two-brokers",  # few failures, or hardly a move comes to its end
               {"epochs": LENGTH, "lag": LENGTH, "records": LENGTH, "fences": 2, "moves": LENGTH, "copies": 1},
               {**_PROGRESS, **_SETTLING}, scope="moves"),
    ),
    "zk-jbod": (
        Beyond("four-brokers",
               {"brokers": 4, "partitions": 3, "directories": 3, "jobs": 1, "cleaner": 1, "disk-failures": 4,
                "log-failures": 2, "glitches": 2, "stops": 1, "controller-failures": LENGTH, "reassignments": 2,
                "repairs": 2},
               _RESTARTING),
        Beyond("two-brokers", {"partitions": 1, "disk-failures": 4}, _RESTARTING),
    ),
    "zk-controller": (
        Beyond("four-brokers",
               {"brokers": 4, "partitions": 3, "new-topic": 1, "stops": LENGTH, "controller-failures": LENGTH,
                "isr-changes": LENGTH},
               _DECIDING),
        Beyond("deposed", {"stops": LENGTH, "replica-failures": 3, "isr-changes": LENGTH, "deletions": 1},
               {**_DECIDING, "depose": 20, "take_over": 20}, scope="deposed"),
        Beyond("sessions", {"brokers": 3, "session-losses": 2, "isr-changes": LENGTH, "controller-failures": 0},
               {**_DECIDING, "change_isr": 24, "retry": 40}, scope="sessions"),
        Beyond("replicas", {"brokers": 3, "isr-changes": 6, "controller-failures": 0},
               {**_DECIDING, "reassign": 8, "start_replicas": 20, "fetch": 4, "check_isr": 30, "complete": 1,
                "change_isr": 16, "recheck": 40}, scope="reassignment"),
    ),
    "broker-ids": (
        Beyond(
            "four-machines",  # every configuration of ids is an initial state: more would be millions
            {"machines": 4, "running": 2, "ids": 6, "hostnames": 6, "stops": LENGTH, "disk-losses": LENGTH,
             "renames": LENGTH},
            scope="static",
        ),
    ),
    "unclean-recovery": (
        Beyond(
            "four-brokers",  # every combination of logs is an initial state: a fifth broker makes 10,000
            {"brokers": 4, "partitions": 2, "histories": 1, "ticks": 3, "retries": 3, "attempts": LENGTH,
             "returns": LENGTH, "faults": LENGTH, "disks": 2, "writes": LENGTH, "replacements": 2},
            _RECOVERING, scope="requests",
        ),
        Beyond("two-partitions", {"attempts": LENGTH}, _RECOVERING, scope="requests"),
    ),
    # a new leader epoch cuts a copy only where it has what is not committed
    "future-logs": (Beyond("first-scope", weights={"move": 4, "append": 3, "copy": 8}),),
}  # fmt: skip
"""The settings of each system."""


def settings_of(system: System) -> tuple[Beyond, ...]:
    """The settings of a system: its own, or its first scope as it is."""
    return BEYOND.get(system.name, (Beyond("first-scope"),))


PREFERRED: Mapping[str, int] = {**_PROGRESS, **_SETTLING}
"""How often a random run prefers an action of `replication` or `directories`."""

Passes = Callable[[Step, Setting, int], Truth]
"""Whether a step, at a setting, is one that no run makes while a bound is at most a number."""


def _elects(of: Callable[[Any], Any], size: Callable[[Any], Word]) -> Passes:
    """A step that elects a leader, while something that the controller knows is larger."""

    def passes(t: Step, _: Setting, number: int) -> Truth:
        before, after = of(t.before), of(t.after)
        return all_of(negate(before.leader == after.leader), after.leader >= 0, size(after) > number)

    return passes


def _sizes(of: Callable[[Any], Any]) -> dict[str, Passes]:
    return {"brokers": _elects(of, lambda c: working(c).size()), "replication": _elects(of, lambda c: c.isr.size())}


def _spends(budget: str) -> Passes:
    name = budget.replace("-", "_")
    return lambda t, setting, number: setting[budget] - getattr(t.after.left, name) > number


def _is_behind(t: Step, _: Setting, number: int) -> Truth:
    return any_of(*(all_of(b.running(), t.after.leader_epoch - b.epoch > number) for b in t.after.brokers))


PASSING: Mapping[str, Mapping[str, Passes]] = {
    "elections": _sizes(lambda s: s),
    "directories": _sizes(lambda s: s.controller),
    "replication": {
        **_sizes(lambda s: s.controller),
        "min-isr": _elects(lambda s: s.controller, needed_isr),
        "epochs": lambda t, _, number: t.after.leader_epoch > number,
        "lag": _is_behind,
        "loss": lambda t, _, number: t.action == "crash" and t.arguments["lost"] > number,
        "records": lambda t, _, number: t.after.acknowledged > number,
        **{name: _spends(name) for name in ("unclean-stops", "clean-stops", "fences", "shrinks")},
    },
}
"""For each bound that proofs take as any number: what shows that a run goes beyond a number."""
