"""Requests for proofs, from which worker processes build theories."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from attrs import evolve, frozen

from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.subject import Subject, subject, traced
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ANY, Bound, Setting, System, exceeding, freed, is_any
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS
from kraftcheck.solvers.expressions.expression import Expressions
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.program.parts import RAISED
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.worker import TheoryBuilder

FEW = 3  # of so many participants it is asked what a proof about any number rests on
NUMBERS = 6
"""The rules of a changed system of Kafka's are compared with so many numbers of participants, the fewest first."""

MORE = 1
"""By so much are bounds of anything else, where the request frees them, larger than the least that engines take."""


@frozen
class ProofRequest:
    """A request for a proof, from which a worker process builds the theory."""

    name: str | System  # system name, `module:attribute`, or a system, which only this process can make
    # scope, bounds, rules: as the user gave them
    scope: str | None
    bounds: Mapping[str, int]
    rules: str | None
    # invariants, names: expressions to prove as well, and their ids; without ids their texts are
    invariants: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    # whether the rules of any number are compared with those of few; tests compare those of Kafka's systems, also where
    # a request is about some of their claims
    compared: bool = True

    def subject(self, proof: bool = True) -> Subject:
        """The subject, at bounds that provers (or the explorer) take."""
        added = Expressions(self.invariants, names=self.names)
        return subject(self.name, self.scope, self.bounds, self.rules, proof=proof, expressions=added)

    def of_numbers(self, system: System, numbers: Mapping[str, int]) -> Subject:
        """The subject with numbers for the bounds that are `any`, and what those free as large as explorers take."""
        preset, added = system.setting(self.scope).bounds, Expressions(self.invariants, names=self.names)
        within = {
            bound.name: min(preset[bound.name], numbers[bound.freed_by])
            for bound in system.bounds if bound.freed_by in numbers and bound.name in preset
        }  # fmt: skip
        taken = {b.name: min(self.bounds[b.name], b.hi) for b in system.bounds if b.name in self.bounds}
        numbers = {**numbers, **{name: numbers[most] for name, most in exceeding(system.bounds, numbers)}}
        return subject(self.name, self.scope, {**taken, **within, **numbers}, self.rules, expressions=added)

    def carried(self) -> ProofRequest:
        """The request as another machine is asked: with a user's system itself, whose file is not there."""
        return evolve(self, name=self.subject().whole) if self._is_of_module() else self

    def build(self) -> Theory:
        """The theory."""
        return traced(self.subject(), theory)

    def ask_a_number(self) -> None:
        """Trace the system with a number before any, where no process of its own is asked.

        A system that keeps what it gave before is then that of a number, and not of what it gives for any.
        """
        system = find_system(self.name)
        free = [bound for bound in system.bounds if self.bounds.get(bound.name) == ANY]
        if free and system not in (SYSTEMS.get(system.name), FAIR_SYSTEMS.get(system.name)):
            numbers = {bound.name: bound.hi if system.plain is None else bound.lo for bound in free}
            with contextlib.suppress(*RAISED):  # the number that raises is named where numbers are compared
                chosen = self.of_numbers(system, numbers)
                theory(chosen.system, chosen.setting)

    def compare(self) -> None:
        """Compare the rules of any number with those of each of few, but for shipped ones; raises Refusal."""
        if self.of_any() and self.compared and not self.subject().shipped:
            traced(self.subject(), theory, few=self._of_each)

    def compare_alone(self) -> None:
        """Compare what each number gives here with what it gives a process that has asked for nothing else.

        A system that keeps what it gave for another setting, in whatever way, is another one here.

        Raises:
            Refusal: naming the number.
        """
        if not (self.of_any() and self._is_of_module()):
            return
        numbers = self._each()
        for each, alone in zip(numbers, _alone(functools.partial(_meaning, self), numbers), strict=True):
            if _meaning(self, each) != alone:
                said = self.of_numbers(find_system(self.name), each).setting.text()
                raise Refusal(f"{self.name}: with {said} it is another system once another number was asked for; let "
                              "it depend on the setting alone, and keep nothing that it gave before")  # fmt: skip

    def _is_of_module(self) -> bool:
        """Whether it names a user's system, which any process can make of its module."""
        return isinstance(self.name, str) and ":" in self.name

    def _of_each(self) -> list[tuple[System, Setting]]:
        """The system with each number that searches take, or few of Kafka's."""
        chosen = [self.of_numbers(self._system(), each) for each in self._each()]
        return [(one.system, one.setting) for one in chosen]

    def _each(self) -> list[dict[str, int]]:
        """Each number that searches take, or few of Kafka's; each of several bounds is least once."""
        free = self.free()
        of_kafka = self._system().plain is not None
        most = NUMBERS if of_kafka else max((bound.hi - bound.lo + 1 for bound in free), default=0)
        numbers = [{b.name: min(b.hi, b.lo + more) for b in free} for more in range(most)]
        fewest = free if len(free) > 1 else []
        numbers += [{b.name: b.lo if b is one else min(b.hi, max(b.lo, one.lo) + 2) for b in free} for one in fewest]
        return [*map(dict, dict.fromkeys(tuple(each.items()) for each in numbers))]

    def of_any(self) -> bool:
        """Whether it is about any number."""
        return ANY in self.bounds.values()

    def few(self) -> Theory:
        """The theory with few participants, where the request is about any number of them.

        What their number frees is as in the first scope. Other bounds that are freed are not the least: nothing is to
        be said of the order of one record.
        """
        system, bounds = self._system(), {bound.name: bound for bound in self._system().bounds}
        numbers = {bound.name: min(bound.hi, max(bound.lo, FEW)) for bound in self.free()}
        first = system.setting(None).bounds
        for name in freed(bounds, self.bounds):
            if name in first:
                value = first[name] if bounds[name].freed_by in numbers else bounds[name].lo + MORE
                numbers[name] = min(value, bounds[name].hi)
        return traced(self.of_numbers(system, numbers), theory)

    def few_without_bounds(self) -> Theory:
        """The theory with the fewest participants, and without the other bounds that the request has freed."""
        fewest = {b.name: b.lo for b in self.free()}
        return traced(evolve(self, bounds={**self.bounds, **fewest}).subject(), theory)

    def builders(self) -> list[TheoryBuilder]:
        """Make the theories with few participants, in a worker process; none where the request is about a number."""
        if not self.of_any():
            return []
        frees = {bound.freed_by for bound in self._system().bounds} - {bound.name for bound in self.free()}
        more = any(self.bounds.get(name, 0) for name in frees if name)
        makes = (ProofRequest.few, ProofRequest.few_without_bounds) if more else (ProofRequest.few,)
        return [functools.partial(make, self) for make in makes]

    def free(self) -> list[Bound]:
        """The bounds that are `any`, each from what others leave it as its least: those that may not exceed it."""
        system = self._system()
        given = {**system.setting(self.scope).bounds, **self.bounds}
        unused = freed({bound.name: bound for bound in system.bounds}, given)

        def least(bound: Bound) -> int:
            beside = [one for one in system.bounds if one.at_most == bound.name and one.name not in unused]
            return max(
                bound.lo, *(one.lo if is_any(given.get(one.name, 0)) else given.get(one.name, 0) for one in beside), 0
            )

        return [evolve(one, lo=least(one)) for one in system.bounds if self.bounds.get(one.name) == ANY]

    def beyond_searches(self) -> list[str]:
        """The bounds whose values only provers take."""
        given = [(bound, self.bounds[bound.name]) for bound in self._system().bounds if bound.name in self.bounds]
        return [bound.name for bound, value in given if not bound.accepts(value, proof=False)]

    def of_few(self) -> Subject | None:
        """The subject with few participants, where the request has more and they may be any; None where it has not."""
        numbers = {bound.name: bound.lo + 1 for bound in self._system().bounds if bound.takes_any}
        fewer = {name: few for name, few in numbers.items() if self.bounds.get(name, 0) > few}
        return self.of_numbers(self._system(), fewer) if fewer else None

    def of_more(self, more: int) -> Subject:
        """The subject with the fewest participants for the bounds that are `any`, and some more."""
        return self.of_numbers(self._system(), {b.name: min(b.hi, b.lo + more) for b in self.free()})

    def _system(self) -> System:
        return self.subject().system


def _alone(ask: Callable[[Mapping[str, int]], str], each: Sequence[Mapping[str, int]]) -> list[str]:
    """The answers of processes that are asked once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    ignores = signal.signal, (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(2, context, *ignores, max_tasks_per_child=1) as pool:
        return list(pool.map(ask, each))


def _meaning(request: ProofRequest, numbers: Mapping[str, int]) -> str:
    """The digest of the system with a number; empty where that raises, which is told where numbers are compared."""
    with contextlib.suppress(*RAISED):
        chosen = request.of_numbers(find_system(str(request.name)), numbers)
        return Meaning.of(theory(chosen.system, chosen.setting).program).whole
    return ""
