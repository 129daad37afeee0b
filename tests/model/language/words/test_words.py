"""The page of words is true: each has an example, and every engine computes it alike."""

from __future__ import annotations

import pytest

import kraftcheck as kc
from tests.model.language.words import engines
from tests.model.language.words.any_number import WORDS
from tests.model.language.words.example import STATES, Example
from tests.model.language.words.examples import EXAMPLES
from tests.shared.commands import kraftcheck

ALL = [example for examples in EXAMPLES.values() for example in examples]
OF_RULES = ("words", "collections", "places", "anynumber")
"""The modules of the language whose public names are words of rules."""

COLLECTIONS = {"IntSet": kc.IntSet, "Sequence": kc.Sequence, "SetOf": kc.SetOf, "Bag": kc.Bag, "Map": kc.Map,
               "Queue": kc.Queue}  # fmt: skip


def test_every_word_has_an_example() -> None:
    """Each public function of rules, and each method of a collection, is a row of the page."""
    public = {name for module in OF_RULES for name in kc._PLACES[f"kraftcheck.model.language.{module}"]}
    functions = {name for name in public if not isinstance(getattr(kc, name), type)}
    methods = {f"{name}.{method}" for name, one in COLLECTIONS.items() for method in engines.methods(one)}
    listed = {example.word for example in ALL} | {*WORDS}
    assert len(functions) > 15
    assert sorted((functions | methods) - listed) == []
    assert sorted(word for word in listed if "." in word and word not in methods) == []


def test_an_example_has_its_word() -> None:
    """The text of an example has the word that it is listed under, and is listed once."""
    named = {"negative": "-s", "Enum": "Light."}
    assert [one.word for one in ALL if named.get(one.word, one.word.split(".")[-1]) not in one.text] == []
    assert len({one.text for one in ALL}) == len(ALL)


def test_examples_tell_states_apart() -> None:
    """What an example gives depends on the state, unless it makes a new collection."""
    values = engines.on_ints(ALL)
    alike = [one for place, one in enumerate(ALL) if len({values[at, place] for at in range(len(STATES))}) == 1]
    assert [one.text for one in alike if one.word.split(".")[-1] not in ("of", "just", "none")] == []


def test_z3_gives_what_python_gives() -> None:
    """The formula of each example, with the state given, is the value that Python computes."""
    assert engines.differing(engines.on_ints(ALL), engines.by_z3(ALL), ALL) == []


def test_another_value_is_seen() -> None:
    """An engine that takes one example for another is found, in each state where they differ."""
    one, other = [Example("-", "s.n - s.m")], [Example("-", "s.m - s.n")]
    assert len([*engines.differing(engines.on_ints(one), engines.by_z3(other), one)]) == 2


@pytest.mark.slow
def test_machine_code_gives_what_python_gives() -> None:
    """A search reaches the value of each example, and no other, from each state."""
    assert engines.differing(engines.on_ints(ALL), engines.by_machine_code(ALL), ALL) == []
    one, other = [Example("-", "s.n - s.m")], [Example("-", "s.m - s.n")]
    assert len([*engines.differing(engines.on_ints(one), engines.by_machine_code(other), one)]) == 2


@pytest.mark.slow
def test_hypothesis_runs_every_example() -> None:
    """Random runs take the step of each example; one run of few steps does not."""
    assert engines.by_hypothesis(ALL, 80).missing() == ()
    with pytest.raises(AssertionError, match="never reached"):
        engines.by_hypothesis(ALL, 1)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["explore", "simulate", "prove"])
def test_words_that_take_any(command: str) -> None:
    """With a number every engine takes them; with ANY provers alone do, and the others refuse the bound."""
    place = "tests.model.language.words.any_number"
    several = ("--nodes", "any") if command == "prove" else ()
    assert kraftcheck(command, f"{place}:MARKS", *several, "--quiet").code == 0
    assert kraftcheck(command, f"{place}:LOST", *several, "--quiet").code == 12
    if command != "prove":
        assert "nodes = any is out of range 2..4" in kraftcheck(command, f"{place}:MARKS", "--nodes", "any").refusal()
