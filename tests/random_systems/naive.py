"""The naive search: breadth first, on plain Python values, one dict of states; it uses nothing of the project."""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from tests.random_systems.machines import Claim, Crossed, Machine, Move, State, outside
from tests.random_systems.nodes import plainly

Arguments = tuple[Any, ...]
Environment = tuple[Any, ...]


@frozen
class Taken:
    """An enabled action instance in a state."""

    move: int  # number of the action
    arguments: Arguments  # plain argument values
    after: State  # the state it leads to, which is none where a field leaves its domain
    event: tuple[Any, ...] | None  # plain parts of the event; None: none
    cut: tuple[Crossed, ...]  # the bounds of domains that it crosses


class TooLargeError(Exception):
    """The space has more states or transitions than are wanted."""


class Reader:
    """A machine's rules as plain functions."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.bounds = tuple((machine.bounds or {}).values())
        self.rows = [list(itertools.product(*(values for _, values in move.parameters))) for move in machine.moves]
        self.guards = [
            None if move.guard is None else [(name, plainly(part)) for name, part in move.guard.items()]
            for move in machine.moves
        ]
        self._effects = [_effect(move) for move in machine.moves]
        self._events = [
            None if (e := move.event) is None else [plainly(part) for part in (e.amount, e.flag, e.who)]
            for move in machine.moves
        ]
        self._cuts: dict[State, tuple[Crossed, ...]] = {}
        self._quiescent = None if machine.quiescent is None else plainly(machine.quiescent)

    def take(self, state: State, number: int, arguments: Arguments) -> Taken:
        """The step of an action instance, whether or not it is enabled."""
        env = (state, None, arguments, None, self.bounds)
        after, told = self._effects[number](state, env), self._events[number]
        event = None if told is None else tuple([part(env) for part in told])
        return Taken(number, arguments, after, event, self.cut(after))

    def cut(self, state: State) -> tuple[Crossed, ...]:
        """The bounds of domains that the leaves of a state are beyond."""
        if state not in self._cuts:
            self._cuts[state] = tuple(outside(self.machine.fields, state))
        return self._cuts[state]

    def rests(self, state: State) -> bool:
        """Whether a state may have no successor."""
        return self._quiescent is not None and self._quiescent((state, None, None, None, self.bounds))

    def holds_in(self, parts: Iterable[Callable[[Environment], Any]], state: State) -> bool:
        """Whether all parts hold of a state."""
        env = (state, None, None, None, self.bounds)
        return all(part(env) for part in parts)

    def holds_of(self, claim: Claim, parts: Sequence[Any], before: State, taken: Taken) -> bool:
        """Whether a claim about steps holds of one (for a goal: shows in one)."""
        if claim.about and self.machine.moves[taken.move].name != claim.about:
            return claim.kind == "step"
        env = (before, taken.after, taken.arguments, taken.event, self.bounds)
        return all(part(env) for part in parts)


def _effect(move: Move) -> Callable[[State, Environment], State]:
    made = [
        (one.target.places, plainly(one.value), None if one.index is None else plainly(one.index))
        for one in move.assignments
    ]
    when = None if move.when is None else plainly(move.when)

    def effect(state: State, env: Environment) -> State:
        if when is not None and not when(env):
            return state
        after = state
        for places, value, index in made:
            if index is None:
                after = _with(after, places, value(env))
            else:
                size, place = len(_at(state, places)), index(env)
                if 0 <= place < size:
                    after = _with(after, (*places, place), value(env))
        return after

    return effect


def _at(value: Any, places: Sequence[int]) -> Any:
    for place in places:
        value = value[place]
    return value


def _with(value: Any, places: Sequence[int], new: Any) -> Any:
    if not places:
        return new
    first = places[0]
    return (*value[:first], _with(value[first], places[1:], new), *value[first + 1 :])


@define
class Graph:
    """An explored space."""

    machine: Machine  # whose
    # for each state its distance from the initial ones, in the order of discovery
    depth: dict[State, int] = field(factory=dict)
    # for each state its enabled action instances, in order, also those that a domain cuts
    taken: dict[State, list[Taken]] = field(factory=dict)
    # true, false: guard conjuncts, by number of action and name, that were ever so
    true: set[tuple[int, str]] = field(factory=set)
    false: set[tuple[int, str]] = field(factory=set)

    @property
    def initial(self) -> int:
        """Number of different initial states."""
        return len(set(self.machine.initial))

    def steps(self) -> Iterator[tuple[State, Taken]]:
        """Every transition that no domain cuts."""
        return ((state, one) for state, found in self.taken.items() for one in found if not one.cut)

    def levels(self) -> tuple[int, ...]:
        """States by depth."""
        depths = list(self.depth.values())
        return tuple(depths.count(n) for n in range(max(depths) + 1))

    def fired(self) -> dict[str, int]:
        """Transitions by action."""
        counts = {move.name: 0 for move in self.machine.moves}
        for _, one in self.steps():
            counts[self.machine.moves[one.move].name] += 1
        return counts

    def pruned(self) -> dict[str, int]:
        """Transitions that a domain cuts, by leaf."""
        counts: dict[str, int] = {}
        for crossed in (crossed for found in self.taken.values() for one in found for crossed in one.cut):
            path = crossed.path or self.machine.fields[0].name
            counts[path] = counts.get(path, 0) + 1
        return counts

    def fault(self) -> bool:
        """Whether a transition crosses a bound that nobody declared: what lies behind it is not known."""
        return any(not c.declared for found in self.taken.values() for one in found for c in one.cut)

    def never(self, ever: set[tuple[int, str]]) -> set[tuple[str, str]]:
        """The guard conjuncts, by names, that are not among those of numbers of actions."""
        return {
            (move.name, name or "guard")
            for number, move in enumerate(self.machine.moves)
            if move.guard is not None and all(values for _, values in move.parameters)
            for name in move.guard
            if (number, name) not in ever
        }


def search(machine: Machine, most_states: int, most_steps: int) -> Graph:
    """The whole space."""
    reader, graph, steps = Reader(machine), Graph(machine), 0
    waiting = deque(dict.fromkeys(machine.initial))
    graph.depth.update(dict.fromkeys(waiting, 0))
    while waiting:
        state = waiting.popleft()
        found = graph.taken[state] = list(enabled(reader, graph, state))
        steps += len(found)
        for one in found:
            if not one.cut and one.after not in graph.depth:
                graph.depth[one.after] = graph.depth[state] + 1
                waiting.append(one.after)
        if len(graph.depth) > most_states or steps > most_steps:
            raise TooLargeError
    return graph


def enabled(reader: Reader, graph: Graph, state: State) -> Iterator[Taken]:
    """The enabled action instances of a state; the graph notes which conjuncts were true and false."""
    for number, rows in enumerate(reader.rows):
        guard = reader.guards[number]
        for arguments in rows:
            holds = True
            if guard is not None:
                env = (state, None, arguments, None, reader.bounds)
                for name, part in guard:
                    if part(env):
                        graph.true.add((number, name))
                    else:
                        graph.false.add((number, name))
                        holds = False
            if holds:
                yield reader.take(state, number, arguments)


@frozen
class Way:
    """What the search says about a `recovers` claim."""

    about: int
    # states that it is about and that do not satisfy it; `about` counts all that it is about
    concerned: frozenset[State]
    lost: frozenset[State]  # those of them from which no way leads to a state that satisfies it, nor out of a domain
    uncertain: frozenset[State]  # those of them from which none leads to such a state, but one out of a domain


def allowed(machine: Machine, claim: Claim, taken: Taken) -> bool:
    """Whether the way out of a `recovers` claim may use a step."""
    if not claim.by:
        return True
    move = machine.moves[taken.move]
    wanted = claim.by.get(move.name)
    if wanted is None:
        return False
    given = dict(zip((one.name for one, _ in move.parameters), taken.arguments, strict=True))
    return all(given[name] in values for name, values in wanted.items())


def ways(graph: Graph, claim: Claim) -> Way:
    """Which states recover, by the closure backward from those that satisfy the claim."""
    reader, parts = Reader(graph.machine), [plainly(part) for part in claim.parts.values()]
    when = None if claim.when is None else plainly(claim.when)
    back: dict[State, set[State]] = {}
    leaving = set()
    for state, found in graph.taken.items():
        for one in found:
            if allowed(graph.machine, claim, one):
                if one.cut:
                    leaving.add(state)
                else:
                    back.setdefault(one.after, set()).add(state)
    good = {state for state in graph.depth if reader.holds_in(parts, state)}
    about = {state for state in graph.depth if when is None or reader.holds_in([when], state)}
    recovering = closure(good, back)
    leaving_in_the_end = closure(leaving, back)
    lost = about - recovering
    return Way(len(about), frozenset(about - good), frozenset(lost - leaving_in_the_end),
               frozenset(lost & leaving_in_the_end))  # fmt: skip


def closure(start: Iterable[State], edges: Mapping[State, Iterable[State]]) -> set[State]:
    """Every state that edges lead to."""
    found = set(start)
    waiting = list(found)
    while waiting:
        for state in edges.get(waiting.pop(), ()):
            if state not in found:
                found.add(state)
                waiting.append(state)
    return found
