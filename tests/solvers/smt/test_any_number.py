"""Claims about any number of brokers: what provers are told of sizes and order, and what `replication` claims."""

import itertools
import operator
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import z3
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.anynumber import AnyReplicas, AnySet
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.sequences import Sequence
from kraftcheck.model.language.system import ANY, System, conjuncts
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import all_of, negate
from kraftcheck.model.systems.replication.log import Log
from kraftcheck.model.systems.replication.state import Broker, Replication
from kraftcheck.solvers.audit.numbers import Interpretation
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.smt.instances import Instances
from kraftcheck.solvers.smt.reading.z3_endless import Value, answer
from kraftcheck.solvers.smt.theory import theory
from kraftcheck.solvers.smt.z3terms import Z3Reader
from tests.solvers.smt.reading.worlds import words

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
    one: list[int],
    other: list[int],
    third: list[int],
    listed: list[int],
    ranks: list[int],
    word: int,
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
    world = Interpretation(COUNT + 1, words)  # `word` may be one more than every member
    truths = [graph.lift(truth if world.value(truth) else negate(truth))
              for truth in operator.itemgetter(*chosen)(questions_about(sets, replicas, word))]  # fmt: skip
    instances = Instances(graph)
    instances.require([graph.lift(replicas.ranked())])
    instances.require(truths)
    assert satisfiable(world, truths, instances)
    # The same instances do exclude an answer that is wrong, or they would say nothing.
    instances.deny([truths[0]])
    assert not satisfiable(world, truths, instances)


def value_of_world(world: Interpretation) -> Value:
    """What is true of the concrete sets; of a place that only the prover names, that it is no broker."""

    def value(term: Term) -> int:
        named = {term.graph.variables[node.value] for node in closure([term]) if node.op == "var"}
        return -1 if named - set(world.words) else int(world.value(term))

    return value


def satisfiable(world: Interpretation, truths: list[Term], instances: Instances) -> bool:
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


def table(read: Z3Reader, world: Interpretation, node: Term) -> Any:
    """The word of a sequence at a place, written out."""
    words, at_place = world.words[node.graph.variables[node.args[0].value]], node.args[1]
    place = z3.IntVal(at_place.value, read.context) if at_place.op == "const" else read.expression(at_place)
    result = read.constant(node, 0)
    for at, word in enumerate(words):
        result = z3.If(place == at, read.constant(node, word), result)
    return result


BROKERS = 3
BOUNDS = {"brokers": BROKERS, "replication": BROKERS, "epochs": 2, "unclean-stops": 1}


def reachable(system: System, setting: Any, dice: random.Random) -> Iterator[Replication]:
    """The states of a run of random steps."""
    state = dice.choice(system.initial(setting))
    actions = [
        (action, dict(zip(action.parameters, values, strict=True)))
        for action in system.actions(setting) for values in itertools.product(*action.parameters.values())
    ]  # fmt: skip
    for _ in range(20):
        possible = [(action, given) for action, given in actions if action.enabled(state, given)]
        action, given = dice.choice(possible)
        state = action.outcome(state, given).state
        if state.leader_epoch > setting["epochs"]:
            return
        yield state


def disturbed(state: Replication, dice: random.Random) -> Replication:
    """A state, reachable or not, with other records committed and another log, epoch, or knowledge of brokers."""
    for number in range(BROKERS):
        state = state.with_broker(number, _disturbed(state.brokers[number], dice))
    return evolve(state, committed=Log((dice.randrange(3),)), lossy=False)


def _disturbed(broker: Broker, dice: random.Random) -> Broker:
    changes: list[dict[str, Any]] = [
        {"log": Log((dice.randrange(3),))}, {"epoch": dice.randrange(3)}, {"status": dice.randrange(3)},
        {"isr": BrokerSet(dice.randrange(1 << BROKERS))}, {"proposed": BrokerSet(dice.randrange(1 << BROKERS))},
        {"answer": dice.randrange(4)}, {"high_watermark": dice.randrange(2)},
        {"ends": tuple(dice.randrange(-1, 2) for _ in range(BROKERS))},
    ]  # fmt: skip
    return evolve(evolve(broker, **dice.choice(changes)), **dice.choice(changes[3:]))


@pytest.mark.parametrize("freed", [{"epochs": BOUNDS["epochs"]}, {"unbounded": 1}], ids=["bounded", "unbounded"])
def test_claims_of_any_number_mean_the_same_as_of_three_brokers(freed: Mapping[str, int]) -> None:
    """Each invariant and lemma has the same truth in reachable and disturbed states, and hard ones fail in some."""
    fixed = subject("replication", "tiny", BOUNDS, "fixed")
    anything = subject("replication", "tiny", {"brokers": ANY, **freed}, "fixed", proof=True)
    of = theory(anything.system, anything.setting)
    terms = of.state_truths()
    claims = [*fixed.system.properties(fixed.setting), *fixed.system.lemmas(fixed.setting)]
    compared = {claim.id: claim for claim in claims
                if claim.id in terms and claim.kind == "always" and "controller" not in claim.id}  # fmt: skip
    dice, failed = random.Random(5), set[str]()
    runs = [state for _ in range(4) for state in reachable(fixed.system, fixed.setting, dice)]
    for state in dice.sample(runs, 8):
        # Where budgets have no bound deaths are counted, which the claims of a fixed number read from the budget.
        dead = evolve(state, deaths=BOUNDS["unclean-stops"] - state.left.unclean_stops)
        for seen in (dead, disturbed(dead, dice), disturbed(dead, dice)):
            world = Interpretation(BROKERS, {slot.path: words(slot, seen, BROKERS) for slot in of.program.layout.slots})
            truths = {name: all_of(*conjuncts(claim.predicate(seen), name).values())
                      for name, claim in compared.items()}  # fmt: skip
            assert {name: bool(world.value(terms[name])) for name in compared} == truths
            failed |= {name for name, truth in truths.items() if not truth}
    durability = {"lemma-commits-reach-candidates", "lemma-leaders-hold-committed", "lemma-leader-has-its-epoch",
                  "metadata-match", "lemma-fetched-is-held", "lemma-ends-within-log"}  # fmt: skip
    assert durability <= failed
