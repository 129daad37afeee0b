"""What is assumed of each step of `replication` without any bound, and steps that instances do not prove."""

import functools
import itertools
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pytest
from attrs import evolve, frozen

from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.systems.subject import Subject, subject
from kraftcheck.model.language.anynumber import each_record
from kraftcheck.model.language.layout import Slot
from kraftcheck.model.language.system import ANY, Property, Setting
from kraftcheck.model.language.words import negate
from kraftcheck.model.systems.replication.settle import settle
from kraftcheck.model.systems.replication.state import Replication
from kraftcheck.model.systems.replication.system import unsettled_actions
from kraftcheck.properties.kinds import always
from kraftcheck.solvers.audit.numbers import Interpretation
from kraftcheck.solvers.program.program import Kind
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Obligation, Questions
from kraftcheck.solvers.smt.theory import DOMAINS, Theory, theory
from kraftcheck.solvers.smt.worker import proof_worker
from tests.shared.samples import one_in
from tests.solvers.smt.reading.worlds import lowest_setting, meaning, places_of

BROKERS, EPOCHS, COUNT = 3, 2, 4
"""Of the explored states, and places of each sequence: one broker never registers, one epoch is yet to come."""

BOUNDS = {"brokers": BROKERS, "replication": BROKERS, "epochs": EPOCHS, "records": 2, "clean-stops": 1}

STEPS = 25  # how long a run is


@frozen
class Taken:
    """A step of the explorer: what was before, by which action with which arguments, and what is after."""

    before: Replication
    action: str
    arguments: Mapping[str, int]
    after: Replication

    def interest(self) -> int:
        """How much of what claims are about there is before the step."""
        s = self.before
        led = sum(bool(s.leads(n, b)) for n, b in enumerate(s.brokers))
        there = (
            s.committed.end() > 0, s.acknowledged > 0, s.leader_epoch > 0, s.controller.elr.mask > 0, led > 1,
            s.request.isr.mask > 0, any(b.proposed.mask for b in s.brokers), any(b.status == 2 for b in s.brokers),
            any(max(b.ends) >= 0 for b in s.brokers), any(b.epoch < s.leader_epoch for b in s.brokers),
        )  # fmt: skip
        return sum(there)


def taken(of: Subject, lowest: Setting, dice: random.Random) -> Iterator[Taken]:
    """The steps of a run of random steps, each action as likely as any other that is possible."""
    state: Any = dice.choice(of.system.initial(of.setting))
    for _ in range(STEPS):
        offered = ((action, _arguments(action.parameters)) for action in unsettled_actions(of.setting))
        possible = [(action, [one for one in each if action.enabled(state, one)]) for action, each in offered]
        action, choices = dice.choice([(action, each) for action, each in possible if each])
        arguments = dice.choice(choices)
        after = action.outcome(state, arguments).state
        if after.leader_epoch > EPOCHS:
            return
        yield Taken(settle(state, lowest), action.name, arguments, settle(after, lowest))
        state = after


def _arguments(parameters: Mapping[str, Sequence[int]]) -> list[dict[str, int]]:
    return [dict(zip(parameters, values, strict=True)) for values in itertools.product(*parameters.values())]


@functools.cache
def most_of_each(runs: int, each: int) -> Mapping[str, list[Taken]]:
    """Of each action the steps of many runs that change something, and of these those before which there is most."""
    few, lowest = subject("replication", "tiny", BOUNDS, "fixed"), lowest_setting()
    dice, by_action = random.Random(9), dict[str, list[Taken]]()
    for one in itertools.chain.from_iterable(taken(few, lowest, dice) for _ in range(runs)):
        by_action.setdefault(one.action, []).append(one)
    most = partial(sorted, key=lambda one: (one.after != one.before, one.interest()), reverse=True)
    return {name: most(steps)[:each] for name, steps in by_action.items()}


def false_of(of: Theory, step: Taken, names: Sequence[str] = ()) -> list[str]:
    """What of all that is assumed of an action is false of a step: of its invariants some, or all."""
    (kind,) = (one for one in of.program.kinds if one.action.name == step.action)
    at = meaning(of, step.before, step.arguments, COUNT)
    premises = Questions(of).premises(step.action, names or [claim.id for claim in of.invariants])
    wrong = [name for name, term in premises.terms.items() if not at.value(term)]
    return wrong + outside(of, at) + otherwise(of, kind, at, meaning(of, step.after, {}, COUNT))


