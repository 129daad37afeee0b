"""Operator mutants: each has a name that lasts, changes one expression, and is gone afterwards."""

from __future__ import annotations

import random
import sys
from types import CodeType
from typing import Any

import pytest

from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.triggers.table import effective_min_isr
from kraftcheck.solvers.mutants.operators import OPERATORS
from kraftcheck.solvers.mutants.source import (
    SourceMutant,
    StaleMutantError,
    applied,
    of_rule,
    source_mutant,
    source_mutants,
)
from kraftcheck.solvers.program.trace import trace
from tests.solvers.mutants import operands

OPERANDS = "tests.solvers.mutants.operands"


def found(function: str) -> list[tuple[str, str, str]]:
    """What each operator makes of a function of the operands."""
    every = source_mutants(modules=[OPERANDS])
    return [(one.operator, one.before, one.after) for one in every if one.function == function]


def named(function: str, operator: str) -> SourceMutant:
    """The first mutant of an operator in a function of the operands."""
    return next(m for m in source_mutants(modules=[OPERANDS]) if (m.function, m.operator) == (function, operator))


def test_each_operator_makes_what_it_says() -> None:
    """The operators change a comparison, a list of conditions, a set, a record, a call and a choice as they say."""
    assert found("size") == [
        ("negate", "members.size() >= 2", "members.size() < 2"),
        ("off-by-one", "members.size() >= 2", "members.size() > 2"),
    ]
    assert found("both") == [
        ("drop-condition", "all_of(a, b)", "all_of(b)"),
        ("drop-condition", "all_of(a, b)", "all_of(a)"),
        ("negate", "all_of(a, b)", "negate(all_of(a, b))"),
        ("and-or", "all_of(a, b)", "any_of(a, b)"),
        ("negate", "a", "negate(a)"),
        ("negate", "b", "negate(b)"),
    ]
    assert found("Sets.left") == [
        ("neighbour", "self.isr.minus(self.elr)", "self.isr.plus(self.elr)"),
        ("neighbour", "self.isr.minus(self.elr)", "self.isr.keep(self.elr)"),
        ("drop-call", "self.isr.minus(self.elr)", "self.isr"),
        ("neighbour", "self.isr", "self.elr"),
        ("neighbour", "self.isr", "self.replicas"),
        ("neighbour", "self.elr", "self.isr"),
        ("neighbour", "self.elr", "self.replicas"),
    ]
    assert found("pair") == [
        ("skip-field", "evolve(state, isr=a, elr=b)", "evolve(state, elr=b)"),
        ("skip-field", "evolve(state, isr=a, elr=b)", "evolve(state, isr=a)"),
        ("swap-arguments", "evolve(state, isr=a, elr=b)", "evolve(state, isr=b, elr=a)"),
    ]
    assert found("either") == [
        ("one-branch", "choose(a, one, 5)", "one"),
        ("one-branch", "choose(a, one, 5)", "5"),
        ("off-by-one", "choose(a, one, 5)", "choose(a, one, 6)"),
        ("swap-branches", "choose(a, one, 5)", "choose(a, 5, one)"),
    ]
    assert found("guard") == [
        ("drop-guard", "{'open': a, 'shut': negate(b)}", "{'shut': negate(b)}"),
        ("drop-guard", "{'open': a, 'shut': negate(b)}", "{'open': a}"),
        ("negate", "negate(b)", "b"),
    ]
    assert {one.operator for one in source_mutants(modules=[OPERANDS])} == set(OPERATORS)


def test_a_mutant_is_there_only_meanwhile() -> None:
    """Within `applied` a function answers as the changed text says, in its callers too; before and after as written."""
    mutant = named("either", "swap-branches")
    assert operands.twice(True) == 2
    with applied(mutant):
        assert operands.twice(True) == 10
    with pytest.raises(RuntimeError, match="given up"), applied(mutant):
        raise RuntimeError("given up")
    assert operands.twice(True) == 2
    assert not [name for name in vars(operands) if name.startswith("__mutant")]


def test_words_need_no_import() -> None:
    """A mutant may use a word of the language that its module does not import."""
    assert not hasattr(operands, "any_of")
    with applied(named("both", "and-or")):
        assert operands.both(True, False) is True


