"""Proofs of goals part by part, each from few premises, after what a step is proven to leave as it is.

A part that no choice of premises proves soon is cut into cases, and these once more;
only what is not cut any more has all the time that there is.
Each part has a solver of its own: what one that has read other parts knows besides makes it slower.

A rule may compute anew what the step cannot change: who leads after an ISR was altered is elected again, and is who
led. Where a prover knows that, all that depends on it is as it was.
"""

from __future__ import annotations

import functools
import math
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.smt.queries import BOUND, PREMISE, PROVEN, UNDECIDED, Effort, Premises, Questions, SolverAnswer
from kraftcheck.solvers.smt.reading.goals.truths import (
    Conjuncts,
    Equal,
    consequences,
    flattened,
    holds_always,
    joined,
    of_every,
    once,
    replaced,
)
from kraftcheck.solvers.smt.reading.quantified.engine import GUARD, QuantifiedEngine
from kraftcheck.solvers.smt.z3terms import Substitution

FRAME_RESOURCES = 5_000_000  # what Z3 may do to prove that a word stays: it only saves time


@frozen
class Frame:
    """The words that a step leaves as they are."""

    facts: Sequence[Equal] = ()  # each word after the step, and the word before it that is equal
    core: frozenset[str] = frozenset()  # the premises that their proofs used


def frame_of(questions: Questions, action: str, assumed: Sequence[str]) -> Frame:
    """The words that a step of an action leaves as they are.

    Args:
        assumed: the invariants that are assumed before the step.
    """
    program = questions.subject.program
    premises = questions.premises(action, assumed)
    facts, core = list[Equal](), set[str]()
    for before, after in zip(program.state, questions.after(action), strict=True):
        if before is after or "sequence" in (before.op, after.op) or after.op == "const":
            continue
        stays = program.graph.lift(program.graph.apply("eq", after, before))
        answer = QuantifiedEngine(premises, Effort(resources=FRAME_RESOURCES)).refute([stays])
        if answer.result == PROVEN:
            facts.append((after, before))
            core.update(answer.core)
    return Frame(facts, frozenset(core))


MOST_ROUNDS = 6  # how often a truth is gone through; one that is not simplest by then is as true


def simplified(substitution: Substitution, truth: Term, facts: Sequence[Equal] = ()) -> Term:
    """A truth that is as true as another where some facts hold."""
    for fact in facts:  # one after another: what a later one speaks of is what an earlier one has left
        truth = replaced(substitution, truth, [fact])
    for _ in range(MOST_ROUNDS):
        before, truth = truth, _round(substitution, truth)
        if truth is before:
            break
    return truth


def _round(substitution: Substitution, truth: Term) -> Term:
    if truth.op == "every":
        body = _round(substitution, truth.args[1])
        return truth if body is truth.args[1] else of_every(substitution, truth, body)
    return _disjunction(substitution, truth) if truth.op == "or" else truth


def _disjunction(substitution: Substitution, truth: Term) -> Term:
    disjuncts = flattened(truth, "or")
    before = [*disjuncts]
    for place in range(len(disjuncts)):
        others = [one for at, one in enumerate(disjuncts) if at != place]
        facts = [fact for other in others for fact in consequences(other, False)]
        disjuncts[place] = _round(substitution, replaced(substitution, disjuncts[place], facts))
        if holds_always(disjuncts[place]):
            return disjuncts[place]
    if all(one is other for one, other in zip(before, disjuncts, strict=True)):
        return truth
    return joined(truth.graph, "or", disjuncts)


DEEPEST = 2  # conditions one after another by which a goal is cut


