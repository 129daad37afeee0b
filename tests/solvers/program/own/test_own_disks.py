"""Processes and disks of `kraft` do nothing but what `directories` does, where AlterPartition may come at any time.

Two things differ. Which logs have every record is a ghost of `directories`, and is forgotten: `kraft` has the logs.
There, a leader whose request is judged need not have applied the newest metadata, as it has to in `directories`.
"""

import time
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.ci.systems.subject import Subject, subject
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Action, Step, System
from kraftcheck.model.systems.directories.state import Placement, decided
from kraftcheck.model.systems.elections import system as guards
from kraftcheck.model.systems.elections.triggers import Triggers
from kraftcheck.model.systems.kraft.state import Kraft
from kraftcheck.model.systems.kraft.system import DATA
from kraftcheck.solvers.exploration.explore import Exploration, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted, Verdict

SAME = ("brokers", "directories", "replication", "elr", "start", "failures", "fences", "moves", "copies", "records",
        "repairs", "disk-changes", "reassignments", "reassignment")  # fmt: skip
"""Bounds that both systems have."""

ISR = ("expand_isr", "shrink_isr")
RECORDS = ("replicate", "write")
"""What `directories` has in place of a data plane: changes of the ISR, and of who has all records."""


def forgotten(state: Placement) -> Placement:
    """The state without what is known of records."""
    hosts = tuple(evolve(host, whole=host.logs) for host in state.hosts)
    return evolve(state, hosts=hosts, written=True, lossy=False)


def disks(state: Kraft) -> Placement:
    """The mapping: registration, processes, disks, and the budgets that `replication` counts down."""
    left = evolve(state.left, fences=state.data.left.fences, crashes=state.data.left.unclean_stops)
    return forgotten(evolve(state.placement(), left=left))


@frozen
class Pair:
    """`kraft` under some rules, and `directories` under others, both at the bounds of a scope of `kraft`."""

    # scope, rules: of `kraft`
    scope: str = "tiny"
    rules: str = "fixed"
    allowed: str = "fixed"  # the rules of `directories`
    without: tuple[str, ...] = ()  # actions that it is not to have
    # whether the ISR changes there only as `directories` says itself, by a leader that serves its log
    strict: bool = False

    def concrete(self) -> Subject:
        """`kraft`."""
        return subject("kraft", self.scope, {}, self.rules)

    def chosen(self) -> Subject:
        """`directories` as it is."""
        bounds = self.concrete().setting.bounds
        ours = {name: bounds[name] for name in SAME} | {"crashes": bounds["unclean-stops"]}
        return subject("directories", "tiny", ours, self.allowed)

    def abstract(self) -> System:
        """`directories`, from where `kraft` begins, without what is known of records."""
        chosen, concrete = self.chosen(), self.concrete()
        dropped = (*RECORDS, *self.without, *(() if self.strict else ISR))
        own = [evolve(one, effect=_forgetting(one)) for one in chosen.system.actions(chosen.setting)]
        listed = [one for one in [*own, *self.added()] if one.name not in dropped]
        return evolve(chosen.system, initial=[disks(one) for one in concrete.system.initial(concrete.setting)],
                      actions=listed)  # fmt: skip

    def added(self) -> list[Action]:
        """What the data plane does to registration and disks: it changes the ISR, and future logs fall behind."""
        rules, brokers = self.chosen().setting.rules, range(self.concrete().setting["brokers"])

        def alter(s: Placement, isr: Any) -> Placement:
            outcome = Triggers(rules).alter_partition(s.controller, BrokerSet(isr), False)
            placed: Placement = decided(s, outcome, rules.directories).state
            return forgotten(placed)

        def may_alter(s: Placement, isr: Any) -> Any:
            return guards.may_alter(s.controller, BrokerSet(isr), False, rules)

        def append(s: Placement, broker: Any) -> Placement:
            return s.with_host(broker, evolve(s.host(broker), copied=False))

        altered = [Action("alter_partition", alter, may_alter, {"isr": range(1, 1 << len(brokers))})]
        return [*([] if self.strict else altered), Action("append", append, None, {"broker": brokers})]

    def found(self) -> Exploration:
        """What a search finds of the claim."""
        concrete, abstract, chosen = self.concrete(), self.abstract(), self.chosen()
        instances = {one.name: one for one in abstract.actions(chosen.setting)}

        def by(step: Step) -> list[tuple[str, dict[str, Any]]]:
            of_data = step.action in DATA
            names = ("alter_partition", "append", *ISR) if of_data else (_renamed(step.action),)
            given = {} if of_data else step.arguments
            taken = [instances[name] for name in names if name in instances]
            return [(action.name, choice) for action in taken for choice in _choices(action, given)]

        claims = kc.refines("refines-directories", "processes and disks do what directories does", abstract, disks,
                            setting=chosen.setting, by=by)  # fmt: skip
        return explore(trace(evolve(concrete.system, properties=claims), concrete.setting), clock=time.monotonic)

    def judged(self) -> Verdict:
        """The verdict on the claim."""
        return self.found().verdict("refines-directories").verdict


