"""What the verdict on each claim must be, from the naive search. The rules of verdicts are in `expected` alone."""

from collections.abc import Iterable

from attrs import frozen

from tests.random_systems.machines import Claim, State
from tests.random_systems.naive import Graph, Reader, ways
from tests.random_systems.nodes import plainly

DEADLOCK = Claim("deadlock", "deadlock", {})  # the claim that every state without a successor is quiescent

GOALS = ("sometimes", "happens")


@frozen
class Expected:
    """A verdict and the length of its shortest witness."""

    word: str  # name of the class of verdict
    length: int | None = None  # steps of the shortest counterexample or witness; None: there is none
    cases: int | None = None  # for a `recovers` claim that holds, states that had to recover


def occasion(graph: Graph, claim: Claim) -> int | None:
    """The fewest steps after which a claim is broken, or a goal shown; None: never. Not for `recovers`."""
    reader, goal = Reader(graph.machine), claim.kind in GOALS
    parts = [plainly(part) for part in claim.parts.values()]
    if claim.kind == "deadlock":
        return _least(graph.depth[s] for s, found in graph.taken.items() if not found and not reader.rests(s))
    if claim.kind in ("step", "happens"):
        shown = (s for s, one in graph.steps() if reader.holds_of(claim, parts, s, one) == goal)
        return _least(graph.depth[state] + 1 for state in shown)
    return _least(depth for state, depth in graph.depth.items() if reader.holds_in(parts, state) == goal)


def expected(graph: Graph, claim: Claim) -> Expected:
    """The verdict on a claim of a space that is explored to its end, as far as declared bounds let it."""
    verdict = _recovers(graph, claim) if claim.kind == "recovers" else _shown(graph, claim)
    known = verdict.word == "Refuted" or (claim.kind in GOALS and verdict.word == "Holds")
    return verdict if known or not graph.fault() else Expected("Incomplete")


def _shown(graph: Graph, claim: Claim) -> Expected:
    length = occasion(graph, claim)
    if claim.kind in GOALS:
        return Expected("Vacuous" if length is None else "Holds", length)
    return Expected("Holds" if length is None else "Refuted", length)


def _recovers(graph: Graph, claim: Claim) -> Expected:
    way = ways(graph, claim)
    if way.lost:
        return Expected("Refuted", _nearest(graph, way.lost))
    if way.uncertain:
        return Expected("Unknown")
    return Expected("Holds", None, len(way.concerned)) if way.concerned else Expected("Vacuous")


def _nearest(graph: Graph, states: Iterable[State]) -> int:
    return min(graph.depth[state] for state in states)


def _least(lengths: Iterable[int]) -> int | None:
    return min(lengths, default=None)


def plain_word(kind: str, word: str, length: int | None) -> str:
    """The word by the states alone: a claim that speaks of nothing holds, a goal that every state shows is shown."""
    of_nothing = kind in ("always", "step") or (kind in GOALS and length is not None)
    return "Holds" if word == "Vacuous" and of_nothing else word


def table(graph: Graph) -> dict[str, Expected]:
    """The verdict on every claim, and on deadlock."""
    return {claim.id: expected(graph, claim) for claim in (*graph.machine.claims, DEADLOCK)}
