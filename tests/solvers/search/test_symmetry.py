"""Symmetry: one state for each orbit, the same verdicts, real runs; and what is not symmetric is caught."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.symmetry import Symmetry, SymmetryError, SymmetryFields
from kraftcheck.model.language.system import Action, Property, Setting, System
from kraftcheck.model.language.words import all_of, choose, negate
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.kinds import recovers
from kraftcheck.solvers.exploration.explore import Exploration
from kraftcheck.solvers.machine_code.compile import address, load_kernel
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted
from kraftcheck.solvers.search.symmetry import canonical, reduced
from tests import toys
from tests.shared.commands import kraftcheck
from tests.shared.explored import explored, traced

ELECTIONS = SYSTEMS["elections"]


def orbits(program: Program, symmetry: Symmetry) -> set[frozenset[tuple[int, ...]]]:
    """The reachable states in groups of those that differ by names, by trying every order."""
    fields = SymmetryFields(symmetry, tuple(s.path for s in program.layout.slots))
    found, grouped = set(), set[tuple[int, ...]]()
    for packed in explored(program).states():
        if packed in grouped:
            continue
        orbit, todo = {packed}, [packed]
        while todo:
            values = list(program.layout.split(todo.pop()))
            fresh = {program.layout.join(fields.image(values, order)) for order in symmetry.swaps()} - orbit
            orbit |= fresh
            todo += fresh
        found.add(frozenset(orbit))
        grouped |= orbit
    return found


@pytest.mark.parametrize(
    ("managers", "states", "reduced_to"), [("3", 288, 80), pytest.param("5", 8_832, 314, marks=pytest.mark.slow)]
)
def test_two_phase_commit_has_its_number_of_orbits(managers: str, states: int, reduced_to: int) -> None:
    """Every state of an orbit is replaced by the same member of it, and the search finds one state for each orbit."""
    program = traced(toys.TWO_PHASE, managers)
    small = reduced(program)
    (symmetry,) = program.system.symmetries(program.setting)
    groups = orbits(program, symmetry)
    assert (sum(map(len, groups)), len(groups)) == (states, reduced_to)
    for group in groups:
        (stands,) = {canonical(small, packed) for packed in group}
        assert stands in group
    found = explored(small)
    assert set(found.states()) == {canonical(small, packed) for packed in explored(program).states()}
    assert found.distinct == reduced_to


def test_machine_code_and_ints_reduce_alike() -> None:
    """The compiled reduction gives the state that the same rule gives on ints, for every state."""
    for program in (reduced(traced(toys.TWO_PHASE, "3")), reduced(traced(RING, None, *RING_CLAIMS))):
        kernel = load_kernel(program)
        least = kernel.library.function("least", 1)
        for packed in explored(evolve(program, reduction=None)).states():
            row = np.array(packed, dtype=np.uint64)
            least(address(row))
            assert tuple(row.tolist()) == canonical(program, packed)


def same_verdicts(whole: Exploration, small: Exploration) -> None:
    """Kinds of verdict and lengths of shortest traces are the same."""
    pairs = list(zip(whole.verdicts, small.verdicts, strict=True))
    assert [(a.claim, type(a.verdict), a.depth) for a, _ in pairs] == [
        (b.claim, type(b.verdict), b.depth) for _, b in pairs
    ]


MORE = (
    recovers("decided", "Every manager can decide.", lambda s: s.committed.plus(s.aborted).size() == 5),
    recovers("undecided", "The decision can be taken back.", lambda s: s.manager == toys.INIT),
    recovers("heard", "All can be heard.", lambda s: s.promised.within(s.heard), by={"TMRcvPrepared": {}}),
    Property("few-promises", "step", "The fourth promise does not come last.",
             lambda t: negate(all_of(t.after.promised.size() == 4, t.before.promised.size() == 3))),
    Property("all-abort", "happens", "The last manager aborts.", lambda t: t.after.aborted.size() == 5),
)  # fmt: skip


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("system", [toys.TWO_PHASE, toys.HASTY])
def test_verdicts_and_shortest_traces_agree(system: System, threads: int) -> None:
    """With and without symmetry every kind of property has the same verdict, and its trace the same length."""
    program = traced(system, "5", *system.properties(system.setting("5")), *MORE)
    whole, small = explored(program), explored(reduced(program), threads=threads)
    same_verdicts(whole, small)
    assert small.distinct < whole.distinct // 20
    assert {"Refuted", "Holds"} <= {type(v.verdict).__name__ for v in small.verdicts}
    assert small.depth == whole.depth


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["fixed", "kafka-4.0"])
def test_directories_of_a_broker_can_be_renamed(rules: str) -> None:
    """In `elections` with two directories, verdicts and lengths agree for fewer than half of the states."""
    claims = ("leader-directory-online", "leader-returns", "loss-is-marked", "failed-directories-unregistered")
    system = evolve(ELECTIONS, properties=lambda s: [c for c in ELECTIONS.properties(s) if c.id in claims])
    program = trace(system, system.setting("directories", {"reserved": 0}, parse(rules)))
    whole, small = explored(program), explored(reduced(program))
    same_verdicts(whole, small)
    assert 2 * small.distinct < whole.distinct


def test_a_run_is_real() -> None:
    """A witness found by symmetry is a run of the system as it is: the names are those that the actions give."""
    found = explored(reduced(traced(toys.HASTY, "5"))).verdict("consistent").verdict
    assert isinstance(found, Refuted)
    program = traced(toys.HASTY, "5")
    kernel, state = load_kernel(program), program.layout.pack(found.trace.initial)
    for step in found.trace.steps:
        after = program.layout.pack(step.state)
        assert after in {packed for _, packed in kernel.successors(state)}
        state = after
    assert found.trace.failing == ("no one aborted or no one committed",)


@toys.frozen
class Ring:
    """A token among three places, who has had it, and what each counts."""

    holder: Any
    visited: Any
    counts: tuple[Any, ...]


def _pass(s: Ring, to: Any) -> Ring:
    counts = tuple(choose(to == i, choose(old < 2, old + 1, old), old) for i, old in enumerate(s.counts))
    return Ring(to, s.visited | choose(to == 0, 1, choose(to == 1, 2, 4)), counts)


def ring(actions: Callable[[Setting], Sequence[Action]] | None = None, start: int = -1) -> System:
    """A token that goes anywhere, its holder named by number; nobody holds it at first."""
    passing = Action("pass", _pass, lambda s, to: negate(s.holder == to), {"to": [0, 1, 2]})
    return System(
        name="ring",
        summary="A token that is passed to anyone else.",
        initial=lambda setting: [Ring(start, 0, (0, 0, 0))],
        layout=lambda setting: Ring(Range(-1, 2), Range(0, 7), (Range(0, 2),) * 3),
        actions=actions or (lambda setting: [passing]),
        symmetries=lambda setting: [Symmetry("places", 3, ("visited",), {"holder": 0}, ("counts",))],
    )


RING = ring()
RING_CLAIMS = (
    Property("not-everywhere", "always", "A place is left out.", lambda s: negate(s.visited == 7)),
    Property("no-two", "always", "Nobody has it twice.", lambda s: {
        f"place {i}": count < 2 for i, count in enumerate(s.counts)}),
    recovers("back", "It can be held by whoever counts least.", lambda s: s.visited == 0),
)  # fmt: skip


def test_words_that_name_elements_are_renamed() -> None:
    """With words, sets and tuples of elements together, one state for each orbit is found, and verdicts agree."""
    program = traced(RING, None, *RING_CLAIMS)
    (symmetry,) = RING.symmetries(RING.setting())
    whole, small = explored(program), explored(reduced(program))
    assert small.distinct == len(orbits(program, symmetry))
    assert small.distinct < whole.distinct / 3
    same_verdicts(whole, small)


def asymmetric(**changes: Any) -> Program:
    """The ring with something that tells places apart."""
    system = evolve(ring(**{k: v for k, v in changes.items() if k != "properties"}),
                    properties=lambda _: changes.get("properties", ()))  # fmt: skip
    return reduced(traced(system))


def _late(s: Ring, to: Any) -> Any:
    """A guard that tells place 2 apart only once every place has counted twice."""
    return all_of(negate(s.holder == to), negate(all_of(to == 2, *(count == 2 for count in s.counts))))


BROKEN = [
    ({"start": 0}, "the set of initial states tells places apart"),
    ({"actions": lambda _: [Action("pass", _pass, lambda s, to: s.holder < to, {"to": [0, 1, 2]})]},
     "action pass tells places apart"),
    ({"actions": lambda _: [Action("pass", _pass, None, {"to": [0, 1]})]}, "action pass tells places apart"),
    ({"actions": lambda _: [Action("pass", _pass, _late, {"to": [0, 1, 2]})]}, "action pass tells places apart"),
    ({"properties": [Property("p", "always", "Place 0 never has it.", lambda s: negate(s.holder == 0))]},
     "property p tells places apart"),
    ({"properties": [Property("p", "step", "It never comes from 1.", lambda t: negate(t.before.holder == 1))]},
     "property p tells places apart"),
    ({"properties": [recovers("p", "Place 2 can have it.", lambda s: s.holder == 2)]}, "property p tells places apart"),
    ({"properties": [recovers("p", "It can come.", lambda s: s.holder >= 0, when=lambda s: s.holder != 1)]},
     "property p tells places apart"),
    ({"properties": [recovers("p", "It can come.", lambda s: s.holder >= 0, by={"pass": {"to": 1}})]},
     "the way out of property p tells places apart"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), BROKEN)
def test_a_false_symmetry_is_caught(changes: dict[str, Any], message: str) -> None:
    """Initial states, guards, arguments, and properties of each kind that name an element are refused by name."""
    with pytest.raises(SymmetryError, match=f"ring: {message}"):
        explored(asymmetric(**changes))


def test_a_false_symmetry_deep_down_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first states do not show, states from all over the explored space do."""
    monkeypatch.setattr("kraftcheck.solvers.search.symmetry.STATES_COMPARED", 32)
    calls: list[str] = []
    monkeypatch.setattr("kraftcheck.solvers.exploration.explore.check_before", lambda kernel: calls.append("before"))
    with pytest.raises(SymmetryError, match="ring: action pass tells places apart"):
        explored(asymmetric(actions=lambda _: [Action("pass", _pass, _late, {"to": [0, 1, 2]})]))
    assert calls == ["before"]


