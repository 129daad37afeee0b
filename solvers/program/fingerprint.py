"""The fingerprint of a program: equal where two programs have the same runs, and say the same of them.

`Program.digest` names what an engine compiles. The fingerprint leaves out what nothing depends on: terms that
no guard, effect or claim reads, the order in which terms were made, and actions that can never happen. It adds
what engines compile no code for: initial states, and the names of actions and claims.
"""

from __future__ import annotations

import hashlib

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
