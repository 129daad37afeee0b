"""Machines drawn at random: fields, actions and initial states, within a size that can be searched naively."""

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from tests.random_systems.claims import draw_claims, draw_quiescent
from tests.random_systems.drawing import Draw
from tests.random_systems.machines import Assignment, Event, Field, Machine, Move, State, variables
from tests.random_systems.naive import Graph, TooLargeError, search
from tests.random_systems.nodes import ARGUMENTS, BEFORE, BOUNDS, Applied, Constant, Node, Variable
from tests.random_systems.operators import OPERATORS

MOST_STATES, MOST_STEPS = 160, 1_200  # size of a system that is kept; a larger one is drawn again

LEAST_STATES = (1, 6, 8, 12, 16, 24, 32, 48)  # a seed chooses one of these; a system with fewer states is drawn again

WIDE = 62  # brokers of a wide system, whose sets nearly fill a word


@frozen
class Drawn:
    """A random system, and its whole space."""

    machine: Machine
    graph: Graph


def drawn(seed: int) -> Drawn:
    """The system of a seed."""
    least = random.Random(f"{seed}").choice(LEAST_STATES)
    for attempt in itertools.count():
        source = random.Random(f"{seed}/{attempt}")
        machine = _Drawing(source, f"random-{seed}").machine()
        try:
            graph = search(machine, MOST_STATES, MOST_STEPS)
        except TooLargeError:
            continue
        if len(graph.depth) < least:
            continue
        machine = evolve(machine, quiescent=draw_quiescent(source, machine, graph))
        machine = evolve(machine, claims=tuple(draw_claims(source, machine, graph)))
        graph.machine = machine
        return Drawn(machine, graph)
    raise AssertionError("the attempts have no end")