def outside(of: Theory, at: Interpretation) -> list[str]:
    """The fields that are not in their domain."""
    slots = {slot.path: slot.domain for slot in of.program.layout.slots}
    return [f"domain: {path}" for path, domain in slots.items()
            if not all(domain.lo <= int(word) <= domain.hi for word in _flat(at.words[path]))]  # fmt: skip


def _flat(held: Any) -> list[Any]:
    return [word for one in held for word in _flat(one)] if isinstance(held, list) else [held]


def otherwise(of: Theory, kind: Kind, before: Interpretation, after: Interpretation) -> list[str]:
    """The fields that the effect, as it is read for provers, makes other than the step has them."""
    slots = zip(of.program.layout.slots, kind.after, strict=True)
    return [f"effect: {slot.path}" for slot, term in slots
            if any(before.value(term, dict(enumerate(at))) != word for at, word in said_of(slot, after))]  # fmt: skip


def said_of(slot: Slot, after: Interpretation) -> Iterator[tuple[tuple[int, ...], int]]:
    """The words of a field by place; of a log those of its records, for from its end on it says nothing."""
    held, places = after.words[slot.path], places_of(slot.domain)
    for at in itertools.product(range(after.count), repeat=places):
        word = functools.reduce(lambda row, place: row[place], at, held) if at else held[0]
        if not slot.path.endswith("entries") or word:
            yield at, int(word)


def endless(*more: Property) -> Theory:
    """The theory of any number of brokers, records and epochs, with more lemmas."""
    of = subject("replication", "tiny", {"brokers": ANY, "unbounded": 1}, "fixed", proof=True)
    lemmas = of.system.lemmas
    return theory(evolve(of.system, lemmas=lambda setting: (*lemmas(setting), *more)), of.setting)


ACTIONS = (
    "produce", "produce_acks_1", "fetch", "apply_metadata", "propose_expand", "propose_shrink", "receive_answer",
    "alter_partition", "fence", "unfence", "register", "elect_preferred", "crash", "shut_down", "stop",
)  # fmt: skip


def test_what_is_assumed_of_each_step_holds_in_steps_that_are_taken() -> None:
    """All premises of each action hold together in steps with much under way, and its effect is theirs."""
    of, steps = endless(), most_of_each(25, 2)
    assert {*steps} == {kind.action.name for kind in of.program.kinds}
    assert min(each[0].interest() for each in steps.values()) >= 3
    assert {(one.action, name) for each in steps.values() for one in each for name in false_of(of, one)} == set()


def denied(of: Theory, brokers: int) -> list[str]:
    """What is said of the initial states of any number that is false of one of so many, unread history forgotten."""
    forgets = subject("replication", "tiny", {"config-changes": 1}, "fixed").setting
    bounds = [{**BOUNDS, "brokers": brokers, "replication": factor, "min-isr": minimum}
              for factor in range(1, brokers + 1) for minimum in range(1, factor + 1)]  # fmt: skip
    settings = [subject("replication", "tiny", each, "fixed") for each in bounds]
    states = [state for few in settings for state in few.system.initial(few.setting)]
    assert len(states) == len(bounds)
    read = [meaning(of, settle(state, forgets), {}, COUNT) for state in states]
    return [name for name, term in of.program.initially.items() if not all(at.value(term) for at in read)]


@pytest.mark.parametrize("brokers", [2, 3])
def test_initial_states_of_few_are_initial_for_any_number(brokers: int) -> None:
    """All that is said of the initial states of any number is true of each of few."""
    assert denied(endless(), brokers) == []


@pytest.mark.slow
@pytest.mark.parametrize("action", ACTIONS)
def test_what_is_assumed_of_a_step_holds_in_many(action: str) -> None:
    """The same of a hundred steps of each action."""
    of, steps = endless(), most_of_each(400, 100)[action]
    assert len(steps) == 100
    assert {name for step in steps for name in false_of(of, step)} == set()


