"""`kraftcheck bugs`: the matrix of defects, each against the properties that must refute it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import click
from attrs import frozen

from kraftcheck.ci.explore.command import Budget, run
from kraftcheck.ci.prove.broken_proofs import broken_proofs
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.interrupts import Interrupted
from kraftcheck.ci.terminal.parameter_types import check_idle
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.nearest import nearest
from kraftcheck.properties.defects.defect import Bug
from kraftcheck.properties.defects.matrix import BUGS
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE, EXIT_SAFETY, EXIT_VACUOUS, Holds, Refuted
from kraftcheck.solvers.search.explore import Exploration
from kraftcheck.solvers.search.levels import STOPPED

NATIVE = "native"


@frozen
class Judged:
    """A defect and what was found.

    Attributes:
        bug: the defect.
        found: property to length of the shortest trace, with the defect.
        base: property to verdict where the right rules do not hold in its scope.
        distinct, seconds: size and time of the exploration with the defect.
        cut: why that exploration is incomplete; None when it is complete.
    """

    bug: Bug
    found: Mapping[str, int]
    base: Mapping[str, str]
    distinct: int
    seconds: float
    cut: str | None = None

    def faults(self) -> list[str]:
        """What is not as it must be, in words; none: the defect is found exactly."""
        told = [f"right rules: {claim} {verdict}" for claim, verdict in self.base.items()]
        if self.cut is not None:
            told.append(f"incomplete: {self.cut}")
        if not self.found:
            told.append("no property refutes it")
        for claim in sorted({*self.found, *self.bug.refutes}):
            wanted, got = self.bug.refutes.get(claim), self.found.get(claim)
            if wanted != got:
                told.append(f"{claim}: expected {wanted or 'holds'}, got {got or 'holds'}")
        return told


def choose(names: Sequence[str]) -> list[Bug]:
    """The defects with these variants, all of them for none.

    Raises:
        Refusal: for an unknown name, with the nearest ones.
    """
    known = [bug.variant for bug in BUGS]
    for name in names:
        if name not in known:
            raise Refusal(f"no defect {name!r}; {nearest(name, known)}")
    return [bug for bug in BUGS if not names or bug.variant in names]


def explored(bug: Bug, rules: str, budget: Budget, quiet: bool) -> Exploration:
    """The exploration of a defect's scope under a rule set.

    Raises:
        Interrupted: when a signal stopped it.
    """
    chosen = subject(bug.system, bug.scope, bug.bounds, rules)
    result = run(program(chosen), budget, quiet=quiet)
    if result.cut == STOPPED:
        raise Interrupted(f"stopped in the search of {bug.variant}")
    return result


def refutations(result: Exploration) -> dict[str, int]:
    """The refuted properties with the lengths of their traces."""
    return {v.claim: v.depth or 0 for v in result.verdicts if isinstance(v.verdict, Refuted)}


def wrong(result: Exploration) -> dict[str, str]:
    """The properties that do not hold."""
    return {v.claim: report.word_of(v) for v in result.verdicts if not isinstance(v.verdict, Holds)}


@click.command("bugs")
@click.argument("variants", nargs=-1)
@click.option("--engine", type=click.Choice([NATIVE, "z3"]), default=NATIVE, show_default=True,
              help="z3: each variant that a proven property names must break its proof.")  # fmt: skip
@options.workers
@options.memory
@options.document
@options.quiet
def bugs_command(
    variants: tuple[str, ...], engine: str, workers: int, memory: int, target: str | None, quiet: bool
) -> None:
    """Explore every defect of the matrix (or the VARIANTS named), and the right rules in the same scope.

    A defect must be refuted by exactly the properties named for it, with traces
    of the expected lengths; the right rules must hold everything.

    \b
    Exit codes: 0 all as expected, 12 a defect breaks other properties or right
    rules fail, 20 a search was cut, 21 a defect that nothing refutes, 2 bad input.

    \b
    Examples:
      kraftcheck bugs
      kraftcheck bugs hw-advances-under-min-isr
      kraftcheck bugs --engine z3
    """
    if engine != NATIVE:
        check_idle("is of --engine native", "memory")
        sys.exit(broken_proofs(variants, workers, target, quiet))
    wanted = choose(variants)
    if target is not None:
        check_writable(target)
    screen, budget = console(to_stderr=target == "-"), Budget(workers, memory)
    judged, bases = [], dict[tuple[object, ...], dict[str, str]]()
    for bug in wanted:
        scope = (bug.system, bug.scope, tuple(sorted(bug.bounds.items())), bug.base)
        if scope not in bases:
            bases[scope] = wrong(explored(bug, bug.base, budget, quiet))
        result = explored(bug, bug.rules, budget, quiet)
        judged.append(Judged(bug, refutations(result), bases[scope], result.distinct, result.seconds, result.cut))
        for line in _row(judged[-1]):
            screen.plain(line)
    code = _exit_code(judged)
    if target is not None:
        write_json(target, document(judged, code))
    faulty = sum(bool(one.faults()) for one in judged)
    screen.plain(f"{len(judged)} defects, {faulty} not as expected (exit {code})")
    sys.exit(code)


def _exit_code(judged: Sequence[Judged]) -> int:
    if any(one.cut is not None for one in judged):
        return EXIT_INCOMPLETE
    if any(one.faults() and one.found for one in judged) or any(one.base for one in judged):
        return EXIT_SAFETY
    return EXIT_VACUOUS if any(one.faults() for one in judged) else 0


def _row(one: Judged) -> list[str]:
    bug = one.bug
    broken = ", ".join(f"{claim} {length}" for claim, length in one.found.items()) or "nothing"
    told = [
        f"{bug.entry:28} {bug.variant}",
        f"    {bug.system} {bug.scope}, {NATIVE}: {one.distinct:,} states in {one.seconds:.1f} s; refutes {broken}",
    ]
    return told + [f"    UNEXPECTED {fault}" for fault in one.faults()]


def document(judged: Sequence[Judged], code: int) -> dict[str, object]:
    """The matrix as plain values."""
    return {
        "version": report.DOCUMENT_VERSION,
        "command": "bugs",
        "exit_code": code,
        "bugs": [
            {
                "entry": one.bug.entry,
                "variant": one.bug.variant,
                "system": one.bug.system,
                "scope": one.bug.scope,
                "bounds": dict(one.bug.bounds),
                "rules": one.bug.rules,
                "engine": NATIVE,
                "refutes": dict(one.found),
                "faults": one.faults(),
                "distinct": one.distinct,
                "seconds": one.seconds,
            }
            for one in judged
        ],
        "versions": report.versions(),
    }
