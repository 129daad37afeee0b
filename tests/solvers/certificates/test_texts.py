"""The inductive invariant of a certificate as a text: what it says of a state is what the invariants say of it."""

from __future__ import annotations

import z3

import kraftcheck as kc
from kraftcheck.solvers.certificates.certificate import definitions
from kraftcheck.solvers.smt.printer import Printer, symbol
from kraftcheck.solvers.smt.queries import Questions
from kraftcheck.solvers.smt.theory import theory
from tests.shared.any_number import EWD_840, Ring


def rings() -> list[Ring]:
    """States of two nodes, whether or not a run leads there."""
    sets = [kc.IntSet(mask) for mask in range(4)]
    return [Ring(2, a, b, token, dark) for a in sets for b in sets for token in (0, 1) for dark in (False, True)]


def invariant_text() -> str:
    """The invariant of the ring of any number of nodes."""
    of = theory(EWD_840, EWD_840.setting(None, {"nodes": kc.ANY}, proof=True))
    terms = of.state_truths()
    return definitions("EWD 840", Questions(of).domains(), {claim.id: terms[claim.id] for claim in of.invariants})


def of_a_state(text: str, ring: Ring) -> str:
    """The text with each declaration replaced by what it is in a state."""
    values = {"nodes": str(ring.nodes), "token": str(ring.token), "token_black": str(ring.token_black).lower()}
    values["|how many nodes|"] = values["nodes"]
    for name in ("active", "black"):
        members = " ".join(f"(= x {node})" for node in range(2) if getattr(ring, name).has(node))
        text = text.replace(f"(declare-fun {name} (Int) Bool)",
                            f"(define-fun {name} ((x Int)) Bool (or false {members}))")  # fmt: skip
    for name, value in values.items():
        sort = "Bool" if name == "token_black" else "Int"
        text = text.replace(f"(declare-fun {name} () {sort})", f"(define-fun {name} () {sort} {value})")
    assert "declare-fun" not in text
    return text


def test_the_text_of_an_invariant_says_what_the_invariant_says() -> None:
    """In every state of a small ring each definition of the text, quantified or not, is as true as its claim."""
    text = invariant_text()
    assert text.count("(forall ") == 4
    claims = [*EWD_840.properties(EWD_840.setting()), *EWD_840.lemmas(EWD_840.setting())]
    for ring in rings():
        for claim in claims:
            solver = z3.Solver()
            solver.from_string(f"{of_a_state(text, ring)}\n(assert {symbol(claim.id)})")
            assert solver.check() == (z3.sat if claim.holds(ring) else z3.unsat), (claim.id, ring)


def test_a_part_of_a_nested_claim_is_a_function_of_all_that_is_bound() -> None:
    """A claim of every two places is printed with each part once, and means what Z3's own text of it means."""
    x, y = z3.Int("x"), z3.Int("y")
    held = z3.Function("held", z3.IntSort(), z3.IntSort(), z3.BoolSort())
    part = z3.Or(held(x, y), x + y < 2)
    claim = z3.ForAll([x], z3.Or(x < 0, z3.ForAll([y], z3.And(part, z3.Implies(part, y < 3)))))
    printer = Printer()
    lines = [*printer.lines([claim]), printer.definition("claim", claim)]
    solver = z3.Solver()
    solver.from_string("\n".join([*lines, "(assert claim)"]))
    (printed,) = solver.assertions()
    solver.reset()
    solver.add(printed != claim)
    assert solver.check() == z3.unsat
    assert sum("(held x y)" in line for line in lines) == 1