@define
class Cases:
    """Cuts goals of one graph into cases."""

    substitution: Substitution  # knows which terms depend on a bound place
    conjuncts: Conjuncts  # of truths of the graph

    def by_place(self, truth: Term, asked: frozenset[tuple[int, int]] = frozenset()) -> list[Term]:
        """Truths that all hold just where a goal does: of each place that a word of the step names, and of the others.

        Args:
            asked: pairs of a bound place and a word, by their numbers, that are told apart already.
        """
        if truth.op == "and":
            return once(case for part in truth.args for case in self.by_place(part, asked))
        if truth.op == "or":
            return self._of_disjunction(truth, asked)
        if truth.op != "every":
            return once([truth])
        place, body = truth.args
        if (comparison := self._comparison(place, body, asked)) is None:
            return once(of_every(self.substitution, truth, case) for case in self.by_place(body, asked))
        word = next(arg for arg in comparison.args if arg is not place)
        there = self.conjuncts.of(self._at(truth, word))
        body_elsewhere = replaced(self.substitution, body, consequences(comparison, False))
        elsewhere = of_every(self.substitution, truth, joined(truth.graph, "or", [comparison, body_elsewhere]))
        further = self.by_place(elsewhere, asked | {(place.index, word.index)})
        return once([*(case for part in there for case in self.by_place(part, asked)), *further])

    def _at(self, claim: Term, word: Term) -> Term:
        """A claim about every place of a word, where that is a place."""
        graph, there = claim.graph, self.substitution.at(claim, word)
        return joined(graph, "or", [graph.lift(word < 0), there])

    def _of_disjunction(self, truth: Term, asked: frozenset[tuple[int, int]]) -> list[Term]:
        """The cases of the one disjunct that has any; a disjunction of several with cases is left as it is."""
        disjuncts = flattened(truth, "or")
        cases = [self.by_place(one, asked) for one in disjuncts]
        if any(not some for some in cases):
            return []
        if sum(len(some) > 1 for some in cases) > 1:
            return [truth]
        many = max(range(len(cases)), key=lambda at: len(cases[at]))
        rest = [some[0] for at, some in enumerate(cases) if at != many]
        return once(joined(truth.graph, "or", [*rest, case]) for case in cases[many])

    def _comparison(self, place: Term, body: Term, asked: frozenset[tuple[int, int]]) -> Term | None:
        """The first comparison of a bound place with a variable that is not asked yet; None: there is none."""
        found: dict[int, Term] = {}
        pending, seen = [body], set[int]()
        while pending:
            term = pending.pop()
            if term.index in seen or place.value not in self.substitution.free(term):
                continue
            seen.add(term.index)
            pending.extend(term.args)
            if term.op == "eq" and any(arg is place for arg in term.args):
                found |= {arg.index: term for arg in term.args
                          if arg.op == "var" and (place.index, arg.index) not in asked}  # fmt: skip
        return found[min(found)] if found else None

    def by_condition(self, truth: Term, deepest: int = DEEPEST) -> list[Term]:
        """Truths that all hold just where a goal does: one for each choice of conditions without a free place."""
        condition = self._condition(truth) if deepest else None
        if condition is None:
            return once([truth])
        graph, cases = truth.graph, list[Term]()
        for holds, denial in ((True, graph.lift(graph.negate(condition))), (False, condition)):
            chosen = simplified(self.substitution, replaced(self.substitution, truth, consequences(condition, holds)))
            case = simplified(self.substitution, graph.lift(graph.apply("or", denial, chosen)))
            cases += self.by_condition(case, deepest - 1)
        return once(cases)

    def _condition(self, truth: Term) -> Term | None:
        """The outermost condition without a free place by which a part of a truth is chosen; None: there is none."""
        pending, seen = deque([truth]), set[int]()
        while pending:
            term = pending.popleft()
            if term.index in seen:
                continue
            seen.add(term.index)
            if term.op == "ite" and not self.substitution.free(term.args[0]):
                return term.args[0]
            pending.extend(term.args)
        return None


MOST_TIMES = 3  # how often conjuncts are made simpler, and taken apart


