"""Bounds of fields in proofs: the steps that may cross them, and whether a cap declares that.

Provers look at steps within the domains alone. A step that crosses a declared
cap (`kraftcheck.model.language.layout.Range`) is left out, and the verdict says so. That no step
crosses any other bound is to be shown with the claims; else they do not hold.
"""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.model.language.layout import cap_of
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.symbols import in_domain


def domain_obligations(program: Program, kind: Kind) -> dict[str, Term]:
    """For each field that an action might take out of its domain where no cap is declared: that it does not."""
    slots, name = program.layout.slots, program.layout.name
    stays = {name(slots[i].path): in_domain(kind.after[i], slots[i].domain, or_capped=True) for i in kind.unchecked}
    return {path: term for path, term in stays.items() if term is not term.graph.constant(True)}


def capped_texts(program: Program) -> list[str]:
    """The steps that may go beyond a declared cap, field by field, in words."""
    slots = program.layout.slots
    capped = {i for kind in program.kinds for i in kind.unchecked if kind.after[i].hi > slots[i].domain.hi}
    return [cap_text(program.layout.name(slots[i].path)) for i in sorted(capped) if cap_of(slots[i].domain)]


def cap_text(path: str) -> str:
    """That steps beyond the cap of a field are left out."""
    return f"steps beyond the bound on {path} are left out"


def leaves_text(paths: Sequence[str], where: str = "") -> str:
    """That fields may leave their domain, where, and what mends it."""
    place = f" {where}" if where else ""
    return "; ".join(f"{path} may leave its domain{place}: widen it, or declare its cap" for path in paths)
