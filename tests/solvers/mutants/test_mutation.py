"""Mutants: which conditions are found, what each changes, and that nothing else changes."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.language.system import Setting, System
from kraftcheck.model.language.terms import Term, Truth, Word
from kraftcheck.model.language.words import (
    BRANCH,
    CONJUNCT,
    DISJUNCT,
    Maybe,
    all_of,
    any_of,
    choose,
    implies,
    none_of,
    pick,
    word,
)
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.mutants.mutate import ALWAYS, DROPPED, GUARD, NEVER, Mutated, MutatingGraph, mutate
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference import terms as interpret
from tests.gates import GATE, Gate
from tests.shared.readers import values_of
from tests.toys import TWO_PHASE


def rule(a: Truth, b: Truth, n: Word) -> list[Any]:
    """Each way to decide, once."""
    field = Maybe(a, 1)
    return [
        choose(a, 1, 2), all_of(a, b), any_of(a, b), implies(a, b), none_of(a, b), word(b),
        field.or_else(7), field.set_when(b, 3).value, field.clear_when(b).present,
        pick((4, 5), n, 6), all_of(*(n == place for place in range(2))),
    ]  # fmt: skip


def traced() -> tuple[MutatingGraph, list[Any]]:
    """The rule on a mutating graph: variables mutant, a, b, n."""
    graph = MutatingGraph()
    mutant = graph.variable("mutant", 0, 99)
    a, b, n = graph.truth_variable("a"), graph.truth_variable("b"), graph.variable("n", 0, 2)
    with graph.within("act", mutant):
        return graph, rule(a, b, n)


def test_every_way_to_decide_is_found_once() -> None:
    """Branches, conjuncts and disjuncts of a rule are told as written; lookups and collections are none."""
    graph, _ = traced()
    assert [(m.kind, m.part, m.call, m.change) for m in graph.mutants] == [
        (BRANCH, "a", "choose(a, 1, 2)", ALWAYS),
        (BRANCH, "a", "choose(a, 1, 2)", NEVER),
        (CONJUNCT, "a", "all_of(a, b)", DROPPED),
        (CONJUNCT, "b", "all_of(a, b)", DROPPED),
        (DISJUNCT, "a", "any_of(a, b)", DROPPED),
        (DISJUNCT, "b", "any_of(a, b)", DROPPED),
        (DISJUNCT, "a", "implies(a, b)", DROPPED),
        (DISJUNCT, "b", "implies(a, b)", DROPPED),
        (DISJUNCT, "a", "none_of(a, b)", DROPPED),
        (DISJUNCT, "b", "none_of(a, b)", DROPPED),
        (BRANCH, "b", "word(b)", ALWAYS),
        (BRANCH, "b", "word(b)", NEVER),
        (BRANCH, "field is present", "field.or_else(7)", ALWAYS),
        (BRANCH, "field is present", "field.or_else(7)", NEVER),
        (BRANCH, "b", "field.set_when(b, 3)", ALWAYS),
        (BRANCH, "b", "field.set_when(b, 3)", NEVER),
        (BRANCH, "b", "field.clear_when(b)", ALWAYS),
        (BRANCH, "b", "field.clear_when(b)", NEVER),
    ]
    assert {m.group for m in graph.mutants} == {"tests.solvers.mutants.test_mutation:rule"}


@pytest.mark.parametrize(("a", "b"), [(False, False), (False, True), (True, False), (True, True)])
def test_each_mutant_changes_one_answer(a: bool, b: bool) -> None:
    """On ints a mutant gives what the rule gives with that condition dropped, and changes no other answer."""
    graph, answers = traced()

    def told(number: int) -> list[int]:
        found = values_of(graph, [number, a, b, 0])
        return [int(found[x.index]) if isinstance(x, Term) else int(x) for x in answers]

    right = [int(x) for x in rule(a, b, 0)]
    assert told(0) == right
    wrong = {
        1: (0, 1), 2: (0, 2), 3: (1, b), 4: (1, a), 5: (2, b), 6: (2, a), 7: (3, b), 8: (3, not a),
        9: (4, not b), 10: (4, not a), 11: (5, 1), 12: (5, 0), 13: (6, 1), 14: (6, 7), 15: (7, 3), 16: (7, 1),
        17: (8, 0), 18: (8, a),
    }  # fmt: skip
    assert sorted(wrong) == [m.number for m in graph.mutants]
    for number, (place, answer) in wrong.items():
        assert told(number) == [*right[:place], int(answer), *right[place + 1 :]], graph.mutants[number - 1]


def test_a_condition_is_one_mutation_in_all_actions() -> None:
    """A rule that guard and effect share is mutated in both at once; guards belong to their action."""
    mutations = mutate(GATE, GATE.setting(None))
    shared = [m for m in mutations.mutants if m.group == "tests.gates:room"]
    assert [(m.part, mutations.actions_of[m.number]) for m in shared] == [
        ("state.open", ("enter",)),
        ("state.inside < MOST", ("enter",)),
    ]
    kind = next(k for k in mutations.program.kinds if k.action.name == "enter")
    guarded, full = kind.guard["room"], mutations.program.layout.pack(Mutated(Gate(3, True), shared[1].number))
    variables = dict(zip((v.index for v in mutations.program.state),
                         mutations.program.layout.split(full), strict=True))  # fmt: skip
    assert interpret.evaluated([guarded], variables)[guarded.index] == 1
    assert interpret.successor(mutations.program, kind.first, tuple(variables.values()))[0] == 4
    assert [(m.group, m.part) for m in mutations.mutants if m.kind == GUARD] == [
        ("open", "shut"), ("shut", "is open"), ("shut", "nobody is inside"), ("enter", "room"), ("leave", "someone"),
    ]  # fmt: skip


def test_what_is_left_is_not_mutated() -> None:
    """A module, a function, or a class with its methods can be left as it is."""
    setting = GATE.setting(None)
    assert {m.group for m in mutate(GATE, setting, ("tests.gates:room",)).mutants} >= {"tests.gates:enter", "shut"}
    for left in (("tests.gates:room",), ("tests.gates",)):
        assert "tests.gates:room" not in {m.group for m in mutate(GATE, setting, left).mutants}
    assert {m.kind for m in mutate(GATE, setting, ("tests.gates",)).mutants} == {GUARD}


def settings() -> list[tuple[System, Setting]]:
    """Systems to mutate."""
    shipped = [(s, s.setting("tiny", rules=parse("fixed"))) for s in SYSTEMS.values() if "tiny" in s.scopes]
    return [(GATE, GATE.setting(None)), (TWO_PHASE, TWO_PHASE.setting(None)), *shipped]


@pytest.mark.parametrize(("system", "setting"), settings(), ids=lambda x: getattr(x, "name", ""))
def test_mutants_are_numbered_by_identity(system: System, setting: Setting) -> None:
    """No two mutants have one key, numbers are dense, and properties read no mutant's number."""
    mutations = mutate(system, setting)
    assert len({m.key for m in mutations.mutants}) == len(mutations.mutants)
    assert [m.number for m in mutations.mutants] == list(range(1, len(mutations.mutants) + 1))
    program, plain = mutations.program, trace(system, setting)
    claims = (*program.always_terms, *program.sometimes_terms, program.quiescent)
    assert program.state[-1].index not in {term.index for term in closure(claims)}
    assert [k.action.name for k in program.kinds] == [k.action.name for k in plain.kinds]
    assert [list(k.guard) for k in program.kinds] == [list(k.guard) for k in plain.kinds]


def test_mutants_do_not_run_on_ints() -> None:
    """The wrapped rules refuse ints, instead of running unmutated."""
    program = mutate(GATE, GATE.setting(None)).program
    action, arguments = program.instance(0)
    with pytest.raises(TypeError, match="does not run on ints"):
        action.guards(Mutated(Gate(0, False), 1), arguments)


def test_initial_states_name_the_mutant() -> None:
    """The program of a mutant starts in the system's initial states with its number, and shares the graph."""
    mutations = mutate(TWO_PHASE, TWO_PHASE.setting(None))
    third = mutations.of(3)
    states = [third.layout.unpack(words) for words in third.initial]
    assert [(s.state, s.mutant) for s in states] == [(s, 3) for s in TWO_PHASE.initial(mutations.program.setting)]
    assert evolve(third, initial=mutations.program.initial) == mutations.program
