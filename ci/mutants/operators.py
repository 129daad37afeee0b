"""`kraftcheck explain --operators`: every operator mutant that systems meet, and what kills it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.mutants.context import ExploreContext
from kraftcheck.ci.mutants.memory import Outcomes
from kraftcheck.ci.mutants.score import SystemScore, listed, score, text, with_others
from kraftcheck.ci.systems.subject import Subject, subject
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_apart, check_writable, write
from kraftcheck.ci.terminal.progress import run_interruptibly, stop_flag
from kraftcheck.properties.mutants.tables import CAMPAIGNS, LEFT
from kraftcheck.solvers.mutants.explore import MutantBudget
from kraftcheck.solvers.mutants.source.names import SourceMutant, source_mutants
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE

RULES = "fixed"


@frozen
class OperatorRequest:
    """Which operator mutants are asked for.

    Attributes:
        sample: how many are drawn of those that the model has; None: all.
        seed: draws others.
        results: file with outcomes that are known, to which new ones are added; None: none.
    """

    sample: int | None = None
    seed: int = 0
    results: Path | None = None

    def mutants(self) -> Sequence[SourceMutant]:
        """The mutants, in the order of the text."""
        every = source_mutants(LEFT)
        drawn = frozenset(self.drawn([one.name for one in every]))
        return [one for one in every if one.name in drawn]

    def drawn(self, names: Sequence[str]) -> list[str]:
        """The names that are drawn: a larger sample has the smaller one, and what else there is moves few."""
        by_lot = sorted(names, key=lambda name: hashlib.sha256(f"{self.seed} {name}".encode()).digest())
        return by_lot[: self.sample]


def scores(request: OperatorRequest, chosen: Sequence[Subject], context: ExploreContext) -> list[SystemScore]:
    """The scores of subjects, one after another."""
    mutants, memory = request.mutants(), Outcomes(request.results, context.budget.max_states).memory()
    found = {one.name: context.judge(one, mutants, memory) for one in chosen}
    drawn = (request.sample or 0, request.seed if request.sample else 0)
    return with_others([score(one.name, one.title(), found[one.name], *drawn) for one in chosen], found)


def explain_operators(
    chosen: Subject | None, request: OperatorRequest, budget: MutantBudget, target: str | None, quiet: bool
) -> int:
    """Judge, print, and write the document; the exit code.

    Args:
        chosen: the subject; None: every system of the page.
        request: which mutants.
        budget: what the exploration of one may use.
        target: where the document goes; None: nowhere.
        quiet: whether to leave out progress.
    """
    if request.results is not None:
        check_writable(str(request.results))
        check_apart(results=str(request.results), json=target)
    subjects = [chosen] if chosen is not None else [subject(s, scope, {}, RULES) for s, scope in CAMPAIGNS.items()]
    begin_event = threading.Event()
    with stop_flag(awaits_report=True) as stop:
        context = ExploreContext(budget, quiet, stop, begin_event)
        found = run_interruptibly(lambda: scores(request, subjects, context), stop, begin_event)
    screen = console(to_stderr=target == "-")
    for one in found:
        screen.plain(one.title)
        for line in listed(one):
            screen.plain(line)
        screen.plain(f"{totals(one)}\n")
    undecided = sum(bool(row.cut) for one in found for row in one.alive)
    code = EXIT_INCOMPLETE if undecided else 0
    screen.plain(f"{'every mutant is decided' if not undecided else f'{undecided} undecided'} (exit {code})")
    if target is not None:
        write(Path(target), text(found)) if target != "-" else print(text(found), end="")
    return code


def totals(one: SystemScore) -> str:
    """What became of a system's mutants, in one line."""
    parts = {
        "refused": one.refused, "leave their domain": one.left, "the same program": one.same,
        "without effect": one.without_effect, "killed by properties": sum(one.killed.values()),
        "killed by goals": sum(one.lost.values()), "alive": len(one.alive),
    }  # fmt: skip
    return ", ".join([f"{one.mutants:,} mutants", *(f"{n:,} {what}" for what, n in parts.items() if n)])
