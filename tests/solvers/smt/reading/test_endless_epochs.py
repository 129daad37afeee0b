"""Leader epochs without bound: what is kept of each means what it does in tuples, and proofs about it can fail."""

import functools
import time
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kraftcheck.ci.prove.broken import BrokenProofRow, rows
from kraftcheck.ci.prove.question import run_proof
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.model.language.layout import counter, endless, filled
from kraftcheck.model.language.sequences import Sequence, every, word_at
from kraftcheck.model.language.system import Action, System
from kraftcheck.model.language.terms import Graph, Term, Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, choose
from kraftcheck.model.systems.replication.log import kept_at, last_kept, of_each, rewritten
from kraftcheck.model.systems.replication.state import RUNNING, STOPPED_CLEAN, Replication
from kraftcheck.properties.kinds import always
from kraftcheck.properties.replication.lemmas_commits import nothing_after
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.instances import Instances, Sorts
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Obligation, Questions
from kraftcheck.solvers.smt.reading.z3_endless import EndlessEngine
from kraftcheck.solvers.smt.theory import INITIATION, Theory, theory
from kraftcheck.solvers.smt.worker import SolverSession
from kraftcheck.solvers.smt.z3terms import Substitution, Z3Reader
from tests.shared.replication import BROKERS, ids, start, with_controller
from tests.solvers.smt.asking import premises_of
from tests.solvers.smt.test_bounds import subject

EFFORT = Effort(timeout=60)
NEWEST = 3  # the newest epoch of the histories that are compared

BUDGETS = {"unclean-stops": 2, "clean-stops": 1, "unclean-elections": 1, "fences": 2}

histories = st.tuples(*(st.integers(NO_LEADER, 2) for _ in range(NEWEST + 1)))


def said(words: tuple[int, ...], goal: Callable[[Any], Any]) -> bool:
    """Whether Z3 proves a goal of an endless history that begins with these words."""
    graph = Graph()
    history = Sequence.of_state(graph, "kept", NO_LEADER, 2)
    assert history.symbol is not None
    holds = {f"epoch {epoch}": graph.lift(history.at(epoch) == word) for epoch, word in enumerate(words)}
    read = Z3Reader()
    given_ = premises_of(read, (history.symbol,), holds)
    return EndlessEngine(given_, EFFORT, read, time.monotonic).refute([graph.lift(goal(history))]).result == PROVEN


def _below(history: Any, epoch: int, leader: int) -> Truth:
    """Whether all epochs up to one have leaders up to a number."""
    return all_of(*(of_each(history, lambda e, word: (e > epoch) | (word <= leader)).values()))


RULES: dict[str, Callable[[Any, int, int], Any]] = {
    "kept_at": lambda kept, epoch, leader: kept_at(kept, epoch, 7),
    "none before the first": lambda kept, epoch, leader: kept_at(kept, -1 - leader, 7),
    "rewritten": lambda kept, epoch, leader: kept_at(
        rewritten(kept, lambda e, old: choose(e == epoch, leader, old)), leader, 7),
    "last_kept": lambda kept, epoch, leader: last_kept(kept, lambda word: word == leader, epoch),
    "last_kept, rewritten": lambda kept, epoch, leader: last_kept(
        rewritten(kept, lambda e, old: choose(e == leader, 2, old)), lambda word: word == 2, epoch),
    "of_each": _below,
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=8)
@example(words=(NO_LEADER,) * (NEWEST + 1), epoch=NEWEST, leader=1)
@example(words=(1, 1, 1, 1), epoch=0, leader=1)
@given(words=histories, epoch=st.integers(0, NEWEST), leader=st.integers(0, 2))
def test_endless_histories_mean_what_tuples_do(name: str, words: tuple[int, ...], epoch: int, leader: int) -> None:
    """What is read of an endless history is what is read of a tuple, and no other value is proven."""
    wanted = RULES[name](words, epoch, leader)
    assert said(words, lambda kept: RULES[name](kept, epoch, leader) == wanted)
    wrong = (not wanted) if isinstance(wanted, bool) else wanted + 1
    assert not said(words, lambda kept: RULES[name](kept, epoch, leader) == wrong)


