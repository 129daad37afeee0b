"""Comparison of the definition in a certificate with that of the rules, and on ints in sampled states and steps.

The states are those of runs that are drawn at random, and the same with some fields changed, reachable or not. In each
of them cvc5, which reads the text itself, says what every definition is worth, for an instance of each action, enabled
or not. Of a system of any number it reads a definition with a number for each bound.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import z3
from attrs import define, field, frozen

from kraftcheck.ci.prove.check_certificate import DefinedSystem, Obligations, counted, index_of, table, word_at
from kraftcheck.ci.prove.vmt import SIZE, Definition, NoCertificate, Tree, made_equal, printed
from kraftcheck.ci.terminal.files import MAX_JSON_BYTES, read_bytes
from kraftcheck.model.language.layout import DomainError, Layout, leaves
from kraftcheck.model.language.system import Setting, Step
from kraftcheck.model.language.words import all_of
from kraftcheck.solvers.audit.numbers import OtherFields, answered, by_place
from kraftcheck.solvers.certificates.certificate import definition
from kraftcheck.solvers.certificates.witnesses import Witnesses
from kraftcheck.solvers.program.program import Kind
from kraftcheck.solvers.program.starts import description, given_states
from kraftcheck.solvers.program.verdict import start_parts
from kraftcheck.solvers.smt.printer import WORD
from kraftcheck.solvers.smt.theory import INITIATION, Theory
from kraftcheck.solvers.smt.verdicts import arguments_of, is_initial
from kraftcheck.solvers.traces.render import show


@frozen
class Few:
    """A definition with quantifiers, and states with few participants."""

    defined: DefinedSystem  # the definition
    # layout, few: of states with any number, and with few
    layout: Layout
    few: Layout
    numbers: Mapping[str, int]  # by bound, how many there are

    def text(self) -> str:
        """The definition in which a map has a constant at each place, and claims are about few places."""
        lines, later, at = ["(set-logic ALL)"], {*self.defined.next.values()}, self._places()
        for name, (places, sort) in self.defined.declared.items():
            if places and not name.startswith(SIZE) and name not in later:
                lines += table(name, len(places), printed(sort, {}), at)
            elif not name.startswith(SIZE) and name not in later:
                lines.append(f"(declare-fun {printed(name, {})} () {printed(sort, {})})")
        for name, one in self.defined.defined.items():
            if not self.defined.needed([name]) & later:
                head = f"{printed(name, {})} {printed(one.places(), {})} {printed(one.sort, {})}"
                lines.append(f"(define-fun {head} {printed(self._expanded(one.body), {})})")
                lines += [counted(name, one.given, at)] * (name in self.defined.sets)
        return "\n".join(lines)

    def terms(self, name: str, value: Definition) -> Iterator[tuple[str, str]]:
        """The terms that an effect gives a field at each place, by the field and the place."""
        for row in itertools.product(*[range(self._most())] * len(value.given)):
            yield _at(name, row), printed(_where(value.given, row, self._expanded(value.body)), {})

    def fields(self, values: Sequence[int]) -> dict[str, int]:
        """The leaves of a state with few as fields with any number, by name and place; raises NoCertificate."""
        found = {f"how many {bound}": number for bound, number in self.numbers.items()}
        found |= {_at(path, row): value for path, row, value in self._leaves(values)}
        return found

    def words(self, values: Sequence[int]) -> dict[str, int]:
        """A state with few as what the text declares of a state; beyond it is what is somewhere in it."""
        found, words = dict[str, int](), {name: _word(one) for name, one in self.defined.defined.items()}
        somewhere = {path: value for path, _, value in self._leaves(values)}
        held = self.fields(values)
        for slot in self.layout.slots:
            word, count = words[f"field: {slot.path}"], getattr(slot.domain, "places", 0)
            beyond = 0 if getattr(slot.domain, "truths", False) else somewhere.get(slot.path, slot.domain.lo)
            for row in itertools.product(self._places(), repeat=count):
                found[word_at(word, map(str, row))] = held.get(_at(slot.path, row), beyond)
            found |= {word_at(word, ["beyond"]): beyond} if count else {}
        return found | {words[f"field: how many {bound}"]: number for bound, number in self.numbers.items()}

    def _leaves(self, values: Sequence[int]) -> Iterator[tuple[str, tuple[int, ...], int]]:
        """Path, places and word of each leaf; of the mask of a set, a truth for each number."""
        try:
            yield from by_place(self.layout, self.few, self.numbers, values)
        except OtherFields as error:
            raise NoCertificate(str(error)) from error

    def _most(self) -> int:
        return max(self.numbers.values(), default=0)

    def _places(self) -> range:
        """The places that are looked at: those there are, one before and one after."""
        return range(-1, self._most() + 1)

    def _expanded(self, tree: Tree) -> Tree:
        """A term in which each claim about every place is about those that are looked at."""
        match tree:
            case ["forall" | "exists" as kind, [*binders], body]:
                inside, given = self._expanded(body), [str(one[0]) for one in binders]
                rows = itertools.product(self._places(), repeat=len(given))
                join, start = ("and", "true") if kind == "forall" else ("or", "false")
                return [join, start, *(_where(given, row, inside) for row in rows)]
        return [*map(self._expanded, tree)] if isinstance(tree, list) else tree


def _where(given: Sequence[str], row: Sequence[int], tree: Tree) -> Tree:
    """A term in which some names are numbers."""
    numbers: list[Tree] = [str(at) if at >= 0 else ["-", str(-at)] for at in row]
    return ["let", [[name, at] for name, at in zip(given, numbers, strict=True)], tree] if given else tree


def _at(path: str, row: tuple[int, ...]) -> str:
    return f"{path} at {row}" if row else path


def _word(one: Definition) -> str:
    return str(one.body[0] if one.given else one.body)


STATES, STARTS, RUN, TRIES, PATIENCE = 60, 8, 12, 12, 10_000
"""States of runs that are looked at, initial ones of a description, the length of a run, and instances of an action of
which one is to be enabled, and Z3's milliseconds for a question about what is left out, or of nothing."""


