"""The page of words is true: every engine computes each example alike, and judges each kind of claim as it says."""

import pytest
from hypothesis import HealthCheck, settings

import kraftcheck as kc
from kraftcheck.model.language.layout import UNBOUNDED, LayoutError
from kraftcheck.model.language.sequences import Sequence, every
from kraftcheck.model.language.terms import Graph, Truth, Word
from kraftcheck.solvers.audit.numbers import Interpretation
from kraftcheck.solvers.hypothesis.machine import Violation, machine, run
from kraftcheck.solvers.hypothesis.tally import VacuousRun
from kraftcheck.solvers.reference.interpreter import Integers
from tests.model.language.words import engines, examples
from tests.model.language.words.declarations import (
    CLAIMS,
    DECLARATIONS,
    GOAL,
    JUDGED,
    LEFT,
    NAMES,
    REFUSED,
    SEARCHED,
    WALKED,
    WORDS,
    Declaration,
    systems,
)
from tests.model.language.words.examples import EXAMPLES, STATES, Example
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
    """The formula of each examples, with the state given, is the value that Python computes."""
    assert engines.differing(engines.on_ints(ALL), engines.by_z3(ALL), ALL) == []


def test_another_value_is_seen() -> None:
    """An engine that takes one example for another is found, in each state where they differ."""
    one, other = [Example("-", "s.n - s.m")], [Example("-", "s.m - s.n")]
    assert len([*engines.differing(engines.on_ints(one), engines.by_z3(other), one)]) == 2


@pytest.mark.slow
def test_machine_code_gives_what_python_gives() -> None:
    """A search reaches the value of each examples, and no other, from each state."""
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
    place = "tests.model.language.words.declarations"
    several = ("--nodes", "any") if command == "prove" else ()
    assert kraftcheck(command, f"{place}:MARKS", *several, "--quiet").code == 0
    assert kraftcheck(command, f"{place}:LOST", *several, "--quiet").code == 12
    if command != "prove":
        said = kraftcheck(command, f"{place}:MARKS", "--nodes", "any").refusal()
        assert "nodes = any is out of range 2..4; only `prove` takes any" in said


EXPLORED = {("Holds", "Refuted"): SEARCHED, ("Holds", "Vacuous"): GOAL, ("Unknown", "Unknown"): LEFT,
            ("Incomplete", "Incomplete"): LEFT, ("Incomplete", "Refuted"): WALKED}  # fmt: skip
"""What the verdicts on a claim that holds and on one that does not come to."""

HYPOTHESIS = settings(max_examples=10, stateful_step_count=12, derandomize=True, database=None,
                      suppress_health_check=list(HealthCheck))  # fmt: skip


def verdicts(kind: str, engine: str) -> tuple[str, str]:
    """The verdicts on both claims of a kind."""
    asked = [kc.simulate(one, runs=20, seed=1) if engine == "simulate" else kc.explore(one) for one in systems(kind)]
    right, wrong = (type(one.verdict("claim")).__name__ for one in asked)
    return right, wrong


def proven(kind: str) -> str:
    """What a proof does with a kind."""
    asked = [kc.prove(one) for one in systems(kind)]
    if all("claim" not in one.verdicts for one in asked):
        return LEFT
    right, wrong = (type(one.verdict("claim")).__name__ for one in asked)
    return EXPLORED[right, wrong]


def run_by_hypothesis(kind: str) -> str:
    """What random runs of Hypothesis do with a kind."""
    right, wrong = systems(kind)
    try:
        run(machine(Integers(right, right.setting())), chosen=HYPOTHESIS)
        run(machine(Integers(wrong, wrong.setting())), chosen=HYPOTHESIS)
    except Violation:
        return WALKED
    except VacuousRun:
        return GOAL
    except ValueError as error:
        return REFUSED if "machines check safety only" in str(error) else str(error)
    return LEFT


def test_the_table_has_every_kind() -> None:
    """Each function that makes a claim is a row."""
    kinds = {name for name in kc._PLACES["kraftcheck.properties.kinds"] if "fairness" not in name} | {"refines"}
    assert {*CLAIMS} == {*JUDGED} == kinds


@pytest.mark.parametrize("kind", JUDGED)
def test_a_search_judges_every_kind(kind: str) -> None:
    """The claim that holds does, and the other one is refuted, or vacuous where it is a goal."""
    assert EXPLORED[verdicts(kind, "explore")] == JUDGED[kind][0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", JUDGED)
def test_the_other_engines_judge_what_the_table_says(kind: str) -> None:
    """Proofs, walks and runs of Hypothesis tell the two claims apart, leave them, or refuse them."""
    assert (proven(kind), EXPLORED[verdicts(kind, "simulate")], run_by_hypothesis(kind)) == JUDGED[kind][1:]


@pytest.mark.parametrize("kind", ["recovers", "sometimes", "eventually"])
def test_a_proof_of_nothing_is_refused(kind: str) -> None:
    """A system with a claim that proofs do not judge is no success of theirs: it used to exit 0."""
    _, wrong = systems(kind)
    bare = kc.System(wrong.name, wrong.summary, wrong.initial, wrong.actions, wrong.layout, wrong.properties)
    with pytest.raises(kc.Refusal, match=r"counter has no claim to prove: .* neither goals, `recovers` nor liveness"):
        kc.prove(bare)


@pytest.mark.parametrize("one", DECLARATIONS, ids=lambda one: one.word)
def test_a_declaration_can_be_written(one: Declaration) -> None:
    """Its example has a value, and, where it is a name of the package, has that name or makes one of its kind."""
    assert eval(one.text, {**examples.NAMES, **NAMES}) is not None


@pytest.mark.parametrize("one", [one for one in DECLARATIONS if one.beyond], ids=lambda one: one.word)
def test_what_lies_beyond_a_limit_is_refused(one: Declaration) -> None:
    """The refusal names the limit, or the part of the system."""
    assert one.beyond is not None
    with pytest.raises((kc.Refusal, LayoutError)) as refused:
        one.beyond()
    assert one.says in str(refused.value)


def test_a_word_that_speaks_of_every_place_is_of_the_place_it_is_read_at() -> None:
    """Its domain is asked for at any place first; read at each place afterwards, it tells the two apart."""
    graph = Graph()
    numbers = Sequence.of_state(graph, "numbers", 0, UNBOUNDED)

    def least(at: Word) -> Truth:
        return every(graph, lambda other: numbers.at(at) <= numbers.at(other))

    is_least = Sequence(graph, least)
    is_least.anywhere()
    all_least = graph.lift(every(graph, is_least.at))
    assert [Interpretation(2, {"numbers": words}).value(all_least) for words in ([4, 4], [4, 7])] == [1, 0]