def test_a_claim_of_every_place_is_taken_apart() -> None:
    """That a conjunction holds everywhere is said of each conjunct by itself."""
    graph = Graph()
    sequence = Sequence.of_state(graph, "one", 0, 7)
    both = every(graph, lambda at: all_of(sequence.at(at) > 1, sequence.at(at) < 5))
    assert isinstance(both, Term)
    assert [part.op for part in both.args] == ["every", "every"]


def test_initially_only_the_first_epoch_has_a_leader() -> None:
    """Of initial states it is known that broker 0 leads epoch 0 and nobody any other."""
    of = subject()
    graph, names = of.program.graph, [slot.path for slot in of.program.layout.slots]
    symbol = of.program.state[names.index("leaders")]
    questions = Questions(of)
    premises = questions.premises(INITIATION, ())

    def shown(claim: Callable[[Word], Truth]) -> bool:
        engine = EndlessEngine(premises, EFFORT, questions.read, time.monotonic)
        return engine.refute([graph.lift(every(graph, claim))]).result == PROVEN

    assert shown(lambda epoch: word_at(symbol, epoch) == choose(epoch == 0, 0, NO_LEADER))
    assert not shown(lambda epoch: word_at(symbol, epoch) == NO_LEADER)


@frozen
class Tape:
    """A place that moves on, and what was written where it has been."""

    at: Any
    written: Any


def tape(word: int, first: int = 0, rest: int = 0) -> System:
    """A toy that adds a number to the word at each place it comes to; words are at most 3."""

    def write(state: Tape) -> Tape:
        return Tape(state.at + 1, rewritten(state.written, lambda at, old: choose(at == state.at, old + word, old)))

    def blank_ahead(state: Tape) -> Truth:
        return all_of(*of_each(state.written, lambda at, found: (at < state.at) | (found == 0)).values())

    return System(
        name="tape", summary="writes", initial=lambda _: [Tape(0, filled(first, rest))],
        actions=lambda _: [Action("write", write, lambda state: True)], layout=lambda _: Tape(counter(), endless(0, 3)),
        properties=lambda _: [always("blank-ahead", "nothing is written ahead", blank_ahead)],
    )  # fmt: skip


@pytest.mark.parametrize(("first", "rest"), [(4, 0), (0, 4)])
def test_a_sequence_that_begins_outside_its_domain_is_named(first: int, rest: int) -> None:
    """An initial state whose sequence holds a word outside its domain is refused, first word or rest."""
    system = tape(1, first, rest)
    with pytest.raises(SystemFault, match=r"written = 4 is outside its domain 0\.\.3"):
        theory(system, system.setting())


def _theory_of_tape(word: int) -> Theory:
    system = tape(word)
    return theory(system, system.setting())


@pytest.mark.parametrize(("word", "within"), [(3, True), (4, False)])
def test_words_of_sequences_stay_in_their_domain(word: int, within: bool) -> None:
    """That an effect writes no word beyond a sequence's domain is shown; where it does, nothing is proven."""
    found = prove(functools.partial(_theory_of_tape, word), effort=EFFORT, clock=time.monotonic)
    assert found.proven("blank-ahead") is within
    assert found.faults() == ([] if within else ["written"])