class _Reader:
    """cvc5 with a text, evaluating some of its terms."""

    def __init__(self, text: str, terms: Mapping[str, str]) -> None:
        import cvc5

        self._cvc5, self._manager = cvc5, cvc5.TermManager()
        self._solver = cvc5.Solver(self._manager)
        for name in ("incremental", "produce-models", "quiet"):  # quiet: annotations are nothing to cvc5
            self._solver.setOption(name, "true")
        symbols = cvc5.SymbolManager(self._manager)
        parser = cvc5.InputParser(self._solver, symbols)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "system.vmt")
        while not (command := parser.nextCommand()).isNull():
            command.invoke(self._solver, symbols)
        self._declared = {one.getSymbol(): one for one in symbols.getDeclaredTerms()}
        self._terms = {}
        for name, term in terms.items():
            parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, term, name)
            self._terms[name] = parser.nextTerm()

    def values(self, given: Mapping[str, int]) -> dict[str, Any]:
        """What each term is worth, as a constant, where the declared words have some values."""
        self._solver.push()
        for name, value in given.items():
            word = self._declared[name]
            equal = self._manager.mkTerm(self._cvc5.Kind.EQUAL, word, self.constant(word, value))
            self._solver.assertFormula(equal)
        assert self._solver.checkSat().isSat()
        found = self._solver.getValue(list(self._terms.values()))
        self._solver.pop()
        return dict(zip(self._terms, found, strict=True))

    def constant(self, like: Any, value: int) -> Any:
        """A constant of the sort of a term."""
        sort = like.getSort()
        if sort.isBitVector():
            width = sort.getBitVectorSize()
            return self._manager.mkBitVector(width, value % (1 << width))
        return self._manager.mkBoolean(bool(value)) if sort.isBoolean() else self._manager.mkInteger(value)