@define
class _Drawing:
    """Draws one machine."""

    random: random.Random
    name: str
    symmetric: bool = field(init=False)
    brokers: int = field(init=False)
    ids: tuple[int, ...] = field(init=False)
    capacity: int = field(init=False)
    items: int = field(init=False)
    record: tuple[Field, ...] = field(init=False)
    fields: tuple[Field, ...] = field(init=False)
    bounds: dict[str, int] = field(factory=dict)
    events: bool = field(init=False)
    _plain: Draw = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Choose what the parts of the system have in common."""
        some = self.random
        self.symmetric = some.random() < 0.2
        wide = not self.symmetric and some.random() < 0.12
        self.brokers = WIDE if wide else some.choice((2, 3, 3, 4)) if not self.symmetric else some.choice((2, 3))
        self.ids = (0, 31, WIDE - 1) if wide else tuple(range(self.brokers))
        self.capacity = 0 if wide else self.brokers
        self.items = self.brokers if self.symmetric else some.choice((2, 3))
        number = self._word("a")
        more = [self._field("c", "set")] if some.random() < 0.3 else []
        self.record = (number, Field("b", "truth"), *more)
        self.events = some.random() < 0.5
        self._plain = Draw(some, (), self.brokers, self.ids, self.capacity, self.symmetric)
        self.fields = tuple(self._fields())

    def _word(self, name: str) -> Field:
        some = self.random
        lo, hi = some.choice(((0, 1), (0, 2), (0, 3), (-1, 2), (-3, 0), (5, 5), (-4, -4), (0, 5), (-2, 3)))
        if some.random() < 0.15:
            lo, hi = some.choice(((0, 1 << 40), (-(1 << 60), (1 << 60)), (-(1 << 45), 3), ((1 << 50) - 2, 1 << 50)))
        return Field(name, "word", lo, hi)

    def _field(self, name: str, kind: str) -> Field:
        match kind:
            case "word":
                return self._word(name)
            case "record":
                return Field(name, "record", parts=self.record)
            case "tuple":
                item = self.random.choice(("word", "truth", "record"))
                part = self._field("item", item)
                return Field(name, "tuple", size=self.items, parts=(part,))
        return Field(name, kind, size=0 if kind == "truth" else self.brokers, capacity=self.capacity)

    def _fields(self) -> Iterator[Field]:
        some = self.random
        kinds = ["word", "word", "truth", "id", "set", "set", "one", "record", "tuple"] + ["list"] * (self.capacity > 0)
        least = 2 if self.symmetric or some.random() < 0.95 else 1
        number = some.choice((least, 3, 3, 4) if least > 1 else (1,))
        names = some.sample(("x", "y", "leader", "isr", "queue", "flag", "rest"), number)
        chosen = [some.choice(kinds) for _ in names]
        if self.symmetric:
            chosen[0] = some.choice(("set", "tuple", "id", "list"))
        for name, kind in zip(names, chosen, strict=True):
            yield self._capped(self._field(name, kind))
        if some.random() < 0.3:
            self.bounds["budget"] = some.randint(1, 3)
            yield Field("spent", "word", 0, 3)

    def _capped(self, one: Field) -> Field:
        """The field, its bounds declared in two of three cases; drawn apart, so that systems stay what they were."""
        capped = random.Random(f"{self.name}/{one.name}").random() < 2 / 3

        def through(part: Field) -> Field:
            return evolve(part, capped=capped, parts=tuple(map(through, part.parts)))

        return through(one)

    def machine(self) -> Machine:
        """The machine, without claims."""
        names = [f"act{n}" for n in range(self.random.choice((1, 3, 4, 4, 5, 6)))]
        moves = tuple(self._move(name) for name in names)
        made = Machine(
            self.name, self.fields, moves, (), brokers=self.brokers, symmetric=self.symmetric, bounds=self.bounds
        )
        return evolve(made, initial=tuple(self._states(made)))

    def drawing(self, parameters: Sequence[Field] = ()) -> Draw:
        """What draws expressions about a state, and arguments."""
        known = list(variables(self.fields, parts=not self.symmetric))
        known += variables(tuple(parameters), ARGUMENTS, parts=not self.symmetric)
        return Draw(self.random, known, self.brokers, self.ids, self.capacity, self.symmetric)

    def _parameters(self) -> Iterator[tuple[Field, tuple[Any, ...]]]:
        some = self.random
        for name in ("p", "q")[: some.choice((0, 1, 1, 1, 2))]:
            kinds = ("id", "id", "id", "word", "truth", "set", "record", "list", "one")
            kind = "id" if self.symmetric else some.choice(kinds)
            if kind == "list" and not self.capacity:
                kind = "set"
            one = Field(name, "word", -2, 5) if kind == "word" else self._field(name, kind)
            values = tuple(self.ids) if kind == "id" else tuple(self._values(one, some.choice((1, 2, 3))))
            if some.random() < 0.05:
                values = ()
            if kind == "word" and values:
                one = evolve(one, lo=min(values), hi=max(values))
            yield one, values

    def _values(self, one: Field, count: int) -> list[Any]:
        return list(dict.fromkeys(self._value(one) for _ in range(count)))

    def _value(self, one: Field) -> Any:
        match one.kind:
            case "word":
                near = max(one.lo, min(one.hi, 0))
                return self.random.choice((one.lo, one.hi, near, self.random.randint(one.lo, one.hi)))
            case "record":
                return tuple(self._value(part) for part in one.parts)
            case "tuple":
                same = self._value(one.parts[0])
                return tuple(same if self.symmetric else self._value(one.parts[0]) for _ in range(one.size))
            case "set" if self.symmetric and self.random.random() < 0.5:
                return frozenset(range(self.brokers))
        return self._plain.value(one.kind)

    def _states(self, machine: Machine) -> list[State]:
        several = self.random.choice((1, 1, 1, 2, 3))
        spent = {"spent": 0}
        return list(dict.fromkeys(
            tuple(spent.get(one.name, self._value(one)) for one in machine.fields) for _ in range(several)
        ))  # fmt: skip

    def _move(self, name: str) -> Move:
        some, parameters = self.random, tuple(self._parameters())
        draw = self.drawing([one for one, _ in parameters])
        guard = self._guard(draw)
        assignments = [self._assignment(draw, one) for one in self._targets()]
        if self.bounds and (some.random() < 0.7 or name == "act0"):
            spent = next(v for v in variables(self.fields) if v.names == ("spent",))
            guard = {n or "free": part for n, part in (guard or {}).items()}
            guard["budget is left"] = Applied(OPERATORS["<(word, word)"], (spent, BUDGET))
            assignments.append(Assignment(spent, Applied(OPERATORS["+(word, word)"], (spent, ONE), (0, 4))))
        when = draw.draw("truth", 2) if some.random() < 0.25 else None
        event = None
        if self.events:
            event = Event(draw.draw("word", 1), draw.draw("truth", 1), draw.draw("id", 1))
        return Move(name, parameters, guard, tuple(assignments), when, event)

    def _guard(self, draw: Draw) -> dict[str, Node] | None:
        some = self.random
        if some.random() < 0.12:
            return None
        if some.random() < 0.4:
            return {"": self._truth(draw)}
        return {f"part {n}": self._truth(draw) for n in range(some.choice((1, 1, 2, 3)))}

    def _truth(self, draw: Draw) -> Node:
        """A truth for a guard, which more often holds than one that is merely drawn."""
        found = draw.draw("truth", 2)
        if self.random.random() < 0.5:
            return Applied(OPERATORS["any_of(truth, truth)"], (found, draw.draw("truth", 2)))
        return found

    def _targets(self) -> list[Field]:
        free = [one for one in self.fields if one.name != "spent"]
        return self.random.sample(free, min(len(free), self.random.choice((1, 1, 2, 2, 3))))

    def _assignment(self, draw: Draw, one: Field) -> Assignment:
        some = self.random
        inside = [v for v in variables(self.fields) if v.source == BEFORE and v.names[0] == one.name]
        target = inside[0]
        if one.kind == "record" and some.random() < 0.7:
            target = some.choice(inside[1:])
        if one.is_tuple and (self.symmetric or some.random() < 0.6):
            sort = one.parts[0].sort
            if draw.has(sort) and not (self.symmetric and not draw.has("id")):
                index = draw.draw("id" if self.symmetric or some.random() < 0.5 else "word", 1, (0, one.size - 1))
                pick = OPERATORS[f"pick({one.sort}, id, {sort})"]
                item = Applied(pick, (target, index, draw.draw(sort, 0, one.span)))
                same = index.sort == "id" and sort in ("word", "truth") and some.random() < 0.6
                if same and sort == "truth":
                    return Assignment(target, Applied(OPERATORS["negate(truth)"], (item,)), index)
                if same:
                    return Assignment(target, Applied(OPERATORS["+(word, word)"], (item, ONE), one.span), index)
                return Assignment(target, draw.draw(sort, 2, one.span), index)
        elif one.is_tuple and some.random() < 0.7:
            target = some.choice([v for v in inside if len(v.names) == 2])
        return Assignment(target, self._value_for(draw, target))

    def _value_for(self, draw: Draw, target: Variable) -> Node:
        wide = target.sort == "word" and target.span[1] - target.span[0] > 50
        near = (target.span[0], target.span[1]) if not wide else (target.span[0], target.span[0] + 2)
        usual = self._usual(draw, target) if self.random.random() < 0.65 else None
        return draw.draw(target.sort, 3, near) if usual is None else usual

    def _usual(self, draw: Draw, target: Variable) -> Node | None:
        """What systems often do: count, toggle, add or drop a member; None where there is no such thing."""
        match target.sort:
            case "word":
                name = self.random.choice(("+(word, word)", "+(word, word)", "-(word, word)"))
                return Applied(OPERATORS[name], (target, ONE), (target.span[0] - 1, target.span[1] + 1))
            case "truth":
                return Applied(OPERATORS["negate(truth)"], (target,))
            case "set" | "list" as kind:
                one = Applied(OPERATORS[f"just({kind}, id)"], (target, draw.draw("id", 1)))
                name = self.random.choice(("plus", "plus", "minus"))
                return Applied(OPERATORS[f"{name}({kind}, {kind})"], (target, one))
            case "id" | "one" as kind:
                return draw.draw(kind, 1)
        return None


BUDGET = Variable("word", BOUNDS, ("budget",), (0,), (0, 100))
ONE = Constant("word", 1, (1, 1))