def _forgetting(action: Action) -> Any:
    return lambda s, **arguments: forgotten(action.outcome(s, arguments).state)


def _renamed(name: str) -> str:
    return "apply_metadata" if name == "apply_directories" else name


def _choices(action: Action, given: Any) -> Sequence[dict[str, Any]]:
    """The arguments of an action: those that are given, and every value of the others."""
    rows: list[dict[str, Any]] = [{}]
    for name, values in action.parameters.items():
        rows = [{**row, name: v} for row in rows for v in ([given[name]] if name in given else values)]
    return rows


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scope", "rules"), [("tiny", "fixed"), ("moves", "fixed"), ("tiny", "kafka-4.0"), ("moves", "kafka-4.0")]
)
def test_disks_do_what_directories_does(scope: str, rules: str) -> None:
    """Under the same rules each step is one of `directories`, or leaves processes, disks and registration alone."""
    assert isinstance(Pair(scope, rules, rules).judged(), Holds)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "steps"),
    [
        ("offline-directory-leader-kept", ["fail_directory", "report"]),
        ("failure-recreates-log", ["fail_directory", "report", "apply_directories"]),
    ],
)
def test_a_defect_of_disks_is_no_step_of_directories(variant: str, steps: list[str]) -> None:
    """A variant of `kraft` leaves the right rules of `directories` at the step that has the defect."""
    verdict = Pair(rules=f"fixed+{variant}").judged()
    assert isinstance(verdict, Refuted)
    assert [step.action for step in verdict.trace.steps] == steps


@pytest.mark.slow
@pytest.mark.parametrize("name", ["report", "alter_partition"])
def test_a_directories_that_may_do_less_is_not_refined(name: str) -> None:
    """Without an action, its first occurrence is the step that `directories` does not make."""
    verdict = Pair(without=(name,)).judged()
    assert isinstance(verdict, Refuted)
    assert verdict.trace.steps[-1].action == name


@pytest.mark.slow
def test_a_request_is_judged_after_newer_metadata() -> None:
    """With the guards of `directories` the claim is refuted: the leader of a request in flight may be behind."""
    verdict = Pair(strict=True).judged()
    assert isinstance(verdict, Refuted)
    assert verdict.trace.steps[-1].action == "alter_partition"
    asked = disks(verdict.trace.steps[-2].state)
    assert asked.host(asked.controller.leader).behind


@pytest.mark.slow
def test_kraft_begins_in_a_state_of_directories() -> None:
    """`directories` begins before any log is made, and reaches the state in which `kraft` begins."""
    pair = Pair()
    chosen, abstract = pair.chosen(), pair.abstract()
    new = [forgotten(one) for one in chosen.system.initial(chosen.setting)]
    program = trace(evolve(abstract, initial=new, properties=()), chosen.setting)
    found = explore(program, clock=time.monotonic)
    assert found.store is not None
    for state in abstract.initial(chosen.setting):
        assert found.store.identify(program.layout.pack(state)) is not None
        assert found.program.layout.pack(state) not in found.program.initial