@define
class Comparison:
    """A definition beside the rules."""

    of: Theory  # the theory of the rules, with few participants where the definition is of any number
    defined: DefinedSystem  # the definition
    few: Few  # its reading of states of the rules
    setting: Setting | None = None  # of the definition, where it is of any number
    differences: dict[str, str] = field(factory=dict)  # where they differ, the first of each definition
    # states, steps: how many were compared
    states: int = 0
    steps: int = 0
    taken: set[str] = field(factory=set)  # the actions of which a step that is enabled was
    failed: set[str] = field(factory=set)  # the definitions that were seen false, of claims and guards
    # initial states: those that are listed, or some of those that are described
    starts: Sequence[tuple[int, ...]] = field(init=False)
    _reader: _Reader = field(init=False)
    _kinds: Mapping[str, Kind] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Read the text."""
        terms = {INITIATION: INITIATION}
        for name, one in self.defined.defined.items():
            if ", next: " in name and (effect := made_equal(one.body)) is not None:
                terms |= self.few.terms(name, effect[1])
            elif ": " in name and not name.startswith("action: ") and not one.given:
                terms[name] = printed(name, {})
        self._reader = _Reader(self.few.text(), terms)
        self._kinds = {kind.action.name: kind for kind in self.of.program.kinds}
        program = self.of.program
        self.starts = Witnesses(self.of).starts(STARTS) if program.initially else program.initial

    def fits(self) -> bool:
        """Whether an initial state of the rules is in the domains of the definition."""
        found = self._reader.values(self.few.words(self.starts[0])) if self.starts else {}
        return not found or all(found[name].getBooleanValue() for name in self.defined.domains)

    def sample(self, seed: int) -> None:
        """Compare states of runs that are drawn at random, and others."""
        draw, layout, end = random.Random(seed), self.of.program.layout, self.states + STATES
        while self.starts and self.states < end:
            values: tuple[int, ...] = draw.choice(self.starts)
            for _ in range(RUN):
                chosen = self._instances(draw, layout.state(values))
                self.state(values, chosen)
                self.state(_changed(draw, values, self.of), chosen)
                values = self._after(draw, values, chosen)

    def chosen(self) -> None:
        """Compare states and steps that break a claim each, and a step of each action."""
        witnesses, invariants = Witnesses(self.of), self.defined.invariants
        found = [*map(witnesses.against, invariants)]
        found += [witnesses.enabling(name, invariants) for name in self.defined.actions]
        found += itertools.chain.from_iterable(map(witnesses.breaking, self.defined.steps))
        for one in found:
            if one is not None:
                given = {} if one.action is None else {one.action.action: arguments_of(self.of, one.action)}
                self.state(one.state, given)

    def _instances(self, draw: random.Random, state: Any) -> dict[str, Mapping[str, Any]]:
        """An instance of each action that has one: one that is enabled, if it is found soon."""
        found: dict[str, Mapping[str, Any]] = {}
        for name, kind in self._kinds.items():
            if all(map(len, kind.action.parameters.values())):
                for _ in range(TRIES):
                    found[name] = {word: draw.choice(of) for word, of in kind.action.parameters.items()}
                    if kind.action.enabled(state, found[name]):
                        break
        return found

    def _after(self, draw: random.Random, values: tuple[int, ...], chosen: Mapping[str, Any]) -> tuple[int, ...]:
        """The state after one of some instances, an enabled one; where there is none, an initial one."""
        state, layout = self.of.program.layout.state(values), self.of.program.layout
        for name in draw.sample(list(chosen), len(chosen)):
            action = self._kinds[name].action
            if action.enabled(state, chosen[name]):
                with contextlib.suppress(DomainError):  # such a step is left out
                    return layout.values(action.outcome(state, chosen[name]).state)
        return draw.choice(self.starts)

    def state(self, values: Sequence[int], instances: Mapping[str, Mapping[str, Any]]) -> None:
        """Compare a state, and an instance of each action there."""
        program, before = self.of.program, self.of.program.layout.state(values)
        given = self.few.words(values)
        for name, arguments in instances.items():
            words = (WORD + program.graph.variables[term.value] for term in self._kinds[name].variables)
            given |= {word: int(leaf) for word, (_, leaf) in zip(words, leaves(tuple(arguments.values())), strict=True)}
        found = self._reader.values(given)
        self.states += 1
        self._same(found, INITIATION, self._is_initial(before, tuple(values)), before)
        for name in self.defined.domains:
            self._same(found, name, True, before)
        for claim in self.of.invariants:
            if (name := f"invariant: {claim.id}") in found:
                self._same(found, name, answered(claim.holds, before), before)
        for claim in self.of.steps:
            if claim.id in self.defined.steps and claim.id in program.starts:
                parts = answered(start_parts, claim, before)
                expected = None if parts is None else all(parts.values())
                self._same(found, f"{INITIATION}, step: {claim.id}", expected, before)
        for name, arguments in instances.items():
            self._step(self._kinds[name], before, arguments, found)

    def _step(self, kind: Kind, before: Any, arguments: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        """Compare an instance of an action in a state."""
        name, action, layout = kind.action.name, kind.action, self.of.program.layout
        self.steps += 1
        where = f"{show(before)}, {name} {show(dict(arguments))}"
        self._all(found, f"{name}, argument: ", True, where)
        enabled = answered(action.enabled, before, arguments)
        self._all(found, f"{name}, guard: ", enabled, where)
        outcome = answered(action.outcome, before, arguments) if enabled else None
        if outcome is None:
            return
        self.taken.add(name)
        try:
            after = layout.values(outcome.state)
        except DomainError:
            self._all(found, f"{name}, bound: ", False, where)
            return
        self._all(found, f"{name}, bound: ", True, where)
        for path, word in self.few.fields(after).items():
            self._same(found, f"{name}, next: {path}", word, where)
        step = Step(before, outcome.state, name, arguments, outcome.event)
        for claim in self.of.steps:
            if f"{name}, step: {claim.id}" in found:
                self._same(found, f"{name}, step: {claim.id}", answered(claim.holds, step), where)

    def _is_initial(self, state: Any, values: tuple[int, ...]) -> bool | None:
        """Whether a state is initial; None where one with few is not, and initial states of any number are listed."""
        if is_initial(self.of.program, values):
            return True
        system, setting = self.of.program.system, self.setting
        rule = None if setting is None else description(given_states(system, setting))
        return bool(all_of(*rule.holds(state).values())) if rule else None if setting else False

    def _all(self, found: Mapping[str, Any], prefix: str, expected: Any, where: str) -> None:
        """Compare the conjunction of the definitions whose names begin in the same way."""
        parts = [value.getBooleanValue() for name, value in found.items() if name.startswith(prefix)]
        if expected is not None:
            self._note(prefix.rstrip(": "), all(parts), bool(expected), where)

    def _same(self, found: Mapping[str, Any], name: str, expected: Any, where: Any) -> None:
        """Compare a definition with what it is on ints; None where the rules make no sense."""
        if name not in found:
            self.differences.setdefault(name, f"{name}: system.vmt does not define it")
        elif expected is not None:
            self._note(name, found[name], self._reader.constant(found[name], int(expected)), where)

    def _note(self, name: str, worth: Any, expected: Any, where: Any) -> None:
        if str(expected) in ("false", "False"):
            self.failed.add(name)
        if worth != expected:
            state = where if isinstance(where, str) else show(where)
            self.differences.setdefault(name, f"{name}: {worth} in system.vmt and {expected} on ints, in {state}")


def _changed(draw: random.Random, values: Sequence[int], of: Theory) -> tuple[int, ...]:
    changed, slots = [*values], of.program.layout.slots
    for place in draw.sample(range(len(slots)), min(len(slots), draw.randint(1, 3))):
        changed[place] = draw.randint(slots[place].domain.lo, min(slots[place].domain.hi, 1 << 10))
    return tuple(changed)


def _redefined(defined: DefinedSystem, own: DefinedSystem) -> list[str]:
    """Where a definition is not what is made anew of the rules."""
    names = sorted(name for name in {*own.defined, *defined.defined} if ": " in name or name == INITIATION)
    return [
        f"{name}: system.vmt defines it otherwise than kraftcheck" for name in names
        if name not in own.defined or name not in defined.defined or own.digest(name) != defined.digest(name)
    ]  # fmt: skip


def _compared(of: Theory, defined: DefinedSystem, seed: int, few: Sequence[Theory]) -> tuple[dict[str, str], str]:
    """As `differences`, of states with each of few numbers of participants."""
    found, states, steps, taken, failed = dict[str, str](), 0, 0, set[str](), set[str]()
    for one in few:
        comparison = _beside(of, defined, one)
        comparison.chosen()
        comparison.sample(seed)
        found = {**comparison.differences, **found}
        states, steps = states + comparison.states, steps + comparison.steps
        taken, failed = taken | comparison.taken, failed | comparison.failed
    unseen = sorted({*defined.actions} - taken)
    never = sorted(f"invariant {name}" for name in defined.invariants if f"invariant: {name}" not in failed)
    never += [f"claim about steps {name}" for name in defined.steps
              if not any(f"{action}, step: {name}" in failed for action in defined.actions)]  # fmt: skip
    return found, "\n".join([
        f"{states:,} states and {steps:,} steps, enabled or not, are what the rules on ints say",
        *[f"never enabled there: {', '.join(unseen)}"] * bool(unseen),
        *[f"never false there: {', '.join(never)}"] * bool(never),
    ])  # fmt: skip


def _beside(of: Theory, defined: DefinedSystem, few: Theory) -> Comparison:
    """A definition beside rules, with few where it is of any number: as many, or one more where that is meant by it."""
    program = of.program
    for more in (0, 1):
        numbers = {bound: few.program.setting.bounds[bound] + more for bound in program.graph.notes.numbers}
        reading = Few(defined, program.layout, few.program.layout, numbers)
        comparison = Comparison(few, defined, reading, program.setting if numbers else None)
        if not numbers or comparison.fits():
            break
    return comparison


def sentences_of(of: Theory) -> dict[str, str]:
    """The sentence of each claim, as a certificate has it: in one line."""
    return {claim.id: " ".join(claim.sentence.split()) for claim in of.claims}


def remarks(of: DefinedSystem) -> dict[str, list[str]]:
    """What the index of a definition says beside its claims: what is left out, and what is about nothing, by Z3."""
    asked = Obligations(of, _by_z3)
    asked.remarks()
    assert not asked.wrong, asked.wrong
    return {"left_out": sorted(asked.left_out), "of_nothing": sorted(asked.of_nothing)}


def _by_z3(text: str, names: list[str]) -> list[str]:
    context = z3.Context()
    return str(z3.Z3_eval_smtlib2_string(context.ref(), f"(set-option :timeout {PATIENCE})\n{text}")).split()


def differences(
    of: Theory, words: Mapping[str, Any], folder: Path, seed: int, few: Sequence[Theory] = ()
) -> tuple[list[str], list[str], str]:
    """The differences of a certificate, its definitions that are written otherwise, and what was compared.

    Raises:
        NoCertificate: for a text that `check.py` would refuse.
    """
    text, listed = (read_bytes(folder / name, MAX_JSON_BYTES).decode() for name in ("system.vmt", "index.json"))
    index = index_of(listed)
    defined, claims = DefinedSystem(text), sentences_of(of)
    found = [f"index.json: {key} is {index[key]}, not {word}" for key, word in words.items() if index[key] != word]
    names = [kind.action.name for kind in of.program.kinds]
    found += [f"action {name} is not in both" for name in sorted({*names} ^ {*defined.actions})]
    found += [f"index.json: the sentence of {name} is {sentence!r}, not {claims.get(name)!r}"
              for name, sentence in index["sentences"].items() if claims.get(name) != sentence]  # fmt: skip
    found += ["index.json has other claims"] * ({*index["sentences"]} != {*defined.invariants, *defined.steps})
    fields = [WORD + of.program.graph.variables[term.value] for term in of.program.state]
    found += ["the state has other fields"] * (fields != [*defined.next][: len(fields)])
    if found:
        return found, [], ""
    compared, said = _compared(of, defined, seed, few or [of])
    own = DefinedSystem(definition(of, defined.invariants, defined.steps))
    found = [f"index.json: {key} is {index[key]}, not {names}" for key, names in remarks(own).items()
             if sorted(index[key]) != names]  # fmt: skip
    found += [f"{action}: a step leaves a domain where no cap is declared, and is left out in system.vmt"
              for action in Witnesses(of).leaving(defined.invariants, time.monotonic)]  # fmt: skip
    return [*found, *compared.values()], _redefined(defined, own), said
