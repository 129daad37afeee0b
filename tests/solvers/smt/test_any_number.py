"""Proofs for any number of brokers: what is said of sizes and orders is true of sets, and enough to prove with."""

from __future__ import annotations

import itertools
import operator
import time
from typing import Any

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.anynumber import AnyReplicas, AnySet
from kraftcheck.model.language.sequences import Sequence
from kraftcheck.model.language.system import ANY
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import negate
from kraftcheck.solvers.audit.interpretation import Places
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.smt.induction import obligations
from kraftcheck.solvers.smt.instances import Instances
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Clock, Effort, Obligation, Questions
from kraftcheck.solvers.smt.reading.z3_endless import Value, answer, refine
from kraftcheck.solvers.smt.smtlib import ActionQueries, second_answer
from kraftcheck.solvers.smt.theory import DOMAINS, INITIATION, Theory, theory
from kraftcheck.solvers.smt.worker import SolverSession
from kraftcheck.solvers.smt.z3terms import Z3Reader
from tests.shared.commands import kraftcheck
from tests.shared.samples import one_in

COUNT = 4
MEMBERS = st.lists(st.integers(0, 1), min_size=COUNT, max_size=COUNT)


def questions_about(sets: list[AnySet], replicas: AnyReplicas, word: int) -> list[Any]:
    """Truths, of which some hold and some do not, that speak of sizes, first members, and bounds."""
    a, b, c = sets
    return [
        a.size() <= b.size(),
        a.minus(b).size() < c.size(),
        a.plus(b).size() == c.size(),
        a.keep(c).size() >= word,
        a.just(word).plus(b).size() <= b.size(),
        b.size() == 0,
        a.within(b.minus(c)),
        a.plus(c).same(b),
        replicas.first() == a.first(),
        replicas.first_in(b) == replicas.minus(c).first(),
        a.has(replicas.first_in(c)),
        replicas.same(replicas.minus(a).plus(replicas.keep(a))),
        replicas.ascending().top <= word,
    ]


@settings(max_examples=15)
@given(MEMBERS, MEMBERS, MEMBERS, MEMBERS, st.permutations(range(COUNT)), st.integers(0, COUNT),
       st.lists(st.integers(0, 12), min_size=2, max_size=2, unique=True))  # fmt: skip
def test_what_is_said_of_any_number_is_true_of_concrete_sets(
    one: list[int], other: list[int], third: list[int], listed: list[int], ranks: list[int], word: int,
    chosen: list[int],
) -> None:
    """No instance that the prover is given excludes concrete sets with their true sizes, first members and answers."""
    graph, words = Graph(), {}

    def members(name: str, content: list[int]) -> Sequence:
        words[name] = content
        return Sequence.of_state(graph, name, 0, 1, truths=True)

    sets = [AnySet(members(f"set {n}", content)) for n, content in enumerate((one, other, third))]
    words["ranks"] = ranks
    replicas = AnyReplicas(members("replicas", listed), Sequence.of_state(graph, "ranks", 0, 1 << 1000), COUNT)
    world = Places(COUNT + 1, words)  # `word` may be one more than every member
    truths = [graph.lift(truth if world.value(truth) else negate(truth))
              for truth in operator.itemgetter(*chosen)(questions_about(sets, replicas, word))]  # fmt: skip
    instances = Instances(graph)
    instances.require([graph.lift(replicas.ranked())])
    instances.require(truths)
    assert satisfiable(world, truths, instances)
    # The same instances do exclude an answer that is wrong, or they would say nothing.
    instances.deny([truths[0]])
    assert not satisfiable(world, truths, instances)


