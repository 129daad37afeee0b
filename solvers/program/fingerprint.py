"""The fingerprint of a program: equal where two programs have the same runs, and say the same of them.

`Program.digest` names what an engine compiles. The fingerprint leaves out what nothing depends on: terms that
no guard, effect or claim reads, the order in which terms were made, and actions that can never happen. It adds
what engines compile no code for: initial states, and the names of actions and claims. A `Meaning` has behaviour and
claims apart: a verdict is of both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from attrs import frozen

from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.program.program import Kind, Program

COMMUTATIVE = frozenset({"and", "or", "eq", "add", "band", "bor"})
"""Operators whose arguments a graph orders by when they were made."""


def fingerprint(program: Program) -> str:
    """SHA-256 of everything that a run of the program can show."""
    meaning = meanings(program.graph)
    text = hashlib.sha256()

    def put(role: str, *terms: Term) -> None:
        text.update(f"{role} {[meaning[term.index] for term in terms]}\n".encode())

    text.update(f"{program.layout.slots} {program.initial}\n".encode())
    put("state", *program.state)
    for kind in program.kinds:
        if not _never(kind):
            text.update(f"action {kind.action.name} {kind.unchecked} {kind.table}\n".encode())
            put(f"guard {list(kind.guard)}", *kind.guard.values())
            put(f"allowed {list(kind.allowed)}", *kind.allowed.values())
            put("after", *kind.after)
            put("steps", *kind.steps)
            put("variables", *kind.variables)
    text.update(f"claims {[claim.id for claim in program.claims]}\n".encode())
    put("claims", *program.always_terms, *program.sometimes_terms, program.quiescent)
    put(f"starts {[*program.starts]}", *program.starts.values())
    for one in program.recovers:
        allowed = [one.allowed[kind.first :][: len(kind.instances)] for kind in program.kinds if not _never(kind)]
        put(f"recovers {allowed}", one.when, one.goal)
    if program.liveness.claims:
        put(f"liveness {program.liveness.described()}", *program.liveness.terms)
    return text.hexdigest()


@frozen
class Meaning:
    """What a program does and claims, whatever the order of its terms; terms that nothing uses do not count."""

    behaviour: str  # a digest of its states and steps
    # for each property a digest of what it says; of the rest that is judged, under the empty name
    claims: Mapping[str, str]

    @classmethod
    def of(cls, program: Program) -> Meaning:
        """The meaning of a program."""
        digests = meanings(program.graph)

        def digest(what: str, *terms: Term) -> str:
            return hashlib.sha256(" ".join([what, *(digests[term.index] for term in terms)]).encode()).hexdigest()[:16]

        does = [
            digest(repr((program.initial, program.layout.slots)), program.quiescent, *_some(program.within)),
            digest(repr([*program.initially]), *program.initially.values()),
        ]
        for kind in program.kinds:
            guard = [digest(name, part) for name, part in kind.guard.items()]
            guard += [digest(f"argument {name}", part) for name, part in kind.allowed.items()]
            named = f"{kind.action.name} {kind.unchecked} {kind.table} {guard}"
            does.append(digest(named, *kind.variables, *kind.after))
        truths = (*program.always_terms, *program.sometimes_terms)
        of_states = zip((*program.always, *program.sometimes), truths, strict=True)
        says = {claim.id: digest(claim.kind, term) for claim, term in of_states}
        for position, claim in enumerate((*program.steps, *program.happens)):
            says[claim.id] = digest(claim.kind, *(kind.steps[position] for kind in program.kinds))
        for one in program.recovers:
            says[one.claim.id] = digest(f"recovers {one.allowed}", one.when, one.goal)
        for name, term in program.starts.items():
            says[name] = digest(f"at the start, and {says.get(name)}", term)
        live = program.liveness.terms if program.liveness.claims else ()
        says[""] = digest("the rest", *live)
        return cls(digest(" ".join(does)), says)

    @property
    def whole(self) -> str:
        """A digest of all."""
        return hashlib.sha256(f"{self.behaviour} {sorted(self.claims.items())}".encode()).hexdigest()[:16]


def _some(term: Term | None) -> tuple[Term, ...]:
    return () if term is None else (term,)


def _never(kind: Kind) -> bool:
    """Whether a condition of the guard is the constant false."""
    return any(term.op == "const" and not term.value for term in kind.guard.values())


def meanings(graph: Graph) -> list[str]:
    """A digest of each term by itself, whatever else the graph holds; arguments come before what they are in."""
    found: list[str] = []
    for node in graph.nodes:
        below = [found[arg.index] for arg in node.args]
        if node.op in COMMUTATIVE:
            below.sort()
        own = f"{node.op} {node.is_truth} {node.value} {node.lo} {node.hi}"
        found.append(hashlib.sha256(f"{own} {below}".encode()).hexdigest())
    return found