@pytest.mark.parametrize(
    ("symmetry", "message"),
    [
        (Symmetry("places", 3, ("visted",)), "symmetry of places: the layout has no field visted"),
        (Symmetry("places", 2, (), {}, ("counts",)), "symmetry of places: counts is no tuple of 2 items"),
        (Symmetry("places", 6, (), {"holder": 0}), "symmetry of places: 6 elements; at most 5"),
    ],
)
def test_a_symmetry_that_does_not_fit_is_refused(symmetry: Symmetry, message: str) -> None:
    """Unknown fields, tuples of another length and too many orders are named."""
    with pytest.raises(SymmetryError, match=message):
        reduced(traced(evolve(RING, symmetries=lambda _: [symmetry])))


def test_a_forgotten_field_is_caught() -> None:
    """A declaration that leaves a field out is false: the field keeps the names apart."""
    forgetful = evolve(RING, symmetries=lambda _: [Symmetry("places", 3, ("visited",), {}, ("counts",))])
    with pytest.raises(SymmetryError, match="ring: action pass tells places apart"):
        explored(reduced(traced(forgetful)))


def test_every_order_is_tried_or_sorted() -> None:
    """Columns of sets and tuples sort to the least of all images, as trying every order would find."""
    fields = SymmetryFields(Symmetry("x", 3, ("a",), {}, ("b",)), ("a", "b[0]", "b[1]", "b[2]"))
    every = SymmetryFields(Symmetry("x", 3, ("a",), {"c": 0}, ("b",)), ("a", "b[0]", "b[1]", "b[2]", "c"))
    for mask, *rest in itertools.product(range(8), range(3), range(3), range(3)):
        images = [tuple(every.image([mask, *rest, 7], order)[:4]) for order in every.orders()]
        sorted_ = tuple(fields.canonical([mask, *rest]))
        assert sorted_ in images
        assert {tuple(fields.canonical(list(image))) for image in images} == {sorted_}


