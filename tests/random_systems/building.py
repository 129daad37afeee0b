"""A random system in the project's own terms: what the engines are given."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.layout import Flag, Range, subset_of
from kraftcheck.model.language.places import put
from kraftcheck.model.language.symmetry import Symmetry
from kraftcheck.model.language.system import Action, Bound, Outcome, Property, Setting, Step, System
from kraftcheck.model.language.words import choose
from tests.random_systems.machines import Assignment, Claim, Field, Machine, Move, State
from tests.random_systems.nodes import Node, in_rules

EVENT_FIELDS = (Field("amount", "word", -(1 << 40), 1 << 40), Field("flag", "truth"), Field("who", "id", size=62))


@functools.cache
def record_class(name: str, fields: tuple[str, ...]) -> Any:
    """A frozen attrs class with these fields."""
    return attrs.make_class(name, list(fields), frozen=True)


def record(fields: Sequence[Field], values: Sequence[Any], name: str = "State") -> Any:
    """A record of these fields."""
    return record_class(name, tuple(one.name for one in fields))(*values)


def domain(one: Field) -> Any:
    """The layout of a field."""
    match one.kind:
        case "word":
            return Range(one.lo, one.hi, cap=_cap(one))
        case "truth":
            return Flag()
        case "id":
            return Range(-1, one.size - 1, cap=_cap(one))
        case "set":
            return BrokerSet(subset_of(one.size, cap=_cap(one)))
        case "list":
            return Replicas((Range(-1, one.size - 1, cap=_cap(one)),) * one.capacity)  # type: ignore[arg-type]
        case "one":
            return AtMostOne(Range(-2, one.size - 1, cap=_cap(one)))  # type: ignore[arg-type]
        case "tuple":
            return (domain(one.parts[0]),) * one.size
    return record(one.parts, [domain(part) for part in one.parts], "Record")


def _cap(one: Field) -> str:
    return f"the bound of {one.name} is meant" if one.capped else ""


def to_rules(one: Field, value: Any) -> Any:
    """A plain value in the language."""
    match one.kind:
        case "set":
            return BrokerSet.of(sorted(value))
        case "list":
            return Replicas.of(value, one.capacity)
        case "one":
            return AtMostOne(*value)
        case "tuple":
            return tuple(to_rules(one.parts[0], item) for item in value)
        case "record":
            return record(one.parts, [to_rules(p, v) for p, v in zip(one.parts, value, strict=True)], "Record")
    return value


def to_plain(one: Field, value: Any) -> Any:
    """A concrete value of the language as a plain one; a list whose slots are in disorder has none."""
    match one.kind:
        case "set":
            return frozenset(b for b in range(63) if value.mask >> b & 1)
        case "list":
            ids = tuple(b for b in value.slots if b != -1)
            assert (ids + (-1,) * (len(value.slots) - len(ids)), len({*ids})) == (value.slots, len(ids)), value
            return ids
        case "one":
            return () if value.slot == -2 else (value.slot,)
        case "tuple":
            return tuple(to_plain(one.parts[0], item) for item in value)
        case "record":
            return tuple(to_plain(part, getattr(value, part.name)) for part in one.parts)
    return value


def state_to_rules(machine: Machine, state: State) -> Any:
    """A state in the language."""
    return record(machine.fields, [to_rules(f, v) for f, v in zip(machine.fields, state, strict=True)])


def state_to_plain(machine: Machine, state: Any) -> State:
    """A concrete state of the language as a plain one."""
    return tuple(to_plain(one, getattr(state, one.name)) for one in machine.fields)


def _with(value: Any, names: tuple[str | int, ...], new: Any) -> Any:
    """A record in which the part at a path is another."""
    if not names:
        return new
    first, rest = names[0], names[1:]
    if isinstance(first, int):
        return (*value[:first], _with(value[first], rest, new), *value[first + 1 :])
    return attrs.evolve(value, **{first: _with(getattr(value, first), rest, new)})


def _assigned(state: Any, one: Assignment, env: Sequence[Any]) -> Any:
    value = in_rules(one.value, env)
    if one.index is not None:
        index, old = in_rules(one.index, env), in_rules(one.target, env)
        value = put(old, index, value)
    return _with(state, one.target.names, value)


def action(machine: Machine, move: Move, bounds: Mapping[str, int]) -> Action:
    """An action in the language."""

    def guard(state: Any, **arguments: Any) -> Any:
        assert move.guard is not None
        parts = {n: in_rules(part, (state, None, arguments, None, bounds)) for n, part in move.guard.items()}
        return parts[""] if set(parts) == {""} else parts

    def effect(state: Any, **arguments: Any) -> Any:
        env = (state, None, arguments, None, bounds)
        after = functools.reduce(lambda now, one: _assigned(now, one, env), move.assignments, state)
        if move.when is not None:
            after = choose(in_rules(move.when, env), after, state)
        if move.event is None:
            return after
        told = [in_rules(part, env) for part in (move.event.amount, move.event.flag, move.event.who)]
        return Outcome(after, record(EVENT_FIELDS, told, "Event"))

    parameters = {one.name: [to_rules(one, value) for value in values] for one, values in move.parameters}
    return Action(move.name, effect, None if move.guard is None else guard, parameters)


def claim(machine: Machine, one: Claim, bounds: Mapping[str, int]) -> Property:
    """A property in the language."""

    def told(env: Sequence[Any]) -> Any:
        parts = {name: in_rules(part, env) for name, part in one.parts.items()}
        return parts[""] if set(parts) == {""} else parts

    def of_state(state: Any) -> Any:
        return told((state, None, None, None, bounds))

    def of_step(step: Step) -> Any:
        if one.about and step.action != one.about:
            return one.kind == "step"
        return told((step.before, step.after, step.arguments, step.event, bounds))

    def concerned(state: Any) -> Any:
        assert one.when is not None
        return in_rules(one.when, (state, None, None, None, bounds))

    by = {name: dict(_wanted(machine, name, wanted)) for name, wanted in (one.by or {}).items()}
    predicate = of_step if one.kind in ("step", "happens") else of_state
    when = None if one.when is None else concerned
    return Property(one.id, one.kind, f"{one.id} is drawn.", predicate, when=when, by=by)


def _wanted(machine: Machine, name: str, wanted: Mapping[str, tuple[Any, ...]]) -> Iterator[tuple[str, Any]]:
    (move,) = (move for move in machine.moves if move.name == name)
    known = {one.name: one for one, _ in move.parameters}
    for argument, values in wanted.items():
        listed = tuple(to_rules(known[argument], value) for value in values)
        yield argument, listed[0] if len(listed) == 1 else listed


def symmetry(machine: Machine) -> Symmetry:
    """The brokers of a symmetric system, with every field that names them."""
    found: dict[str, list[str]] = {"set": [], "member": [], "tuple": []}

    def note(one: Field, path: str) -> None:
        match one.kind:
            case "set":
                found["set"].append(path)
            case "id" | "one":
                found["member"].append(path)
            case "list":
                found["member"].append(f"{path}[*]")
            case "tuple":
                found["tuple"].append(path)
            case "record":
                for part in one.parts:
                    note(part, f"{path}.{part.name}".removeprefix("."))

    for one in machine.fields:
        note(one, one.name if len(machine.fields) > 1 else "")
    members = dict.fromkeys(found["member"], 0)
    return Symmetry("brokers", machine.brokers, tuple(found["set"]), members, tuple(found["tuple"]))


def build(machine: Machine) -> System:
    """The system."""
    bounds = dict(machine.bounds or {})
    quiescent = machine.quiescent

    def resting(node: Node, state: Any) -> Any:
        return in_rules(node, (state, None, None, None, bounds))

    return System(
        machine.name, "A random system.",
        initial=lambda setting: [state_to_rules(machine, state) for state in machine.initial],
        actions=lambda setting: [action(machine, move, _told(setting)) for move in machine.moves],
        layout=lambda setting: record(machine.fields, [domain(one) for one in machine.fields]),
        properties=lambda setting: [claim(machine, one, _told(setting)) for one in machine.claims],
        scopes={"default": bounds},
        bounds=tuple(Bound(name, 0, 100, "A budget.") for name in bounds),
        quiescent=None if quiescent is None else functools.partial(resting, quiescent),
        symmetries=lambda setting: [symmetry(machine)] if machine.symmetric else [],
    )  # fmt: skip


def _told(setting: Setting) -> dict[str, int]:
    return dict(setting.bounds)
