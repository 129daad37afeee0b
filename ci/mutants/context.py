"""How mutants are explored: with which budget, what is told meanwhile, and what stops it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import click
from attrs import evolve, frozen

from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.fairness import LIVENESS
from kraftcheck.properties.register.mutants import LEFT
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.mutants.campaign import Campaign, ConditionMutant, Memory, campaign
from kraftcheck.solvers.mutants.explore import BaselineFault, MutantBudget, MutantExplanation, explain
from kraftcheck.solvers.mutants.mutate import Mutant, Mutations, mutate
from kraftcheck.solvers.mutants.source.names import SourceMutant

SECONDS = 5.0


@frozen
class ExploreContext:
    """The context of explorations: budget, progress, and the stop flag."""

    budget: MutantBudget
    quiet: bool
    stop: threading.Event
    begin_event: threading.Event

    def progress(self) -> Callable[[int, int, str], None]:
        """A line on standard error now and then."""
        last = time.monotonic()

        def note(finished: int, total: int, text: str) -> None:
            nonlocal last
            if total:
                self.begin_event.set()
            if not self.quiet and (time.monotonic() - last >= SECONDS or not total):
                last = time.monotonic()
                click.echo(f"{finished} of {total} mutants; {text}" if total else text, err=True)

        return note

    def explore(self, chosen: Subject, selected: Callable[[Mutations, Mutant], bool]) -> MutantExplanation:
        """The outcomes of a subject's mutants.

        Raises:
            Refusal: when the rules as they are exceed the budget, or a term is too wide.
        """
        with _refusals(chosen):
            return explain(
                chosen.system, chosen.setting, self.budget, leave=LEFT, selected=selected, cache_dir=cache_folder(),
                progress=self.progress(), stop=self.stop,
            )  # fmt: skip

    def judge(
        self, chosen: Subject, mutants: Sequence[SourceMutant], memory: Memory,
        drawn: Callable[[str], bool] = lambda name: False,
    ) -> Campaign:  # fmt: skip
        """The outcomes of the operator mutants that a subject meets, and of those of its conditions that are drawn.

        Args:
            chosen, mutants, memory: as of `campaign`.
            drawn: by name, whether a condition is dropped; liveness is not asked of these.

        Raises:
            Refusal: as `explore`.
        """
        with _refusals(chosen):
            found = campaign(
                chosen.system, chosen.setting, self.budget, mutants, memory=memory, cache_dir=cache_folder(),
                progress=self.progress(), stop=self.stop,
            )  # fmt: skip
        if any(claim.kind in LIVENESS for claim in chosen.system.properties(chosen.setting)):
            return found

        def is_drawn(one: Mutant) -> bool:
            return drawn(ConditionMutant.of(chosen.system, one).name)

        if not any(map(is_drawn, mutate(chosen.system, chosen.setting, LEFT).mutants)):
            return found
        dropped = self.explore(chosen, lambda _, one: is_drawn(one))
        named = [(ConditionMutant.of(chosen.system, one), result) for one, result in dropped.outcomes]
        return evolve(found, outcomes=(*found.outcomes, *named))


@contextlib.contextmanager
def _refusals(chosen: Subject) -> Iterator[None]:
    """Refuse rules that exceed the budget as they are, and a term that is too wide."""
    try:
        yield
    except BaselineFault as error:
        raise Refusal(f"{chosen.title()}: {error}; raise --limit or --memory, or lower a bound") from error
    except LoweringError as error:
        raise Refusal(f"{chosen.name}: {error}") from error