def test_the_command_reduces_and_says_so() -> None:
    """`--symmetry on` explores fewer states, says by what, and the same verdict comes out."""
    words = ("explore", "tests.toys:HASTY", "--managers", "4", "--quiet", "--json", "-")
    plain, small = kraftcheck(*words), kraftcheck(*words, "--symmetry", "on")
    assert (plain.code, small.code) == (12, 12)
    told, short = plain.document(), small.document()
    assert (told["symmetry"], short["symmetry"]) == ([], ["managers"])
    assert short["states"]["distinct"] < told["states"]["distinct"]
    assert [p["depth"] for p in short["properties"]] == [p["depth"] for p in told["properties"]]
    assert short["properties"][1]["bound"].endswith("with managers 4 up to symmetry")
    assert "each state stands for all that are like it but for the names of: managers" in small.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("elections", "--scope", "tiny"), "--symmetry on: elections has no symmetry at this setting"),
        (("tests.toys:CLOCK",), "--symmetry on: clock has no symmetry at this setting"),
        (("tests.toys:HASTY", "--engine", "spark"), "--symmetry on works with --engine native, not with spark"),
        (("tests.toys:FAVOURITE",), "--symmetry on: two-phase-commit: property first-commits tells managers apart"),
    ],
)
def test_what_cannot_be_reduced_is_refused(words: tuple[str, ...], message: str) -> None:
    """A system without symmetry, another engine, and a property that names an element are each one line, exit 2."""
    assert message in kraftcheck("explore", *words, "--symmetry", "on", "--quiet").refusal()


def test_holds_says_up_to_what() -> None:
    """A property that holds says that the states were counted up to symmetry."""
    found = explored(reduced(traced(toys.TWO_PHASE, "3"))).verdict("consistent").verdict
    assert found == Holds("all 80 states of two-phase-commit with managers 3 up to symmetry")
