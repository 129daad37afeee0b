"""What variants of `replication` refute with few brokers is not proven of any number of brokers and epochs."""

from collections.abc import Iterator, Sequence

import pytest
from attrs import evolve, frozen

from kraftcheck.ci.prove.broken import BoundedScope, BrokenProofRow, every_row, freed, held_before, places, refutations
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.terminal.machine import default_memory
from kraftcheck.model.language.terms import Term
from kraftcheck.model.systems.replication.settle import settle
from kraftcheck.model.systems.replication.system import unsettled_actions
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.verdicts import NOT_FOR_ANY
from kraftcheck.solvers.audit.numbers import Interpretation
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.program.verdict import Trace, TraceStep
from kraftcheck.solvers.smt.queries import Effort, Obligation, Questions
from kraftcheck.solvers.smt.reading.goals.prover import LONG, SHORT
from kraftcheck.solvers.smt.theory import Theory
from tests.solvers.smt.reading.goals.drawing import proves
from tests.solvers.smt.reading.worlds import lowest_setting, meaning, pinned

EFFORT = Effort(timeout=3)  # no answer in this time is no proof


@frozen
class Refuted:
    """A claim that a variant refutes with few brokers, by the last step of a run."""

    of: Theory  # the same rules for any number of brokers, records and epochs
    claim: str  # its id
    trace: Trace  # the run
    held: tuple[str, ...]  # the invariants that held until the last step
    at: Interpretation  # the last state before it and its arguments, as an interpretation of the theory

    @property
    def action(self) -> str:
        """The action of the last step."""
        return self.trace.steps[-1].action


def refuted(row: BrokenProofRow) -> Iterator[Refuted]:
    """The claims of a row, each with a run of the first place that has one."""
    remaining = [*row.claims]
    for place in places(row):
        few = ProofRequest("replication", place.scope, place.bounds, row.rules)
        settled = refutations(few, remaining, search_budget(1, default_memory()), quiet=True) if remaining else {}
        traces = {claim: unsettled(few, trace) for claim, trace in settled.items()}
        if traces:
            of = without_bounds(place, row.rules)
            yield from (_refuted(of, place, claim, trace) for claim, trace in traces.items())
        remaining = [claim for claim in remaining if claim not in traces]
    assert remaining == []


def unsettled(few: ProofRequest, trace: Trace) -> Trace:
    """The same run with all that is kept of past epochs where these have no bound."""
    at = subject("replication", few.scope, few.bounds, few.rules).setting
    actions, state, steps = {action.name: action for action in unsettled_actions(at)}, trace.initial, list[TraceStep]()
    for step in trace.steps:
        state = actions[step.action].outcome(state, step.arguments).state
        assert settle(state, at) == step.state
        steps.append(evolve(step, state=state))
    return evolve(trace, steps=tuple(steps))


def without_bounds(place: BoundedScope, rules: str) -> Theory:
    """The theory of any number of brokers, records and epochs, with the other bounds of a place."""
    bounds = {bound.name: bound for bound in SYSTEMS["replication"].bounds}
    kept = {name: n for name, n in place.bounds.items() if not bounds[name].freed_by}
    return ProofRequest("replication", place.scope, {**freed("replication", kept), "unbounded": 1}, rules).build()


def _refuted(of: Theory, place: BoundedScope, claim: str, trace: Trace) -> Refuted:
    last = trace.steps[-1]
    before = trace.steps[-2].state if len(trace.steps) > 1 else trace.initial
    count = max(len(before.brokers), len(before.leaders)) + 1
    at = meaning(of, settle(before, lowest_setting()), last.arguments, count)
    return Refuted(of, claim, trace, tuple(held_before(of, trace)), at)


def proven(one: Refuted, chosen: Sequence[str], *more: Term) -> bool:
    """Whether the last step is proven to keep the claim, with quantifiers, from some invariants and other truths."""
    questions = Questions(one.of)
    premises = questions.premises(one.action, chosen)
    added = {f"pinned {number}": term for number, term in enumerate(more)}
    truths = {name: questions.read.expression(term) for name, term in added.items()}
    more_premises = evolve(premises, terms={**premises.terms, **added}, truths={**premises.truths, **truths})
    return proves(questions, Obligation(one.claim, one.action), more_premises, EFFORT)


def false_there(one: Refuted) -> tuple[list[str], bool]:
    """What of the premises is false of the last step, and whether the claim is true after it."""
    premises = Questions(one.of).premises(one.action, one.held)
    (kind,) = (kind for kind in one.of.program.kinds if kind.action.name == one.action)
    wrong = [name for name, term in premises.terms.items() if not one.at.value(term)]
    return wrong, bool(one.at.value(one.of.step_truth(kind, one.claim)))


def asked_from(one: Refuted) -> list[list[str]]:
    """The invariants that hold and are short, those that are not long, and all: as much as proofs are asked from."""
    sizes = {name: len(closure([truth])) for name, truth in one.of.state_truths().items()}
    return [[name for name in one.held if sizes[name] < most] for most in (SHORT, LONG, max(sizes.values()) + 1)]


ROWS = [row for row in every_row() if row.system == "replication" and ("replication", row.variant) not in NOT_FOR_ANY]


@pytest.mark.slow
def test_what_a_variant_refutes_is_not_proven_without_bounds() -> None:
    """A step that breaks a claim is one of any number of brokers, and not proven from its state; the right step is."""
    (row,) = (row for row in ROWS if row.variant == "fenced-may-join-isr")
    (one,) = refuted(row)
    assert false_there(one) == ([], False)
    assert not proven(one, [], pinned(one.of, one.at))
    right = without_bounds(BoundedScope("tiny"), "fixed")
    assert proven(evolve(one, of=right), [], pinned(right, one.at))


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.variant)
def test_no_variant_is_proven_without_bounds(row: BrokenProofRow) -> None:
    """The same of every variant and claim, from three choices of premises, and from the state before the step."""
    for one in refuted(row):
        assert false_there(one) == ([], False), one.claim
        assert [chosen for chosen in asked_from(one) if proven(one, chosen)] == [], one.claim
        assert not proven(one, [], pinned(one.of, one.at)), one.claim
