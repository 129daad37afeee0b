"""Draws claims about every place of a sequence, and asks whether one obligation is proven by parts."""

import functools
import itertools
import random
from collections.abc import Iterator
from collections.abc import Sequence as Sequence_
from typing import Any

from attrs import frozen

from kraftcheck.model.language.sequences import Sequence, every
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import all_of, any_of, choose, negate
from kraftcheck.solvers.audit.numbers import Interpretation
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Obligation, Premises, Questions
from kraftcheck.solvers.smt.reading.goals.proof import Frame, GoalProof, Parts, PremiseParts
from kraftcheck.solvers.smt.z3terms import Substitution

PLACES = 3  # places of the sequence of drawn claims; words name one of them, or -1


@frozen
class Drawing:
    """Draws claims about one sequence of truths and two words."""

    # graph, dice: of the claims, and what chooses
    graph: Graph
    dice: random.Random
    # bits, words: what they speak of
    bits: Sequence
    words: tuple[Term, Term]

    def claim(self, depth: int, *places: Any) -> Any:
        """A claim that may depend on some places; parts that depend on none bind places of the same number."""
        if depth == 0:
            return self._atom(places)
        deeper = functools.partial(self.claim, depth - 1, *places)
        match self.dice.randrange(7):
            case 0 | 1:
                return every(self.graph, lambda place: self.claim(depth - 1, *places, place))
            case 2:
                return all_of(deeper(), deeper())
            case 3 | 4:
                return any_of(deeper(), deeper())
            case 5:
                return negate(deeper())
            case _:
                return choose(self.claim(depth - 1), deeper(), deeper())

    def _atom(self, places: Sequence_[Any]) -> Any:
        at = self.dice.choice([*places, self.dice.choice(self.words)])
        other = self.dice.choice([*self.words, self.dice.randrange(PLACES)])
        return self.dice.choice(
            [self.bits.at(at), at == other, self.bits.at(at), at == other, at < other, at + 1 == other]
        )


def drawing(seed: int) -> Drawing:
    """A drawing by a seed."""
    graph = Graph()
    words = graph.variable("first", -1, PLACES - 1), graph.variable("second", -1, PLACES - 1)
    return Drawing(graph, random.Random(seed), Sequence.of_state(graph, "bits", 0, 1, truths=True), words)


def interpretations(of: Drawing) -> Iterator[Interpretation]:
    """Every meaning of the two words, with random truths."""
    for first, second in itertools.product(range(-1, PLACES), repeat=2):
        bits = [of.dice.randrange(2) for _ in range(PLACES)]
        yield Interpretation(PLACES, {"bits": bits, "first": [first], "second": [second]})


def by_parts(questions: Questions, premises: Premises, effort: Effort, frame: Frame | None = None) -> GoalProof:
    """What proves goals of a theory from some premises, and what a step leaves as it is."""
    substitution = Substitution(questions.subject.program.graph)
    parts = PremiseParts(Parts(substitution), questions.read.expression)
    return GoalProof(substitution, (parts.of(premises),), parts, effort, frame or Frame())


def proves(questions: Questions, obligation: Obligation, premises: Premises, effort: Effort) -> bool:
    """Whether an obligation is proven from some premises."""
    return by_parts(questions, premises, effort).answer(questions.goals(obligation)).result == PROVEN
