"""Toys have known answers, and the engines find them."""

import pytest

from kraftcheck.model.language.system import System
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted, Vacuous, exit_code, worst_exit_code
from tests import toys
from tests.shared.explored import agree_with_ints, explored


@pytest.mark.parametrize(
    ("managers", "distinct", "generated"),
    [("3", 288, 762), ("5", 8_832, 37_346), ("7", 296_448, 1_735_810),
     pytest.param("9", 10_340_352, 77_616_642, marks=pytest.mark.slow)],
)  # fmt: skip
def test_two_phase_commit_has_its_known_number_of_states(managers: str, distinct: int, generated: int) -> None:
    """Two-phase commit has its known number of states for 3, 5, 7 and 9 managers, and its properties hold."""
    found = explored(toys.TWO_PHASE, managers)
    assert (found.distinct, found.generated, found.depth) == (distinct, generated, 3 * int(managers) + 1)
    assert all(isinstance(verdict.verdict, Holds) for verdict in found.verdicts)
    assert found.verdict("committed").depth == 2 * int(managers) + 2
    assert min(found.fired.values()) > 0


def test_hasty_commit_is_refuted_by_a_shortest_trace() -> None:
    """Committing one promise early breaks consistency in 2 * 2 + 1 + 2 steps with three managers."""
    found = explored(toys.HASTY, "3").verdict("consistent")
    assert isinstance(found.verdict, Refuted)
    assert found.depth == 7
    assert found.verdict.trace.failing == ("no one aborted or no one committed",)
    assert exit_code(found.verdict) == 12


def test_a_clock_ticks_for_ever() -> None:
    """The clock has two states, no deadlock, and shows noon at once."""
    found = explored(toys.CLOCK)
    assert (found.distinct, found.generated, found.depth) == (2, 4, 0)
    assert worst_exit_code(v.verdict for v in found.verdicts) == 0
    assert found.verdict("noon").depth == 0


def test_a_digraph_gives_the_shortest_path() -> None:
    """Node 5 is found on the path of four edges, not on that of five; node 8 is not reachable."""
    found = explored(toys.DIGRAPH)
    broken = found.verdict("never-5").verdict
    assert isinstance(broken, Refuted)
    assert [state.node for state in broken.trace.states] == [0, 6, 7, 4, 5]
    crossed = found.verdict("never-4-to-5").verdict
    assert isinstance(crossed, Refuted)
    assert crossed.trace.states == broken.trace.states
    assert crossed.trace.failing == ("not from 4 to 5",)
    assert found.verdict("reach-5").depth == 4
    assert found.verdict("reach-8").verdict == Vacuous("reach-8")


def test_what_never_happens_is_listed() -> None:
    """An action that never fired and a conjunct that was never true are named; a useful guard is not."""
    found = explored(toys.DIGRAPH)
    assert found.fired == {"follow": 10, "escape": 0}
    assert found.never_true == (("escape", "guard"),)
    assert found.never_false == ()


def test_a_bound_that_prunes_is_named() -> None:
    """Adding past 5 is cut, counted for the field `count`, and told with the verdict and the cap's reason."""
    found = explored(toys.COUNTER)
    assert found.pruned == {"count": 5}
    assert found.distinct == 7
    assert found.verdict("armed-at-five").verdict == Holds(
        "all 7 states of counter; bound on count pruned 5 transitions: the toy counts to five"
    )
    assert found.verdict("deadlock").verdict == Holds(
        "all 7 states of counter; bound on count pruned 5 transitions: the toy counts to five"
    )


def test_a_stuck_system_deadlocks_and_a_resting_one_does_not() -> None:
    """State 3 has no successor: a deadlock after three steps unless it is quiescent."""
    stuck = explored(toys.STUCK).verdict("deadlock")
    assert isinstance(stuck.verdict, Refuted)
    assert (stuck.depth, exit_code(stuck.verdict)) == (3, 11)
    assert stuck.verdict.trace.states[-1].node == 3
    assert isinstance(explored(toys.RESTING).verdict("deadlock").verdict, Holds)


@pytest.mark.parametrize(
    ("system", "message"),
    [(toys.PANICKER, "action panic, effect raised RuntimeError"), (toys.MISTYPED, "action mistype")],
)
def test_a_faulty_system_is_named(system: System, message: str) -> None:
    """A system that raises or answers with the wrong type is refused with the action's name."""
    with pytest.raises(SystemFault, match=message):
        explored(system)


@pytest.mark.parametrize("system", [toys.CLOCK, toys.DIGRAPH, toys.COUNTER, toys.STUCK, toys.TWO_PHASE, toys.HASTY])
def test_native_and_int_successors_agree_on_every_reachable_state(system: System) -> None:
    """Each state has the same enabled instances with the same results in machine code and on ints."""
    program = trace(system, system.setting())
    kernel = load_kernel(program)
    seen, todo = set(program.initial), list(program.initial)
    while todo:
        fresh = {after for _, after in kernel.successors(todo.pop())} - seen
        seen |= fresh
        todo += fresh
    assert seen == set(explored(system).states())
    agree_with_ints(program, seen)
