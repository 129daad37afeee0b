"""The engines that explore, judged by the naive search: states, counts, verdicts, lengths, witnesses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.machine_code.objectcode import CompileEffort
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Closure, Refuted, Trace
from tests.random_systems.building import EVENT_FIELDS, build, state_to_plain, state_to_rules, to_plain
from tests.random_systems.describing import described
from tests.random_systems.machines import Claim, Machine, State
from tests.random_systems.naive import Graph, Reader, Taken, allowed, closure
from tests.random_systems.nodes import plainly
from tests.random_systems.systems import Drawn, drawn
from tests.random_systems.verdicts import DEADLOCK, GOALS, Expected, plain_word, table


class DisagreementError(AssertionError):
    """An engine and the naive search differ; the message has the system."""


@define
class Case:
    """A random system with all that engines need of it."""

    drawn: Drawn  # the system and its space
    cache: Path | None = None  # a folder for compiled code; None: none is kept
    program: Program = field(init=False)  # the system, traced
    verdicts: Mapping[str, Expected] = field(init=False)  # what is expected of each claim, and of `deadlock`

    def __attrs_post_init__(self) -> None:
        """Trace the system; judge its claims naively."""
        system = build(self.machine)
        self.program, self.verdicts = trace(system, system.setting()), table(self.graph)

    @classmethod
    def of_seed(cls, seed: int, cache: Path | None = None) -> Case:
        """The case of a seed."""
        return cls(drawn(seed), cache)

    @property
    def machine(self) -> Machine:
        """The system as data."""
        return self.drawn.machine

    @property
    def graph(self) -> Graph:
        """Its space."""
        return self.drawn.graph

    def claim(self, name: str) -> Claim:
        """A claim by its id, or deadlock."""
        return next(one for one in (*self.machine.claims, DEADLOCK) if one.id == name)

    def explored(self, effort: CompileEffort = CompileEffort.LEAST, **options: Any) -> Exploration:
        """The native exploration, by code that is compiled with so much effort."""
        return explore(self.program, SearchBudget(cache_dir=self.cache, **options), clock=lambda: 0.0, effort=effort)

    def plain(self, packed: tuple[int, ...]) -> State:
        """A packed state as a plain one."""
        return state_to_plain(self.machine, self.program.layout.unpack(packed))

    def same(self, what: str, engine: Any, naive: Any) -> None:
        """Both say the same."""
        if engine != naive:
            raise DisagreementError(f"{what}: the engine says\n{engine}\nand the naive search\n{naive}\nof "
                                    + described(self.machine))  # fmt: skip


def counts_of_naive(graph: Graph) -> dict[str, Any]:
    """Every number that an exploration to the end gives."""
    return {
        "distinct": len(graph.depth),
        "generated": graph.initial + sum(1 for _ in graph.steps()),
        "levels": graph.levels(),
        "depth": len(graph.levels()) - 1,
        "fired": graph.fired(),
        "pruned": graph.pruned(),
        "never_true": graph.never(graph.true),
        "never_false": graph.never(graph.false),
        "cut": graph.fault(),
    }


def counts_of_engine(found: Exploration) -> dict[str, Any]:
    """The same of an exploration."""
    names = ("distinct", "generated", "levels", "depth", "fired", "pruned", "never_true", "never_false", "cut")
    told = {name: getattr(found, name) for name in names}
    told["cut"] = found.cut is not None
    return {**told, "never_true": set(found.never_true), "never_false": set(found.never_false)}


def agrees(case: Case, found: Exploration) -> None:
    """An exploration without symmetry has the naive numbers and verdicts, and its witnesses are runs of the system."""
    case.same("numbers", counts_of_engine(found), counts_of_naive(case.graph))
    agree_on_verdicts(case, found)
    if found.store is not None:
        case.same("states", {case.plain(packed) for packed in found.states()}, set(case.graph.depth))


def agree_on_verdicts(case: Case, found: Exploration) -> None:
    """Verdicts and lengths are those expected, for every claim; witnesses are runs of the system."""
    judged = {
        v.claim: Expected(word, v.depth, getattr(v.verdict, "cases", None))
        for v in found.verdicts
        for word in [plain_word(v.kind, type(v.verdict).__name__, v.depth)]
    }
    wanted = dict(case.verdicts)
    reduced = found.program.reduction is not None
    if reduced:  # cases are counted up to symmetry
        judged, wanted = ({n: (e.word, e.length) for n, e in told.items()} for told in (judged, wanted))  # type: ignore[misc]
    case.same("verdicts", judged, wanted)
    for one in found.verdicts:
        shown = one.verdict.trace if isinstance(one.verdict, Refuted) else getattr(one.verdict, "witness", None)
        if shown is not None:
            is_witness(case, one.claim, shown)


@frozen
class Step:
    """A step of a witness, in plain values."""

    move: int
    arguments: tuple[Any, ...]
    after: State
    event: tuple[Any, ...] | None


def steps_of(case: Case, shown: Trace) -> list[Step]:
    """The steps of a trace in plain values."""
    numbers = {move.name: number for number, move in enumerate(case.machine.moves)}
    told = []
    for one in shown.steps:
        move = case.machine.moves[numbers[one.action]]
        arguments = tuple(to_plain(f, one.arguments[f.name]) for f, _ in move.parameters)
        event = None if one.event is None else tuple(getattr(one.event, part.name) for part in EVENT_FIELDS)
        told.append(Step(numbers[one.action], arguments, state_to_plain(case.machine, one.state), event))
    return told


def is_witness(case: Case, name: str, shown: Trace) -> None:
    """A trace begins initially, follows transitions of the naive graph, and its end shows what it is a witness of."""
    state, last = state_to_plain(case.machine, shown.initial), None
    before = state
    case.same(f"{name}: starts initially", state in set(case.machine.initial), True)
    for step in steps_of(case, shown):
        known = [t for t in case.graph.taken[state] if (t.move, t.arguments) == (step.move, step.arguments)]
        case.same(f"{name}: a step", [(step.after, step.event, ())], [(t.after, t.event, t.cut) for t in known])
        before, state, last = state, step.after, known[0]
    case.same(f"{name}: what its end shows", shows(case, case.claim(name), before, last, state), True)
    if shown.closure is not None:
        follow = followers(case.graph, case.claim(name), state)
        case.same(f"{name}: what follows", shown.closure, Closure(len(follow), True, shown.closure.actions))


def shows(case: Case, claim: Claim, before: State, last: Taken | None, state: State) -> bool:
    """Whether a run that ends so breaks a claim, or shows a goal."""
    reader, parts = Reader(case.machine), [plainly(part) for part in claim.parts.values()]
    if claim.kind == "deadlock":
        return not case.graph.taken[state] and not reader.rests(state)
    if claim.kind in ("step", "happens"):
        return last is not None and reader.holds_of(claim, parts, before, last) == (claim.kind in GOALS)
    if claim.kind == "recovers" and claim.when is not None and not reader.holds_in([plainly(claim.when)], state):
        return False
    return reader.holds_in(parts, state) == (claim.kind in GOALS)


def followers(graph: Graph, claim: Claim, state: State) -> set[State]:
    """The states that the way out of a `recovers` claim leads to, the first included."""
    edges = {
        before: [one.after for one in found if not one.cut and allowed(graph.machine, claim, one)]
        for before, found in graph.taken.items()
    }
    return closure([state], edges)


def successors_agree(case: Case) -> None:
    """The compiled rules lead from every state by the same action instances to the same states."""
    kernel = load_kernel(case.program, case.cache)
    numbers = instance_numbers(case)
    for state, found in case.graph.taken.items():
        packed = case.program.layout.pack(state_to_rules(case.machine, state))
        native = {number: case.plain(after) for number, after in kernel.successors(packed)}
        case.same(f"successors of {state}", native,
                  {numbers[one.move, one.arguments]: one.after for one in found if not one.cut})  # fmt: skip


def instance_numbers(case: Case) -> dict[tuple[int, tuple[Any, ...]], int]:
    """The number of each action instance, by number of the action and plain arguments."""
    found = {}
    for number in range(case.program.instances):
        chosen, arguments = case.program.instance(number)
        place = next(n for n, move in enumerate(case.machine.moves) if move.name == chosen.name)
        fields = [one for one, _ in case.machine.moves[place].parameters]
        found[place, tuple(to_plain(one, arguments[one.name]) for one in fields)] = number
    return found
