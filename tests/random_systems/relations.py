"""Changes of a random system that must not change what is found of it, or only as they say."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from tests.random_systems.machines import Assignment, Claim, Event, Field, Machine, Move
from tests.random_systems.nodes import AFTER, BEFORE, Applied, Constant, Node, Variable, any_ordered
from tests.random_systems.operators import OPERATORS
from tests.random_systems.orbits import renamed

Change = Callable[[Node], Node]


@frozen
class Related:
    """A changed system.

    Attributes:
        machine: the system.
        names: for each action of it, the action that it stands for; those that are not named are new, and never happen.
    """

    machine: Machine
    names: Mapping[str, str]


def everywhere(machine: Machine, change: Change) -> Machine:
    """The machine with a change made to each variable and constant."""

    def inside(node: Node) -> Node:
        if isinstance(node, Applied):
            return evolve(node, operands=tuple(map(inside, node.operands)))
        return change(node)

    def maybe(node: Node | None) -> Any:
        return None if node is None else inside(node)

    def parts(nodes: Mapping[str, Node] | None) -> Any:
        return None if nodes is None else {name: inside(node) for name, node in nodes.items()}

    def assignment(one: Assignment) -> Assignment:
        target = change(one.target)
        assert isinstance(target, Variable)
        return Assignment(target, inside(one.value), maybe(one.index))

    def event(one: Event | None) -> Event | None:
        return None if one is None else Event(inside(one.amount), inside(one.flag), inside(one.who))

    def move(one: Move) -> Move:
        changed = tuple(map(assignment, one.assignments))
        return evolve(one, guard=parts(one.guard), assignments=changed, when=maybe(one.when), event=event(one.event))

    def claim(one: Claim) -> Claim:
        return evolve(one, parts=parts(one.parts), when=maybe(one.when))

    return evolve(
        machine, moves=tuple(map(move, machine.moves)), claims=tuple(map(claim, machine.claims)),
        quiescent=maybe(machine.quiescent),
    )  # fmt: skip


def same_names(machine: Machine) -> dict[str, str]:
    """Each action stands for itself."""
    return {move.name: move.name for move in machine.moves}


def fields_renamed(machine: Machine, source: random.Random) -> Related:
    """Every field has another name."""

    def change(node: Node) -> Node:
        if isinstance(node, Variable) and node.source in (BEFORE, AFTER):
            return evolve(node, names=(f"other_{node.names[0]}", *node.names[1:]))
        return node

    fields = tuple(evolve(one, name=f"other_{one.name}") for one in machine.fields)
    return Related(evolve(everywhere(machine, change), fields=fields), same_names(machine))


def action_split(machine: Machine, source: random.Random) -> Related:
    """An action that no claim names is two, one where a truth of the state holds and one where it does not."""
    named = {name for one in machine.claims for name in (one.about, *(one.by or {}))}
    free = [move for move in machine.moves if move.name not in named]
    truths = [node for node in machine.nodes() if node.sort == "truth" and _of_state(node)]
    if not free or not truths:
        return Related(machine, same_names(machine))
    chosen, by = source.choice(free), source.choice(truths)
    guard = {name or "free": part for name, part in (chosen.guard or {}).items()}
    not_by = Applied(OPERATORS["negate(truth)"], (by,))
    halves = (evolve(chosen, name=chosen.name + "_yes", guard={**guard, "half": by}),
              evolve(chosen, name=chosen.name + "_no", guard={**guard, "half": not_by}))  # fmt: skip
    moves = [half for move in machine.moves for half in (halves if move is chosen else (move,))]
    names = {**same_names(machine), halves[0].name: chosen.name, halves[1].name: chosen.name}
    return Related(evolve(machine, moves=tuple(moves)), {move.name: names[move.name] for move in moves})


def _of_state(node: Node) -> bool:
    """Whether an expression names nothing but the state before."""
    match node:
        case Variable():
            return node.source == BEFORE
        case Applied():
            return all(map(_of_state, node.operands))
    return True


def unreachable_added(machine: Machine, source: random.Random) -> Related:
    """There is a field that nothing changes, behind the others, and an action that is never enabled."""
    value = source.choice((0, 3))
    idle = Field("idle", "word", 0, 3)
    shut = Move("never", ((Field("n", "word", 0, 1), (0, 1)),), {"shut": Constant("truth", False)}, ())
    if all(move.event is not None for move in machine.moves):
        shut = evolve(shut, event=machine.moves[0].event and Event(Constant("word", 0), Constant("truth", False),
                                                                   Constant("id", -1)))  # fmt: skip
    initial = tuple((*state, value) for state in machine.initial)
    made = evolve(machine, fields=(*machine.fields, idle), moves=(*machine.moves, shut), initial=initial)
    return Related(made, same_names(machine))


def brokers_permuted(machine: Machine, source: random.Random) -> Related:
    """Brokers have other numbers, where nothing tells them apart by these."""
    indexed = any(isinstance(node, Variable) and any(isinstance(name, int) for name in node.names)
                  for node in _leaves(machine))  # fmt: skip
    sized = any(one.is_tuple and one.size != machine.brokers for one in machine.fields)
    if indexed or sized or machine.brokers > 4 or any(map(any_ordered, machine.nodes())):
        return Related(machine, same_names(machine))
    order = source.sample(range(machine.brokers), machine.brokers)

    def change(node: Node) -> Node:
        if isinstance(node, Constant) and node.sort in ("id", "set", "list", "one"):
            return evolve(node, value=renamed(Field("", node.sort), node.value, order))
        return node

    made = everywhere(machine, change)
    initial = tuple(_renamed(machine.fields, state, order) for state in machine.initial)
    moves = tuple(
        evolve(move, parameters=tuple(
            (one, tuple(renamed(one, value, order) for value in values)) for one, values in move.parameters))
        for move in made.moves
    )  # fmt: skip
    kinds = {move.name: [one for one, _ in move.parameters] for move in machine.moves}
    claims = tuple(evolve(one, by=_renamed_way(one, kinds, order)) for one in made.claims)
    return Related(evolve(made, initial=initial, moves=moves, claims=claims), same_names(machine))


def _leaves(machine: Machine) -> list[Node]:
    found: list[Node] = [one.target for move in machine.moves for one in move.assignments]
    waiting = list(machine.nodes())
    while waiting:
        node = waiting.pop()
        if isinstance(node, Applied):
            waiting += node.operands
        else:
            found.append(node)
    return found


def _renamed(fields: Sequence[Field], state: Sequence[Any], order: Sequence[int]) -> tuple[Any, ...]:
    return tuple(renamed(one, value, order) for one, value in zip(fields, state, strict=True))


def _renamed_way(claim: Claim, kinds: Mapping[str, Sequence[Field]], order: Sequence[int]) -> Any:
    if claim.by is None:
        return None
    return {
        name: {
            argument: tuple(renamed(next(f for f in kinds[name] if f.name == argument), v, order) for v in values)
            for argument, values in wanted.items()
        }
        for name, wanted in claim.by.items()
    }


def reordered(machine: Machine, source: random.Random) -> Related:
    """Actions, claims, initial states and argument values come in another order."""
    moves = [
        evolve(m, parameters=tuple((one, tuple(source.sample(v, len(v)))) for one, v in m.parameters))
        for m in source.sample(machine.moves, len(machine.moves))
    ]
    claims = source.sample(machine.claims, len(machine.claims))
    initial = source.sample(machine.initial, len(machine.initial))
    made = evolve(machine, moves=tuple(moves), claims=tuple(claims), initial=tuple(initial))
    return Related(made, same_names(machine))


RELATIONS = {
    "fields renamed": fields_renamed,
    "action split": action_split,
    "unreachable added": unreachable_added,
    "brokers permuted": brokers_permuted,
    "reordered": reordered,
}
"""The changes by name; one that does not apply to a system leaves it as it is."""
