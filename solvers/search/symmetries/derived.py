"""Symmetries that a layout suggests: tuples with an item for each element, sets of elements, words that name one.

A suggestion is no more than that: whoever uses one proves it first (`kraftcheck.solvers.search.symmetries.proof`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attrs import evolve

from kraftcheck.model.language.layout import Flag, Range
from kraftcheck.model.language.symmetry import MOST_MEMBERS, Symmetry, SymmetryError
from kraftcheck.solvers.program.columns import set_slots
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.symmetries.proof import SymmetryProof, of_every_item, prove_symmetries
from kraftcheck.solvers.search.symmetry import reduced


def suggestions(program: Program) -> list[list[Symmetry]]:
    """For each number of elements the symmetries that the layout suggests, the most telling first."""
    sets, tuples, words = _sets(program), _tuples(program), _words(program)
    found = []
    for size in sorted({*sets.values(), *tuples.values()} - {0, 1}):
        of_sets = tuple(name for name, n in sets.items() if n == size)
        of_tuples = tuple(name for name, n in tuples.items() if n == size)
        members = {name: 0 for name, n in words.items() if n == size}
        name = f"elements 0..{size - 1} of {', '.join((*of_tuples, *of_sets))}"
        plain = Symmetry(name, size, of_sets, {}, of_tuples)
        named = [evolve(plain, members=members)] if members and size <= MOST_MEMBERS else []
        found.append([*named, plain])
    return found


def by_proven_symmetry(program: Program, timeout: float = 10.0) -> Program:
    """The program, its states reduced by symmetries that are proven: those declared, or else what the layout suggests.

    Raises:
        SymmetryError: naming the action or property that tells elements apart, with its line.
    """
    if any(one.size > 1 for one in program.system.symmetries(program.setting)):
        whole = reduced(program)
        return _noted(whole, prove_symmetries(whole, timeout))
    parts = list[tuple[Symmetry, SymmetryProof]]()
    refused = SymmetryError(f"{program.system.name} has neither tuples nor sets of elements")
    for group in suggestions(program):
        for one in group:
            try:
                parts.append((one, prove_symmetries(_with(program, [one]), timeout)))
            except SymmetryError as error:
                refused = error
                continue
            break
    if not parts:
        raise refused
    proof = SymmetryProof(sum(of.obligations for _, of in parts), sum(of.asked for _, of in parts))
    return _noted(_with(program, [one for one, _ in parts]), proof)


def _with(program: Program, symmetries: Sequence[Symmetry]) -> Program:
    return reduced(evolve(program, system=evolve(program.system, symmetries=lambda setting: symmetries)))


def _noted(program: Program, proof: SymmetryProof) -> Program:
    """The reduced program with what was proven of it."""
    assert program.reduction is not None
    return evolve(program, reduction=evolve(program.reduction, proof=proof.text()))


def _sets(program: Program) -> dict[str, int]:
    """Sets by path, with the number of elements that each may have; 0 where sets of one path differ in that."""
    masks = set_slots(program.layout)
    sizes = ((s.path, s.domain.hi.bit_length()) for s in program.layout.slots if s.path in masks)
    return _agreeing(sizes)


def _tuples(program: Program) -> dict[str, int]:
    """Tuples by path, with their number of items; 0 where tuples of one path differ in that."""
    items: dict[str, set[int]] = {}
    for slot in program.layout.slots:
        for found in re.finditer(r"\[(\d+)\]", slot.path):
            items.setdefault(slot.path[: found.start()], set()).add(int(found[1]))
    return _agreeing((path, len(numbers)) for path, numbers in items.items())


def _words(program: Program) -> dict[str, int]:
    """Words that may name an element, or none by -1, with the number of elements; enumerations name none."""
    masks = set_slots(program.layout)
    sizes = (
        (s.path, s.domain.hi + 1 if s.domain.lo in (-1, 0) else 0)
        for s in program.layout.slots
        if isinstance(s.domain, Range) and not isinstance(s.domain, Flag) and not s.domain.names and s.path not in masks
    )
    return _agreeing(sizes)


def _agreeing(sizes: Iterator[tuple[str, int]]) -> dict[str, int]:
    """Sizes by path without the numbers in it, 0 where they differ."""
    found: dict[str, int] = {}
    for path, size in sizes:
        name = of_every_item(path)
        found[name] = size if found.get(name, size) == size else 0
    return found
