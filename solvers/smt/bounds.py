"""Bounds of fields, for provers: which steps may cross them, and whether that is meant.

Provers look at steps within the domains alone. A step that crosses a declared
cap (`kraftcheck.model.language.layout.Range`) is left out, and the verdict says so. That no step
crosses any other bound is to be shown with the claims; else they do not hold.
"""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.model.language.layout import cap_of
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.symbols import inside


def faultless(program: Program, kind: Kind) -> dict[str, Term]:
    """For each field that an action might take out of its domain where no cap is declared: that it does not."""
    slots, name = program.layout.slots, program.layout.name
    kept = {name(slots[i].path): inside(kind.after[i], slots[i].domain, beyond_cap=True) for i in kind.unchecked}
    return {path: term for path, term in kept.items() if term is not term.graph.constant(True)}


def left_out(program: Program) -> list[str]:
    """The steps that may go beyond a declared cap, field by field, in words."""
    slots = program.layout.slots
    capped = {i for kind in program.kinds for i in kind.unchecked if kind.after[i].hi > slots[i].domain.hi}
    return [beyond_text(program.layout.name(slots[i].path)) for i in sorted(capped) if cap_of(slots[i].domain)]


def beyond_text(path: str) -> str:
    """That steps beyond the cap of a field are left out."""
    return f"steps beyond the bound on {path} are left out"


def leaves_text(paths: Sequence[str], where: str = "") -> str:
    """That fields may leave their domain, where, and what mends it."""
    place = f" {where}" if where else ""
    return "; ".join(f"{path} may leave its domain{place}: widen it, or declare its cap" for path in paths)
