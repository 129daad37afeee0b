"""The rule set that a build is: which is found, on cases and sequences that others answer, and when none is."""

from collections.abc import Callable

import numpy as np
import pytest
from attrs import evolve

from kraftcheck.ci.conformance.kafka.change.cases import random_changes
from kraftcheck.ci.conformance.kafka.change.checks import ShownCause
from kraftcheck.ci.conformance.kafka.change.models import change_on_ints, model_of
from kraftcheck.ci.conformance.kafka.fuzz.requests import drawn_plan
from kraftcheck.ci.conformance.kafka.fuzz.run import Exchange, FuzzDifference, Played
from kraftcheck.ci.conformance.kafka.naming import (
    CaseWitness,
    FullAnswer,
    Naming,
    SequenceWitness,
    Witness,
    candidates,
    named,
)
from kraftcheck.model.rules.ruleset import parse

BASE, SLOTS = "kafka-4.4.0", 7
ROWS = random_changes(5, SLOTS, 3000, 4)


@pytest.mark.parametrize("rules", ["kafka-3.9.2", "kafka-4.0.2", BASE])
def test_rules_on_ints_answer_as_compiled_ones(rules: str) -> None:
    """Three thousand drawn changes are answered alike by compiled rules and by those on ints."""
    compiled, on_ints = model_of("change", SLOTS, parse(rules)), change_on_ints(SLOTS, parse(rules))
    assert (compiled.answer(ROWS) == on_ints.answer(ROWS)).all()


def cases(classes: str, rules: str) -> tuple[int, list[Witness]]:
    """How many drawn changes two rule sets answer otherwise, and the first of them; the first stands for Kafka."""
    kafka, model = model_of("change", SLOTS, parse(classes)), model_of("change", SLOTS, parse(rules))
    expected, actual = kafka.answer(ROWS), model.answer(ROWS)
    found = list[Witness]()
    differing = np.flatnonzero((expected != actual).any(axis=1))
    for at in differing[:3]:
        right, wrong = model.outputs.read(expected[at]), model.outputs.read(actual[at])
        names = [name for name in right if right[name] != wrong[name]]
        answers = ({name: of[name] for name in names} for of in (right, wrong))
        cause = ShownCause((), 1, model.inputs.read(ROWS[at]), *answers)
        found.append(CaseWitness.of("change", cause, parse(rules)))
    return len(differing), found


def asker(classes: str) -> Callable[[str], FullAnswer]:
    """Asks a rule set all drawn changes."""

    def ask(name: str) -> FullAnswer:
        differing, found = cases(classes, name)
        return FullAnswer(len(ROWS), differing, found)

    return ask


@pytest.mark.parametrize(
    "classes",
    ["kafka-4.0.2", f"{BASE}-removed-replicas-stay-in-elr", f"{BASE}+elr-keeps-unclean-replicas",
     f"{BASE}-removed-replicas-stay-in-elr+elr-keeps-unclean-replicas"],
)  # fmt: skip
def test_classes_of_a_rule_set_are_named(classes: str) -> None:
    """A release, a mend, a defect, and both at once are found, and are the rule set in all cases."""
    differing, found = cases(classes, BASE)
    assert differing
    naming = named(BASE, found, asker(classes))
    assert naming.name is not None
    assert cases(classes, naming.name)[0] == 0
    assert parse(naming.name).partition == parse(classes).partition or naming.beside
    assert naming.lines("mine")[0] == f"mine is {naming.name} in 3,000 of 3,000 cases"


@pytest.mark.parametrize("base", ["kafka-3.9.2", "kafka-4.0.0", "kafka-4.4.0"])
def test_every_candidate_is_a_rule_set(base: str) -> None:
    """Of choices that contradict each other none are together; each name is of another rule set than the release's."""
    releases, *tiers = candidates(base)
    assert [name for name in releases if not parse(name)] == []
    found = [name for tier in tiers for name in tier if parse(name) != parse(base)]
    assert len(found) == sum(map(len, tiers)) > 4_000


def test_a_rule_set_that_differs_elsewhere_is_no_name() -> None:
    """Where the first candidate differs in full, its cases are counted too, and another is asked."""
    classes = f"{BASE}-removed-replicas-stay-in-elr+elr-keeps-unclean-replicas"
    _, found = cases(classes, BASE)
    naming = named(BASE, found[:1], asker(classes))
    assert naming.asked > 1
    assert naming.name is not None
    assert cases(classes, naming.name)[0] == 0


def test_what_no_rule_set_answers_has_no_name() -> None:
    """A build that answers as nobody does has no name, and neither has one that shows no case."""
    _, (first, *_) = cases("kafka-4.0.2", BASE)
    assert isinstance(first, CaseWitness)
    strange = evolve(first, kafka={**first.kafka, "leader": 7})
    naming = named(BASE, [strange], asker("kafka-4.0.2"), seconds=5)
    assert naming.name is None
    assert "mine is no rule set: " in naming.lines("mine")[0]
    assert named(BASE, [], asker(BASE)) == Naming(None, 0, 0, 0, 0, (), False)


def test_time_that_is_over_gives_no_name() -> None:
    """A candidate that could not be asked in full is no name, nor is one for which no time was left."""
    _, found = cases("kafka-4.0.2", BASE)
    assert named(BASE, found, lambda name: None).name is None
    assert named(BASE, found, asker("kafka-4.0.2"), seconds=0) == Naming(None, 0, 0, 3, 0, (), False)


def test_a_sequence_names_the_rules_that_answer_it() -> None:
    """Of a sequence at whose end two releases differ each agrees with its own answer alone."""
    other, like = parse("kafka-4.0.2"), "4.4.0"
    for number in range(200):
        plan = drawn_plan(3, number, 60)
        mine, theirs = (Played.of(like, rules, plan).exchanges for rules in (parse(BASE), other))
        pairs = list(zip(mine, theirs, strict=False))
        at = next((n for n, (a, b) in enumerate(pairs) if a.model != b.model), None)
        if at is not None and all(a.request.line == b.request.line for a, b in pairs[: at + 1]):
            break
    assert at is not None
    answered = tuple(Exchange(a.step, a.request, a.model, b.model) for a, b in pairs[: at + 1])
    witness = SequenceWitness(like, FuzzDifference(plan, "begin", answered))
    assert witness.agrees(other)
    assert not witness.agrees(parse(BASE))