def test_a_method_is_changed_on_its_class() -> None:
    """A mutant of a method reaches the records that exist already."""
    sets = operands.Sets(*map(operands.BrokerSet, (0b011, 0b001, 0b111)))
    mutant = named("Sets.left", "drop-call")
    assert sets.left() == operands.BrokerSet(0b010)
    with applied(mutant):
        assert sets.left() == sets.isr


@pytest.mark.parametrize(
    ("function", "before", "after"),
    [
        ("partition.election:_last_known_electable", "all_of(c.isr.is_empty(), c.elr.is_empty(), "
         "c.last_known.size() == 1)", "all_of(c.isr.is_empty(), c.last_known.size() == 1)"),
        ("triggers.table:effective_min_isr", "choose(factor < configured, factor, configured)", "configured"),
        ("triggers.table:elect_unclean", "evolve(ordinary(p, permits), unclean=allowed)", "ordinary(p, permits)"),
    ],
)  # fmt: skip
def test_what_people_thought_of_is_among_them(function: str, before: str, after: str) -> None:
    """Changes that people made by hand are among the mutants that nobody chose."""
    module, _, name = function.partition(":")
    every = [m for m in source_mutants() if (m.module, m.function) == (f"kraftcheck.model.{module}", name)]
    assert [m for m in every if (m.before, m.after) == (before, after)]


def test_a_mutant_knows_its_rules() -> None:
    """The mutants of a rule are those of the functions that state it, and each is found by its name."""
    rule = "min-isr.at-most-replication"
    mutants = of_rule(rule)
    assert {m.function for m in mutants} == {"effective_min_isr"}
    assert all(rule in m.rules and source_mutant(m.name) == m for m in mutants)
    assert of_rule("no.such-rule") == ()
    uncapped = next(m for m in mutants if m.after == "configured")
    with applied(uncapped):
        assert effective_min_isr(5, 3) == 5
    assert effective_min_isr(5, 3) == 3


def test_a_name_that_no_mutant_has_is_refused() -> None:
    """A name out of date is told as such, and nothing is changed in silence."""
    for name in ("partition.election:elect:negate:99", "partition.nothing:elect:negate:1", "elect"):
        with pytest.raises(StaleMutantError, match="no mutant"):
            source_mutant(name)


def test_what_is_left_has_no_mutants() -> None:
    """A module, a class or a function can be left as it is."""
    every = source_mutants()
    for left in ("kraftcheck.model.partition.election", "kraftcheck.model.partition.election:Candidates"):
        gone = {m.name for m in every} - {m.name for m in source_mutants([left])}
        assert gone == {m.name for m in every if f"{m.module}:{m.function}".startswith(left)} != set()


def test_names_tell_mutants_apart() -> None:
    """No two mutants have one name or make the same of one expression, and each differs from what is written."""
    every = source_mutants()
    assert len({m.name for m in every}) == len(every) > 5000
    assert len({(m.module, m.place, m.after) for m in every}) == len(every)
    assert [m.name for m in every if m.before == m.after] == []


def test_a_sample_of_the_mutants_compiles() -> None:
    """Each of a sample can be put into the rules, and changes the code of its function."""
    for mutant in random.Random(20261127).sample(source_mutants(), 60):
        right = code_of(mutant)
        with applied(mutant):
            assert code_of(mutant) != right, mutant.name
        assert code_of(mutant) == right


def code_of(mutant: SourceMutant) -> CodeType:
    """The code that a mutant's function has now, be it a property or a class method."""
    thing: Any = sys.modules[mutant.module]
    for name in mutant.function.split("."):
        thing = vars(thing)[name]
    function = getattr(thing, "fget", None) or getattr(thing, "__func__", None) or thing
    code: CodeType = function.__code__
    return code


def test_a_program_traced_within_is_the_mutants() -> None:
    """What is traced within `applied` is another program; afterwards it is the one of the rules again."""
    chosen = subject("elections", "tiny", {}, "fixed")
    right = trace(chosen.system, chosen.setting).digest()
    with applied(of_rule("election.clean.keeps-valid-leader")[0]):
        assert trace(chosen.system, chosen.setting).digest() != right
    assert trace(chosen.system, chosen.setting).digest() == right