@settings(max_examples=6)
@given(MEMBERS, MEMBERS, MEMBERS, st.integers(0, COUNT - 1), st.lists(st.integers(0, COUNT), min_size=9, max_size=9))
def test_axioms_of_sizes_are_true_whatever_model_calls_for_them(
    one: list[int], other: list[int], third: list[int], broker: int, wrong: list[int]
) -> None:
    """What is said of sizes because a model has them wrong is true of the concrete sets."""
    graph, words = Graph(), {}

    def members(name: str, content: list[int]) -> Sequence:
        words[name] = content
        return Sequence.of_state(graph, name, 0, 1, truths=True)

    a, b, c = (AnySet(members(f"set {n}", content)) for n, content in enumerate((one, other, third)))
    by_broker = [a, b, c, a.minus(b), a.plus(a.just(broker)), a.plus(b), a.minus(a.just(broker)), a.keep(c), b.minus(c)]
    instances, world = Instances(graph), Places(COUNT, words)
    instances.require([graph.lift(2 * s.size() > 2 * at) for at, s in enumerate(by_broker)])
    sizes = dict(zip([s.index for s in instances.sets], itertools.cycle(wrong), strict=False))
    before = len(instances.facts)
    known = value_of_world(world)
    for _ in range(3):
        refine(instances, lambda term: sizes.get(term.index, known(term)))
    assert satisfiable(world, [], instances)
    assert len(instances.facts) > before or all(world.value(s) == sizes[s.index] for s in instances.sets)


def value_of_world(world: Places) -> Value:
    """What is true of the concrete sets; of a place that only the prover names, that it is no broker."""

    def value(term: Term) -> int:
        named = {term.graph.variables[node.value] for node in closure([term]) if node.op == "var"}
        return -1 if named - set(world.words) else int(world.value(term))

    return value


def satisfiable(world: Places, truths: list[Term], instances: Instances) -> bool:
    """Whether truths, and what the prover is told, can hold together with the words and closed words of a world."""
    read, said = Z3Reader(z3.Context()), set[int]()
    solver = z3.Solver(ctx=read.context)

    def say(facts: list[Term]) -> None:
        solver.add(*map(read.expression, facts))
        for node in closure(facts):
            if node.index in said or any(arg.op == "bound" for arg in closure([node]) if node.op == "read"):
                continue
            said.add(node.index)
            if node.op in ("cardinality", "least_by", "above"):
                value = world.value(node)
                solver.add(read.expression(node) >= value if node.op == "above" else read.expression(node) == value)
            if node.op == "read":
                solver.add(read.expression(node) == table(read, world, node))

    say(truths)
    query = instances.branch()
    query.facts = [*instances.facts]
    return bool(answer(query, solver, read, say, list, lambda: 60_000) == z3.sat)


def table(read: Z3Reader, world: Places, node: Term) -> Any:
    """The word of a sequence at a place, written out."""
    words, at_place = world.words[node.graph.variables[node.args[0].value]], node.args[1]
    place = z3.IntVal(at_place.value, read.context) if at_place.op == "const" else read.expression(at_place)
    result = read.constant(node, 0)
    for at, word in enumerate(words):
        result = z3.If(place == at, read.constant(node, word), result)
    return result


def any_elections(rules: str = "fixed") -> Theory:
    """The theory of elections with any number of brokers."""
    chosen = subject("elections", None, {"brokers": ANY}, rules, proof=True)
    return theory(chosen.system, chosen.setting)


def session(of: Theory, action: str, timeout: float = 60.0, clock: Clock = time.monotonic) -> SolverSession:
    """A session about an action that may assume every invariant."""
    questions = Questions(of)
    premises = questions.premises(action, [claim.id for claim in of.invariants])
    return SolverSession(questions, premises, Effort(timeout=timeout), clock)


SAMPLE = ("isr-within-replicas", "leader-in-isr", "elr-within-replicas", "leader-active", "clean-candidate-kept")
"""Claims that are proven of one action here; all of all actions are proven by night."""


def test_elections_of_any_number_of_brokers_are_proven() -> None:
    """Fencing keeps the headline invariants however many brokers and replicas there are, and is possible at all."""
    of = any_elections()
    solver = session(of, "fence")
    assert {name: solver.ask(Obligation(name, "fence")).result for name in SAMPLE} == dict.fromkeys(SAMPLE, PROVEN)
    initially = session(of, INITIATION)
    assert initially.ask(Obligation("leader-in-isr", INITIATION)).result == PROVEN
    false = of.program.graph.constant(False)
    for possible in (solver, initially):
        assert possible._check(Questions(of).read.expression(false), [false]).result != PROVEN