@define
class Parts:
    """Finds the parts of truths of one graph, where some facts hold."""

    substitution: Substitution  # knows which terms depend on a bound place
    facts: Sequence[Equal] = ()  # what holds wherever a truth is asked
    _conjuncts: Conjuncts = field(init=False)
    _memo: dict[int, list[Term]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._conjuncts = Conjuncts(self.substitution)

    def of(self, truth: Term) -> list[Term]:
        """The parts of a truth; none where it always holds."""
        if truth.index not in self._memo:
            parts = [truth]
            for _ in range(MOST_TIMES):
                before, parts = parts, once(part for one in parts for part in self._conjuncts_of(one))
                if len(before) == len(parts) and all(one is other for one, other in zip(before, parts, strict=True)):
                    break
            self._memo[truth.index] = parts
        return self._memo[truth.index]

    def _conjuncts_of(self, truth: Term) -> list[Term]:
        return self._conjuncts.of(simplified(self.substitution, truth, self.facts))

    def of_all(self, truths: Iterable[Term]) -> list[Term]:
        """The parts of some truths, each once."""
        return once(part for truth in truths for part in self.of(truth))


STEP = "lemma about the step: "  # group of the premises that are proven of the step
CHOSEN = (PREMISE, BOUND, STEP)  # groups of the premises of which a proof may leave out any
CLAIMS = (PREMISE, STEP)  # those of which a proof may leave out parts


@define
class PremiseParts:
    """Takes the premises of one theory apart."""

    parts: Parts  # of its truths
    read: Callable[[Term], Any]  # how Z3 reads a term
    _claims: dict[str, str] = field(factory=dict)

    def of(self, premises: Premises) -> Premises:
        """Premises with each part of an invariant under a name of its own."""
        terms = dict[str, Term]()
        for name, term in premises.terms.items():
            terms |= self._of_claim(name, term) if name.startswith(CLAIMS) else {name: term}
        others = {name: truth for name, truth in premises.truths.items() if not name.startswith(CLAIMS)}
        return evolve(premises, terms=terms, truths={name: self.read(term) for name, term in terms.items()} | others)

    def _of_claim(self, name: str, term: Term) -> dict[str, Term]:
        parts = {f"{name}, part {number}": part for number, part in enumerate(self.parts.of(term))}
        self._claims |= dict.fromkeys(parts, name)
        return parts

    def whole(self, name: str) -> str:
        """The premise that one is, or is a part of."""
        return self._claims.get(name, name)


def chosen(premises: Premises, names: Collection[str]) -> Premises:
    """Premises with no other invariants and bounds than those with some names."""

    def kept(name: str) -> bool:
        return name in names or not name.startswith(CHOSEN)

    truths = {name: truth for name, truth in premises.truths.items() if kept(name)}
    return evolve(premises, truths=truths, terms={name: term for name, term in premises.terms.items() if kept(name)})


LENGTH = 0.7  # power of its weight by which a premise is divided: a long one shares more terms with anything


@define(slots=False)
class Relevance:
    """Ranks premises for goals."""

    premises: Premises  # all of them, in parts
    whole: Callable[[str], str]  # the name of the premise that one is, or is a part of
    _terms: dict[int, frozenset[int]] = field(factory=dict)

    def most(self, premises: Premises, part: Term, count: int) -> Premises:
        """Premises with so many parts of each invariant, those most relevant to a part of a goal, and all the rest."""
        parts: dict[str, list[str]] = {}
        for name in premises.terms:
            parts.setdefault(self.whole(name), []).append(name)
        left_out = {
            name for names in parts.values() if len(names) > count
            for name in sorted(names, key=lambda name: self._score(name, part))[:-count]
        }  # fmt: skip
        return chosen(premises, {*premises.truths} - left_out)

    def _score(self, name: str, part: Term) -> float:
        """How relevant a premise is to a part of a goal; the larger, the more."""
        terms = self._terms_of(self.premises.terms[name])
        shared = terms & self._terms_of(part)
        weights = self._weights
        return sum(weights[term] for term in sorted(shared)) / self._lengths[name]

    @functools.cached_property
    def _weights(self) -> Mapping[int, float]:
        count = Counter(term for premise in self.premises.terms.values() for term in self._terms_of(premise))
        return {term: math.log(1 + len(self.premises.terms) / often) for term, often in count.items()}

    @functools.cached_property
    def _lengths(self) -> Mapping[str, float]:
        weights = self._weights
        lengths = {name: sum(weights[term] for term in sorted(self._terms_of(premise)))
                   for name, premise in self.premises.terms.items()}  # fmt: skip
        return {name: length**LENGTH or 1.0 for name, length in lengths.items()}

    def _terms_of(self, truth: Term) -> frozenset[int]:
        if truth.index not in self._terms:
            self._terms[truth.index] = frozenset(n.index for n in closure([truth]) if n.op not in ("const", "bound"))
        return self._terms[truth.index]


LIGHT, MEDIUM, HEAVY = 2_000_000, 25_000_000, 50_000_000
"""What Z3 may do for a part from each choice of premises.

Most parts that are proven at all need less than the least; so more choices are better than more time for one.
"""


@frozen
class Attempt:
    """How a part is asked."""

    resources: int  # what Z3 may do
    seed: int  # of its choices
    choices: int | None  # of premises, so many of the first; None: all


SOON = (Attempt(LIGHT, 0, 10),)
LONGER = (Attempt(MEDIUM, 0, 8),)
LAST = (Attempt(LIGHT, 0, None), Attempt(MEDIUM, 0, None), Attempt(MEDIUM, 1, 6), Attempt(HEAVY, 0, None))
"""How every part is asked, one that has been cut, and one that cannot be cut any more.

Where much is to be done, one seed in three finds nothing in time: then others are tried.
"""

CUTS = 5  # a part is cut by conditions, its cases by places, and these in turn once more
RELEVANT = (4, 10)  # so many parts of each invariant are assumed first, and then
GROUPS = 3  # choices of premises that are asked with few parts of each invariant
FAILURES = 2  # so often in a row it may be in vain that parts that are cut so often are asked for longer


@define(slots=False)
class GoalProof:
    """Proves goals of one action."""

    substitution: Substitution  # of the graph of the goals
    # premises in parts, those to try first first; all of them have the guards of the action
    choices: tuple[Premises, ...]
    premises: PremiseParts  # knows whose parts they are
    effort: Effort  # of each query
    frame: Frame  # what the step leaves as it is
    _used: set[str] = field(factory=set)
    _last: tuple[str, ...] = ()
    _failures: dict[int, int] = field(factory=dict)

    @functools.cached_property
    def _cases(self) -> Cases:
        return Cases(self.substitution, Conjuncts(self.substitution))

    @functools.cached_property
    def _parts(self) -> Parts:
        return Parts(self.substitution, guard_facts(self.choices[0].terms))

    def parts(self, goals: Sequence[Term]) -> list[Term]:
        """Truths that all hold just where some goals do, after a step that has the guards and the frame."""
        framed = (simplified(self.substitution, goal, self.frame.facts) for goal in goals)
        return self._parts.of_all(framed)

    def cut(self, part: Term, cuts: int) -> list[Term]:
        """The cases of a part that was cut some times."""
        return self._parts.of_all(self._cases.by_place(part) if cuts % 2 else self._cases.by_condition(part))

    def answer(self, goals: Sequence[Term]) -> SolverAnswer:
        """The answer to whether some goals hold: proven if all their parts are."""
        answer = self._of_all(self.parts(goals), 0)
        guards = (name for name in self.choices[0].terms if name.startswith(GUARD))
        core = {*self.frame.core, *guards, *map(self.premises.whole, answer.core)} if answer.result == PROVEN else ()
        return evolve(answer, core=tuple(sorted(core)))

    def _of_all(self, parts: Sequence[Term], cuts: int) -> SolverAnswer:
        """The answer to some parts: what has proven the easy ones is tried for the others."""
        core, hard = set[str](), list[Term]()
        for part in parts:
            answer = self._from_any(part, SOON)
            core.update(answer.core)
            if answer.result != PROVEN:
                hard.append(part)
        for part in hard:
            answer = self._of_part(part, cuts)
            if answer.result != PROVEN:
                return answer
            core.update(answer.core)
        return SolverAnswer(PROVEN, core=tuple(core))

    def _of_part(self, part: Term, cuts: int) -> SolverAnswer:
        """The answer to a part that was not proven soon."""
        if (answer := self._for_longer(part, cuts)).result == PROVEN:
            return answer
        for done in range(cuts, CUTS):
            cases = self.cut(part, done)
            if len(cases) != 1 or cases[0] is not part:
                return self._of_all(cases, done + 1)
        return self._from_any(part, LAST)

    def _for_longer(self, part: Term, cuts: int) -> SolverAnswer:
        """The answer to a part that was cut some times, unless too many of these were asked in vain."""
        if self._failures.get(cuts, 0) == FAILURES:
            return SolverAnswer(UNDECIDED)
        answer = self._from_any(part, LONGER)
        self._failures[cuts] = 0 if answer.result == PROVEN else self._failures.get(cuts, 0) + 1
        return answer

    def _from_any(self, part: Term, attempts: Sequence[Attempt]) -> SolverAnswer:
        """The answer to a part from the first attempt, and the first choice of premises, that proves it."""
        answer = SolverAnswer(UNDECIDED)
        for attempt, premises in ((one, some) for one in attempts for some in self._tried(part, one)):
            effort = evolve(self.effort, resources=attempt.resources, seed=self.effort.seed + attempt.seed)
            answer = QuantifiedEngine(premises, effort).refute([part])
            if answer.result == PROVEN:
                self._last = answer.core
                self._used.update(name for name in answer.core if name.startswith(CHOSEN))
                break
        return answer

    def _tried(self, part: Term, attempt: Attempt) -> list[Premises]:
        """The choices of an attempt: first what has proven parts before; few parts of invariants if time is short."""
        every = self.choices[-1]
        last, used = ([chosen(every, names)] if names else [] for names in ({*self._last}, self._used))
        if attempt.resources > LIGHT:
            return _each_once([*used, *self.choices])[: attempt.choices]
        few = [self._relevance.most(some, part, count) for count in RELEVANT for some in self.choices[:GROUPS]]
        return _each_once([*last, *few, *used, *self.choices])[: attempt.choices]

    @functools.cached_property
    def _relevance(self) -> Relevance:
        return Relevance(self.choices[-1], self.premises.whole)


def _each_once(choices: Iterable[Premises]) -> list[Premises]:
    distinct = dict[frozenset[str], Premises]()
    for premises in choices:
        distinct.setdefault(frozenset(premises.truths), premises)
    return [*distinct.values()]


def guard_facts(terms: Mapping[str, Term]) -> list[Equal]:
    """The facts on a step by its guards, among named premises."""
    guards = (term for name, term in terms.items() if name.startswith(GUARD))
    return [fact for guard in guards for fact in consequences(guard, True)]