def test_logs_and_epochs_have_places_of_their_own() -> None:
    """Places at which one sequence is read are put into claims about sequences of their sort only."""
    graph = Graph()
    log, other, leaders = (Sequence.of_state(graph, name, 0, 7) for name in ("log", "other", "leaders"))
    alike = graph.lift(every(graph, lambda at: log.at(at) == other.at(at)))
    led = graph.lift(every(graph, lambda at: leaders.at(at) > 0))
    sorts = Sorts(Substitution(graph))
    assert sorts.of(alike) != sorts.of(led)
    at = graph.variable("offset", 0, 9)
    known = Instances(graph)
    known.require([alike, led, graph.lift(log.at(at) > 2)])
    told = [fact for fact in known.facts if any(node.op == "read" for node in closure([fact]))]
    assert {read.args[0].value for fact in told for read in closure([fact]) if read.op == "read"} == {
        sequence.symbol.value for sequence in (log, other) if sequence.symbol is not None
    }


def test_the_domains_of_histories_are_shown() -> None:
    """That leaders of epochs are brokers or nobody is an obligation, and proven."""
    of = subject()
    questions = Questions(of)
    assert "bound: leaders" in questions.bounds_of("alter_partition")
    premises = questions.premises("alter_partition", [claim.id for claim in of.invariants], within=False)
    session = SolverSession(questions, premises, EFFORT, time.monotonic)
    assert session.ask(Obligation("domains", "alter_partition")).result == PROVEN


@st.composite
def histories_with_brokers(draw: st.DrawFn) -> Replication:
    """A state with any leaders of past epochs, and brokers anywhere among them; none of them can commit anything."""
    state, newest = start(), draw(st.integers(0, 5))
    someone = st.integers(NO_LEADER, BROKERS - 1)
    leaders = tuple(draw(someone) if epoch <= newest else NO_LEADER for epoch in range(len(state.leaders)))
    brokers = tuple(
        evolve(
            broker, isr=ids(), status=draw(st.sampled_from((RUNNING, STOPPED_CLEAN))),
            epoch=draw(st.integers(0, newest)),
        )
        for broker in state.brokers
    )  # fmt: skip
    isr, elr = (ids(*draw(st.sets(st.integers(0, BROKERS - 1), max_size=1))) for _ in range(2))
    moved = with_controller(state, isr=isr, elr=elr)
    return evolve(moved, leader_epoch=newest, leaders=leaders, brokers=brokers)


@given(state=histories_with_brokers())
def test_nothing_is_committed_where_each_later_leader_waits(state: Replication) -> None:
    """While no leader can commit, nothing was after an epoch if for each later one there is who keeps it waiting."""
    newest = int(state.leader_epoch)
    for epoch in range(newest + 1):
        later = range(epoch + 1, newest + 1)
        wanted = all(any(_waits(state, number, e) for number in range(BROKERS)) for e in later)
        assert bool(nothing_after(state)(epoch)) == wanted


def _waits(state: Any, number: int, epoch: int) -> bool:
    """Whether the leader of an epoch must wait for a broker, which has not passed the epoch before."""
    broker, elected = state.brokers[number], state.leaders[epoch:]
    asked = 0 if state.request.stale else state.request.isr.mask
    candidates = state.controller.isr.mask | state.controller.elr.mask | asked
    return bool(broker.running() and broker.epoch < epoch and (candidates >> number & 1 or number in elected))


REPLICATION_ROWS = [row for row in rows() if row.system == "replication"]


@pytest.mark.slow
@pytest.mark.parametrize("row", REPLICATION_ROWS, ids=lambda row: row.variant)
def test_what_breaks_a_proof_breaks_it_without_bounds(row: BrokenProofRow) -> None:
    """A defect under which a claim is not proven with few epochs and records is none under which it is with any."""
    bounded, free = (_broken(row, bounds) for bounds in (BUDGETS, {"unclean-elections": 1, "unbounded": 1}))
    assert bounded - free == set()


def _broken(row: BrokenProofRow, bounds: dict[str, int]) -> set[str]:
    asked = ProofRequest("replication", "tiny", bounds, row.rules)
    known = {claim.id for claim in asked.build().claims}
    claims = [claim for claim in row.claims if claim in known]
    found = run_proof(asked, Effort(timeout=20), claims, 2, True)
    return {claim for claim in claims if not found.proven(claim)}
