"""A random system in a few lines, for people who look into a failing case."""

from collections.abc import Iterator, Mapping

from tests.random_systems.machines import Machine, Move
from tests.random_systems.nodes import Node, text


def described(machine: Machine) -> str:
    """The system, and the command that runs it."""
    return "\n".join(_lines(machine))


def _lines(machine: Machine) -> Iterator[str]:
    how = ", symmetric" if machine.symmetric else ""
    yield f"{machine.name}{how}: {machine.brokers} brokers {machine.bounds or ''}"
    yield "  " + "; ".join(one.told() for one in machine.fields)
    for state in machine.initial:
        yield f"  initially {_plain(state)}"
    for move in machine.moves:
        yield from _of_move(move)
    for claim in machine.claims:
        about = f" of {claim.about}" if claim.about else ""
        yield f"  {claim.kind} {claim.id}{about}: {_parts(claim.parts)}"
        if claim.when is not None:
            yield f"    when {text(claim.when)}"
        if claim.by:
            yield f"    by { ({name: dict(wanted) for name, wanted in claim.by.items()}) }"
    if machine.quiescent is not None:
        yield f"  may rest where {text(machine.quiescent)}"


def _of_move(move: Move) -> Iterator[str]:
    parameters = (f"{one.name} in [{', '.join(map(_plain, values))}]" for one, values in move.parameters)
    yield f"  {move.name}({', '.join(parameters)})" + (f" if {_parts(move.guard)}" if move.guard is not None else "")
    for one in move.assignments:
        index = "" if one.index is None else f"[{text(one.index)}]"
        yield f"    {text(one.target)}{index} := {text(one.value)}"
    if move.when is not None:
        yield f"    unless not {text(move.when)}"
    if move.event is not None:
        yield f"    tells {', '.join(map(text, (move.event.amount, move.event.flag, move.event.who)))}"


def _parts(parts: Mapping[str, Node]) -> str:
    return "; ".join(f"{name}: {text(part)}" if name else text(part) for name, part in parts.items())


def _plain(value: object) -> str:
    if isinstance(value, frozenset):
        return "{" + ",".join(map(str, sorted(value))) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_plain, value)) + ")"
    return str(value)
