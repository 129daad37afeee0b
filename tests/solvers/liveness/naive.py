"""A naive judge of liveness: it enumerates strongly connected components, and uses nothing of the project.

After Vardi and Wolper, a fair behaviour ends in a component; strong fairness is decided by taking states out of a
component and splitting it again (Streett acceptance).
"""

from collections.abc import Iterable, Iterator

from attrs import field, frozen

Step = tuple[int, int, int]  # a state, an action, and the state it leads to


@frozen
class Fair:
    """A fairness constraint."""

    strong: bool  # strong or weak
    actions: frozenset[int]  # whose steps it is about
    excused: frozenset[int] = frozenset()  # states in which none of them need be taken


@frozen
class Puzzle:
    """A graph, what is fair in it, and where a premise and a goal hold."""

    count: int
    initial: frozenset[int]
    steps: tuple[Step, ...]
    fair: tuple[Fair, ...]
    premise: frozenset[int]
    goal: frozenset[int]
    after: dict[int, set[int]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        after: dict[int, set[int]] = {state: set() for state in range(self.count)}
        for source, _, target in self.steps:
            after[source].add(target)
        object.__setattr__(self, "after", after)

    def taken(self, fair: Fair) -> set[tuple[int, int]]:
        """The pairs of different states that are steps of a constraint."""
        return {(s, t) for s, a, t in self.steps if a in fair.actions and s != t and s not in fair.excused}


def reachable(start: Iterable[int], after: dict[int, set[int]], within: set[int]) -> dict[int, int]:
    """The states that are reached inside a set, with the number of steps."""
    level = [state for state in start if state in within]
    distance = dict.fromkeys(level, 0)
    while level:
        level = list({t for s in level for t in after[s] if t in within and t not in distance})
        distance.update(dict.fromkeys(level, distance[next(reversed(distance))] + 1))
    return distance


def components(within: set[int], after: dict[int, set[int]]) -> Iterator[set[int]]:
    """The strongly connected components of a set: states that reach each other."""
    left = set(within)
    while left:
        state = min(left)
        ahead = set(reachable([state], after, within))
        component = {other for other in ahead if state in reachable([other], after, within)}
        left -= component
        yield component


def on_fair_cycles(puzzle: Puzzle, region: set[int], visit: set[int] | None) -> set[int]:
    """The states of a region that are on a fair cycle inside of it, which may be to stutter."""
    found: set[int] = set()
    for component in components(region, puzzle.after):
        left = set(component)
        for fair in puzzle.fair:
            taken = {(s, t) for s, t in puzzle.taken(fair) if s in component and t in component}
            enabled = {s for s, _ in puzzle.taken(fair)}
            if taken:
                continue
            if fair.strong:
                left -= enabled
            elif component <= enabled:
                left = set()
        if visit is not None and not component & visit:
            left = set()
        found |= component if left == component else on_fair_cycles(puzzle, left, visit) if left else set()
    return found


@frozen
class Naive:
    """The answer: whether it is broken, and the length of the shortest run into a fair cycle that breaks it."""

    stem: int | None
    concerned: int
    waiting: int


def judge(puzzle: Puzzle, kind: str) -> Naive:
    """The answer about a property of a kind whose premise and goal the puzzle gives."""
    every = set(range(puzzle.count))
    depth = reachable(sorted(puzzle.initial), puzzle.after, every)
    reached, bad = set(depth), every - puzzle.goal
    concerned = set(puzzle.initial) if kind == "eventually" else reached
    if kind == "leads_to":
        concerned = reached & puzzle.premise
    region = reached if kind == "eventually_always" else reached & bad
    cycles = on_fair_cycles(puzzle, region, bad if kind == "eventually_always" else None)
    begins = concerned & region
    lengths = [
        depth[begin] + steps
        for begin in begins
        for end, steps in reachable([begin], puzzle.after, region).items()
        if end in cycles
    ]
    return Naive(min(lengths, default=None), len(concerned), len(concerned & bad))


def has_fair_behaviour(puzzle: Puzzle, state: int) -> bool:
    """Whether a fair behaviour begins in a state."""
    every = set(range(puzzle.count))
    return bool(on_fair_cycles(puzzle, every, None) & set(reachable([state], puzzle.after, every)))
