"""A search in some orders of independent steps says what a naive search of all orders says."""

import functools

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.system import System
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.orders import Orders
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Incomplete, Refuted
from kraftcheck.solvers.search.orders import OrdersError, by_orders
from kraftcheck.solvers.search.symmetry import reduced
from tests.random_systems.comparison import Case
from tests.random_systems.systems import drawn
from tests.solvers.search.orders.agreement import agrees_in_orders
from tests.solvers.search.orders.ports import LOCK, NO_LOCK, PREPARED, READERS_WRITERS, WALKING
from tests.solvers.search.orders.processes import drawn_processes
from tests.toys import TWO_PHASE, VALVE

SEEDS = (3, 16, 19, 42, 132)  # systems of processes on which a reduction without one of its conditions goes wrong

NIGHTLY = [pytest.param(range(first, first + 100), marks=pytest.mark.slow) for first in range(0, 4000, 100)]
GENERAL = [pytest.param(range(first, first + 100), marks=pytest.mark.slow) for first in range(0, 1000, 100)]


@pytest.mark.parametrize("seed", SEEDS)
def test_verdicts_are_those_of_all_orders(seed: int) -> None:
    """Verdicts, deadlock, what happens and what a domain cuts are the naive ones; witnesses are runs."""
    case = Case(drawn_processes(seed))
    found = agrees_in_orders(case)
    assert found.orders is not None
    assert found.distinct <= len(case.graph.depth)


@pytest.mark.parametrize("seeds", NIGHTLY, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_verdicts_of_many_systems_are_those_of_all_orders(seeds: range) -> None:
    """The same for thousands of systems of processes, of which at least one in eight is reduced."""
    smaller = 0
    for seed in seeds:
        case = Case(drawn_processes(seed))
        smaller += agrees_in_orders(case).distinct < len(case.graph.depth)
    assert 8 * smaller >= len(seeds)


@pytest.mark.parametrize("seeds", GENERAL, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_verdicts_of_general_systems_are_those_of_all_orders(seeds: range) -> None:
    """The same for random systems with every word of the language, whose steps are seldom independent."""
    for seed in seeds:
        agrees_in_orders(Case(drawn(seed)))


WALKERS, LAST = 4, PREPARED


@functools.cache
def walking(threads: int, in_orders: bool) -> Exploration:
    """What the native engine finds of the walkers."""
    program = trace(WALKING, WALKING.setting())
    return explore(by_orders(program) if in_orders else program, SearchBudget(threads=threads), clock=lambda: 0.0)


def test_processes_that_do_not_see_each_other_take_turns() -> None:
    """Of walkers that share a tuple and a mask one order is followed, and the deadlock at its end is found."""
    full, some = walking(1, False), walking(1, True)
    assert full.distinct == (LAST + 2) ** WALKERS
    assert some.distinct <= 2 * WALKERS * (LAST + 2)
    stuck = some.verdict("deadlock").verdict
    assert isinstance(stuck, Refuted)
    assert len(stuck.trace.steps) == WALKERS * (LAST + 1)
    assert [type(one.verdict) for one in full.verdicts] == [type(one.verdict) for one in some.verdicts]
    assert (some.shortest, full.shortest, full.orders) == (False, True, None)


def test_the_number_of_threads_changes_nothing() -> None:
    """Two threads find the same states in the same order, and leave out as much."""
    one, two = walking(1, True), walking(2, True)
    assert list(one.states()) == list(two.states())
    assert (one.orders, one.levels, one.generated) == (two.orders, two.levels, two.generated)


@pytest.mark.parametrize(
    ("system", "states", "followed"),
    [
        (LOCK, 1125, 60),
        pytest.param(NO_LOCK, 1296, 93, marks=pytest.mark.slow),
        pytest.param(READERS_WRITERS, 1205, 74, marks=pytest.mark.slow),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_processes_that_share_little_are_explored_in_few_orders(system: System, states: int, followed: int) -> None:
    """Of mutual exclusion, right and wrong, and of readers and writers a tenth is left, with the same verdicts."""
    program = trace(system, system.setting())
    full, some = (explore(one, clock=lambda: 0.0) for one in (program, by_orders(program)))
    assert (full.distinct, some.distinct) == (states, followed)
    assert [(one.claim, type(one.verdict)) for one in some.verdicts] == [
        (one.claim, type(one.verdict)) for one in full.verdicts
    ]
    assert all((b.depth or 0) >= (a.depth or 0) for a, b in zip(full.verdicts, some.verdicts, strict=True))


def test_states_outside_the_constraint_are_met_in_some_orders_too() -> None:
    """With `within` both searches judge states that they do not follow, and both say incomplete."""
    bounded = evolve(LOCK, within=lambda s: kc.negate(s.inside.has(3)))
    program = trace(bounded, bounded.setting())
    full, some = (explore(one, clock=lambda: 0.0) for one in (program, by_orders(program)))
    assert min(full.outside, some.outside) > 0
    assert type(some.verdict("exclusive").verdict) is Incomplete
    assert some.distinct < full.distinct
    assert [type(one.verdict) for one in some.verdicts] == [type(one.verdict) for one in full.verdicts]


def orders_of(system: System) -> Orders:
    """The tables of a system."""
    orders = by_orders(trace(system, system.setting())).orders
    assert orders is not None
    return orders


def test_independence_is_found_in_tuples_and_in_masks() -> None:
    """Each walker's steps depend on those of no other walker; only the arrival of the first is visible."""
    orders = orders_of(WALKING)
    for walker in range(WALKERS):
        own = 1 << walker | 1 << WALKERS + walker
        assert orders.dependent[walker] == orders.dependent[WALKERS + walker] == own
    assert orders.visible == 1 << WALKERS


@frozen
class Dial:
    """A number that a step may take out of its domain."""

    value: kc.Word


def test_a_step_that_a_domain_cuts_depends_on_what_decides_that() -> None:
    """Setting bit 1 of a number up to 5 is cut where bit 2 is set: it depends on the step that clears bit 2."""
    dial = System(
        name="dial", summary="A number whose bits are set and cleared.", initial=[Dial(4)], layout=Dial(kc.ints(0, 5)),
        actions=[kc.Action("set", lambda s: Dial(s.value | 2)), kc.Action("clear", lambda s: Dial(s.value & 3))],
    )  # fmt: skip
    assert orders_of(dial).dependent == (3, 3)
    wide = evolve(dial, layout=lambda setting: Dial(kc.ints(0, 7)))
    assert orders_of(wide).dependent == (1, 2)


def test_guards_are_not_reported_of_a_reduced_search() -> None:
    """Which conjuncts were never true or false is not said: a state that was left out may show it."""
    assert walking(1, False).never_false == (("arrive", "nobody stops them"),)
    some = walking.__wrapped__(1, True)  # searched anew, also where a test of a mutant runs after others
    assert some.never_true == some.never_false == ()


def test_what_is_about_all_orders_is_refused() -> None:
    """Properties that ask for recovery, and states that are reduced by symmetry, are named."""
    with pytest.raises(OrdersError, match=r"opens \(recovers\) is about all that may follow.*judge it without"):
        by_orders(trace(VALVE, VALVE.setting()))
    with pytest.raises(OrdersError, match="by symmetry already"):
        by_orders(reduced(trace(TWO_PHASE, TWO_PHASE.setting())))
