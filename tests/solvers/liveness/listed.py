"""Random puzzles as systems, for engines that take nothing else."""

from attrs import frozen

from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.system import LIVENESS, Action, Fairness, Property, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose
from tests.solvers.liveness.naive import Puzzle
from tests.solvers.liveness.puzzles import ACTIONS


@frozen
class Node:
    """A state of a puzzle."""

    node: Word


def among(state: Node, nodes: frozenset[int]) -> Truth:
    """Whether a state is one of some."""
    return any_of(*(state.node == node for node in sorted(nodes)))


def listed(puzzle: Puzzle) -> System:
    """The system of a puzzle: of each action a branch for each step from the same state."""
    goal, premise = (lambda s: among(s, puzzle.goal)), (lambda s: among(s, puzzle.premise))
    return System(
        name="puzzle", summary="A random graph.", initial=[Node(state) for state in sorted(puzzle.initial)],
        layout=Node(Range(0, puzzle.count)), actions=[_action(puzzle, number) for number in range(ACTIONS)],
        properties=[
            Property(kind, kind, kind, goal, when=premise if kind == "leads_to" else None) for kind in LIVENESS
        ],
        fairness=[
            Fairness(tuple(f"act_{number}" for number in sorted(one.actions)), one.strong,
                     unless=lambda s, one=one: among(s, one.excused))
            for one in puzzle.fair
        ],
    )  # fmt: skip


def _action(puzzle: Puzzle, number: int) -> Action:
    steps = [(source, target) for source, action, target in puzzle.steps if action == number]
    branches = range(max((sum(s == source for s, _ in steps) for source, _ in steps), default=0) or 1)
    table = {(s, [t for o, t in steps if o == s].index(target)): target for s, target in steps}

    def effect(s: Node, branch: Word) -> Node:
        after = s.node
        for (source, place), target in table.items():
            after = choose(all_of(s.node == source, branch == place), target, after)
        return Node(after)

    def guard(s: Node, branch: Word) -> Truth:
        return any_of(*(all_of(s.node == source, branch == place) for source, place in table))

    return Action(f"act_{number}", effect, guard, {"branch": [*branches]})