def test_the_time_of_a_query_is_that_of_all_its_rounds() -> None:
    """A query that needs several rounds is undecided where these together take longer than a query may."""
    of, asked, seconds = any_elections(), Obligation("elr-empty-at-min-isr", "assign"), itertools.count(step=20)
    assert session(of, "assign").ask(asked).result == PROVEN
    hurried = session(of, "assign", clock=lambda: next(seconds)).ask(asked)
    assert (hurried.result, hurried.reason) == (UNDECIDED, "timeout")


@pytest.mark.slow
def test_every_claim_of_elections_is_proven_for_any_number() -> None:
    """Every invariant, lemma and step property of `elections` under `fixed`, initially and of every action."""
    of = any_elections()
    wanted, open_claims = obligations(of, [claim.id for claim in of.claims]), []
    for action in {obligation.action: None for obligation in wanted}:
        solver = session(of, action)
        open_claims += [o for o in wanted if o.action == action and solver.ask(o).result != PROVEN]
    assert len(wanted) > 700
    assert not open_claims


@pytest.mark.slow
def test_cvc5_confirms_queries_for_any_number() -> None:
    """A query in nine of `elections`, of every action some, is refuted by cvc5 too; so is none that denies nothing."""
    pytest.importorskip("cvc5")
    of, effort = any_elections(), Effort(timeout=60)
    named = [claim.id for claim in of.invariants]
    wanted = [o for o in obligations(of, [claim.id for claim in of.claims]) if o.claim not in DOMAINS]
    actions = {o.action: [one for one in wanted if one.action == o.action] for o in wanted}
    for action, asked in actions.items():
        queries = ActionQueries(of, action, True, named, effort, time.monotonic)
        sample = [queries.text(one) for one in asked[::9]]
        assert {second_answer("cvc5", text, effort) for text in sample} == {"unsat"}, action
    possible = sample[0].partition("(assert")[0] + "(check-sat)\n"
    assert second_answer("cvc5", possible, effort) == "sat"


BROKEN = [
    ("removed-replicas-stay-in-elr", "elr-within-replicas"),
    ("elr-keeps-isr-members", "isr-elr-disjoint"),
    ("elr-kept-at-min-isr", "elr-empty-at-min-isr"),
    ("every-restart-is-unclean", "clean-restart-keeps-elr"),
    ("dead-last-known-leader-electable", "leader-active"),
    ("fenced-leader-acceptable", "leader-active"),
    ("unregister-keeps-elr", "elr-registered"),
    ("retarget-keeps-old-reassignment", "adding-removing-disjoint"),
]


@pytest.mark.parametrize("row", one_in(16, BROKEN), ids="-".join)
def test_a_defect_is_not_proven_away(row: tuple[str, str]) -> None:
    """What a rule variant breaks with two or three brokers is not proven for any number under it."""
    variant, claim = row
    of = any_elections(f"fixed+{variant}")
    assert any(session(of, o.action, 5.0).ask(o).result != PROVEN for o in obligations(of, [claim]))


def test_a_rule_that_counts_slots_is_refused_for_any_number() -> None:
    """The seeded defect of lists that repeat needs slots: it is refused with its place, and nothing is proven."""
    ran = kraftcheck("prove", "elections", "--brokers", "any", "--rules", "fixed+reassignment-repeats-replicas")
    assert ran.code == 2
    assert "needs slots, not AnyReplicas: name a number" in ran.err
    assert "model/triggers/table.py:" in ran.err


@pytest.mark.parametrize(("command", "message"), [
    (("explore", "elections", "--brokers", "any"), "brokers = any is out of range 2..5"),
    (("prove", "elections", "--directories", "any"), "directories = any is out of range 1..2"),
    (("prove", "elections", "--brokers", "many"), "--brokers takes an int, not 'many'"),
    (("prove", "elections", "--brokers", "any", "--replication", "2"), "bounds nothing with brokers = any"),
    (("prove", "elections", "--brokers", "any", "--bmc", "3"), "leave out"),
])  # fmt: skip
def test_any_is_refused_where_it_means_nothing(command: tuple[str, ...], message: str) -> None:
    """Explorers, other bounds, other words and engines without places take no `any`, and say so in one line."""
    ran = kraftcheck(*command)
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.strip().splitlines()) == 1