CONTRADICTORY = {
    "the first epoch never ends": lambda s: s.leader_epoch == 0,
    "nothing is committed": lambda s: s.committed.end() == 0,
    "who leads waits for nothing": lambda s: each_record(s.brokers, lambda _, b: negate(b.pending())),
}


@pytest.mark.parametrize("name", one_in(3, CONTRADICTORY))
def test_a_lemma_that_excludes_what_happens_is_named(name: str) -> None:
    """A lemma that is true at first, and excludes steps that are taken, is false in one of them, and only it is."""
    of = endless(always("lemma-wrong", name, CONTRADICTORY[name]))
    steps = [one for each in most_of_each(25, 2).values() for one in each]
    assert {name for one in steps for name in false_of(of, one, ["lemma-wrong"])} == {"invariant: lemma-wrong"}


EFFORT = Effort(timeout=600)  # some queries take minutes


REQUEST = ProofRequest("replication", "tiny", {"brokers": ANY, "unbounded": 1}, "fixed")

QUICK = (
    ("receive_answer", "lemma-leaders-hold-committed"),
    ("produce", "leader-complete"),
    ("alter_partition", "lemma-commits-are-applied"),
)
"""Steps and claims that take seconds, and rest on each other: of a commit, and of who has heard of it."""


@functools.cache
def unbounded() -> Theory:
    """The theory of any number of brokers, records and leader epochs."""
    return REQUEST.build()


def answers(action: str, claims: Sequence[str]) -> dict[str, str]:
    """The result of each claim of an action, asked with quantifiers as the command asks."""
    of = proof_worker(unbounded(), REQUEST.builders(), EFFORT, time.monotonic)
    asked = [Obligation(claim, action) for claim in claims]
    return {one.obligation.claim: one.result for one in of.answer(asked, [one.id for one in unbounded().invariants])}


@pytest.mark.xdist_group("unbounded-steps")
@pytest.mark.parametrize("step", one_in(3, QUICK), ids="-".join)
def test_a_claim_is_kept_without_any_bound(step: tuple[str, str]) -> None:
    """The claim is proven of the step."""
    action, claim = step
    assert answers(action, [claim]) == {claim: PROVEN}


@pytest.mark.xdist_group("unbounded-steps")
@pytest.mark.slow
@pytest.mark.parametrize("action", ACTIONS)
def test_every_claim_is_kept_without_any_bound(action: str) -> None:
    """All claims are proven of each action."""
    claims = [claim.id for claim in unbounded().claims]
    assert answers(action, claims) == dict.fromkeys(claims, PROVEN)


@pytest.mark.xdist_group("unbounded-steps")
@pytest.mark.parametrize("action", one_in(len(ACTIONS), ACTIONS))
def test_no_field_leaves_its_domain_without_any_bound(action: str) -> None:
    """A worker proves that no field leaves its domain under the action, from short invariants."""
    of = proof_worker(unbounded(), REQUEST.builders(), EFFORT, time.monotonic)
    assumed = [one.id for one in unbounded().invariants]
    (answer,) = of.answer([Obligation(DOMAINS[0], action)], assumed)
    assert (answer.result, answer.fields, answer.faults) == (PROVEN, (), ())


@pytest.mark.xdist_group("unbounded-steps")
def test_few_brokers_have_records_to_order() -> None:
    """Where records have no bound, each of few brokers has a log of two; where the scope bounds them, as it says."""
    bounded = ProofRequest("replication", "tiny", {"brokers": ANY, "epochs": 1}, "fixed")
    paths = [[slot.path for slot in of.few().program.layout.slots] for of in (REQUEST, bounded)]
    logs = [[path for path in some if path.startswith("brokers[2].log[")] for some in paths]
    assert logs == [["brokers[2].log[0]", "brokers[2].log[1]"], ["brokers[2].log[0]"]]


@pytest.mark.xdist_group("unbounded-steps")
def test_two_brokers_without_bounds_are_asked_too() -> None:
    """Where any number frees nothing else, few are asked alone; here two brokers without bounds as well."""
    assert [build().endless for build in REQUEST.builders()] == [False, True]
    bounded = ProofRequest("replication", "tiny", {"brokers": ANY, "epochs": 1}, "fixed")
    assert [build().endless for build in bounded.builders()] == [False]
    assert ProofRequest("replication", "tiny", {}, "fixed").builders() == []
