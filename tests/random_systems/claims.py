"""Claims drawn at random, with the space at hand: most hold where a system starts, so that some break late."""

import random
from collections.abc import Iterator, Mapping
from typing import Any

from tests.random_systems.building import EVENT_FIELDS
from tests.random_systems.drawing import Draw
from tests.random_systems.machines import Claim, Machine, Move, variables
from tests.random_systems.naive import Graph, Reader
from tests.random_systems.nodes import AFTER, ARGUMENTS, BEFORE, EVENT, Applied, Constant, Node, Variable, plainly
from tests.random_systems.operators import OPERATORS


def drawing(source: random.Random, machine: Machine, steps: bool = False, about: Move | None = None) -> Draw:
    """What draws expressions about states, or about steps of any action or of one."""
    known = list(variables(machine.fields, BEFORE, not machine.symmetric))
    if steps:
        known += variables(machine.fields, AFTER, not machine.symmetric)
        if all(move.event is not None for move in machine.moves):
            known += variables(EVENT_FIELDS, EVENT)
    if about is not None:
        known += variables(tuple(one for one, _ in about.parameters), ARGUMENTS, not machine.symmetric)
    capacity = max((one.capacity for one in machine.fields), default=0)
    ids = range(machine.brokers) if machine.brokers < 10 else (0, 31, machine.brokers - 1)
    return Draw(source, known, machine.brokers, ids, capacity, machine.symmetric)


def draw_claims(source: random.Random, machine: Machine, graph: Graph) -> Iterator[Claim]:
    """One to seven claims, of every kind in the long run."""
    made = Claims(source, machine, graph)
    kinds = [k for k in ("always", "always", "step", "step", "sometimes", "happens", "recovers", "recovers")
             if source.random() < 0.5]  # fmt: skip
    for number, kind in enumerate(kinds or ["always"]):
        yield made.claim(f"{kind}-{number}", kind)


def draw_quiescent(source: random.Random, machine: Machine, graph: Graph) -> Node | None:
    """Which states may rest; where states are stuck, often a truth that some of them have."""
    if source.random() < 0.3:
        return None
    if source.random() < 0.3:
        return Constant("truth", True)
    return drawing(source, machine).draw("truth", 2)


class Claims:
    """Draws claims about a machine."""

    def __init__(self, source: random.Random, machine: Machine, graph: Graph) -> None:
        self.random, self.machine, self.graph = source, machine, graph
        self.reader = Reader(machine)
        self.deepest = max(graph.depth, key=lambda state: graph.depth[state])
        self.states = list(graph.depth)

    def claim(self, name: str, kind: str) -> Claim:
        """A claim of a kind."""
        if kind in ("step", "happens"):
            return self._of_steps(name, kind)
        if kind == "recovers":
            return self._recovers(name)
        parts = self._parts(lambda: self._of_state(kind == "always"))
        return Claim(name, kind, parts)

    def _parts(self, draw: Any) -> dict[str, Node]:
        if self.random.random() < 0.6:
            return {"": draw()}
        return {f"part {n}": draw() for n in range(self.random.choice((1, 2, 3)))}

    def _of_state(self, starts: bool) -> Node:
        """A truth about states; one that holds where the system starts, if that can be had."""
        if starts and self.random.random() < 0.35:
            return self._far()
        draw = drawing(self.random, self.machine)
        for _ in range(5):
            found = draw.draw("truth", 3)
            read = [plainly(found)]
            if not starts or all(self.reader.holds_in(read, state) for state in self.machine.initial):
                return found
        return found

    def _far(self) -> Node:
        """The truth that a part of the state is not as it is in one of the last states that were found."""
        simple = {"word": "==(word, word)", "truth": "==(truth, truth)", "id": "==(id, id)", "set": "same(set, set)",
                  "list": "same(list, list)", "one": "same(one, one)"}  # fmt: skip
        if self.machine.symmetric:
            simple = {sort: op for sort, op in simple.items() if sort in ("word", "truth")}
        known = [v for v in variables(self.machine.fields, parts=not self.machine.symmetric) if v.sort in simple]
        if not known:
            return Constant("truth", False)
        chosen = self.random.sample(known, min(len(known), 2))
        state = self.random.choice((self.deepest, self.random.choice(self.states)))
        same: Node = self._is(chosen[0], state, simple)
        for one in chosen[1:]:
            same = Applied(OPERATORS["all_of(truth, truth)"], (same, self._is(one, state, simple)))
        return Applied(OPERATORS["negate(truth)"], (same,))

    def _is(self, one: Variable, state: Any, simple: Mapping[str, str]) -> Node:
        for place in one.places:
            state = state[place]
        span = (state, state) if one.sort in ("word", "id") else (0, 0)
        capacity = max((f.capacity for f in self.machine.fields), default=0)
        return Applied(OPERATORS[simple[one.sort]], (one, Constant(one.sort, state, span, capacity)))

    def _of_steps(self, name: str, kind: str) -> Claim:
        about = self.random.choice((None, *self.machine.moves)) if self.random.random() < 0.7 else None
        draw = drawing(self.random, self.machine, True, about)
        parts = self._parts(lambda: draw.draw("truth", 3))
        return Claim(name, kind, parts, "" if about is None else about.name)

    def _recovers(self, name: str) -> Claim:
        some = self.random
        for _ in range(6):
            parts = self._parts(lambda: drawing(some, self.machine).draw("truth", 2))
            read = [plainly(part) for part in parts.values()]
            if 0 < sum(self.reader.holds_in(read, state) for state in self.states) < len(self.states):
                break
        when = drawing(some, self.machine).draw("truth", 2) if some.random() < 0.4 else None
        by = None
        if some.random() < 0.5:
            chosen = some.sample(self.machine.moves, some.randint(1, len(self.machine.moves)))
            by = {move.name: dict(self._wanted(move)) for move in chosen}
        return Claim(name, "recovers", parts, when=when, by=by)

    def _wanted(self, move: Move) -> Iterator[tuple[str, tuple[Any, ...]]]:
        for one, values in move.parameters:
            if values and not self.machine.symmetric and self.random.random() < 0.5:
                yield one.name, tuple(self.random.sample(values, self.random.randint(1, min(2, len(values)))))
