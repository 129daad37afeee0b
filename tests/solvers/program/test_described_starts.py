"""Initial states that a rule describes: they are listed natively, and every engine begins in the same ones."""

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.layout import Described
from kraftcheck.solvers.audit.comparison import StateComparison
from kraftcheck.solvers.mutants.mutate import mutate
from kraftcheck.solvers.program import starts
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.starts import initial_states
from kraftcheck.solvers.program.verdict import Holds, Refuted
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.search.symmetry import reduced
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.runs.bounded import check_bounded, check_inductive
from kraftcheck.solvers.smt.spacer import infer
from kraftcheck.solvers.smt.theory import Theory, theory
from tests.shared.commands import kraftcheck
from tests.shared.explored import traced

EFFORT = Effort(timeout=20)


@frozen
class Pair:
    """Two numbers, a set and a truth."""

    low: Any
    high: Any
    members: Any
    on: Any


LAYOUT = Pair(kc.ints(-1, 4), kc.ints(0, 5), kc.IntSet(kc.subset_of(4)), kc.truth())


def sensible(state: Pair) -> dict[str, Any]:
    """The numbers are in order, the set says where they are, and what is on has members."""
    return {
        "order": state.low < state.high,
        "members": kc.all_of(*(kc.implies(state.members.has(n), state.low <= n) for n in range(4))),
        "on": kc.implies(state.on, state.members.size() >= 2),
        "product": state.low * state.high % 3 == 0,
    }


def pair(where: Callable[[Pair], Any] = sensible, listed: Any = None) -> kc.System:
    """A system that raises a number, from described or listed states."""
    return kc.System(
        name="pair",
        summary="Two numbers in order, the smaller of which rises.",
        layout=LAYOUT,
        initial=kc.all_where(where) if listed is None else listed,
        actions=[
            kc.Action("rise", lambda state: evolve(state, low=state.low + 1), lambda state: state.low + 1 < state.high)
        ],
        properties=[
            kc.always("in-order", "low is below high", lambda state: state.low < state.high),
            kc.always("negative", "low is below 3", lambda state: state.low < 3),
            kc.step("rises", "low never falls", lambda step: step.before.low < step.after.low),
            kc.sometimes("far", "low is 3", lambda state: state.low == 3),
        ],
        quiescent=lambda state: True,
    )  # fmt: skip


def by_hand(where: Callable[[Pair], Any]) -> list[Pair]:
    """All states of the layout of which a rule holds, one after the other on ints."""
    values = itertools.product(range(-1, 5), range(6), range(16), (False, True))
    states = (Pair(low, high, kc.IntSet(mask), on) for low, high, mask, on in values)
    return [state for state in states if all(Described(where).holds(state).values())]


RULES: list[Callable[[Any], Any]] = [
    sensible,
    lambda state: state.low == 3,
    lambda state: kc.all_of(state.low == state.high, kc.negate(state.on)),
    lambda state: kc.any_of(kc.all_of(state.low == 1, state.on), state.members.mask == 9),
    lambda state: kc.choose(state.on, state.high, state.low) == 4,
    lambda state: kc.pick((3, 1, 2), state.low, 0) == state.members.size(),
    lambda state: state.members.minus(kc.IntSet.of((0, 2))).is_empty(),
    lambda state: (state.low - state.high) // 2 == -2,
    lambda state: True,
    lambda state: {},
]


@pytest.mark.parametrize("where", RULES)
def test_the_states_are_those_that_ints_find(where: Callable[[Any], Any]) -> None:
    """The listed states are all values of the fields of which the rule holds on ints, and no others."""
    program = traced(pair(where))
    assert [program.layout.unpack(state) for state in program.initial] == sorted(
        by_hand(where), key=program.layout.pack
    )


def test_every_engine_begins_in_the_same_states() -> None:
    """Described and listed initial states give the same counts, verdicts and lengths; ints, walks and symmetry too."""
    described, listed = pair(), pair(listed=by_hand(sensible))
    one, other = kc.explore(described, threads=1), kc.explore(listed, threads=1)
    assert one.exploration is not None
    assert other.exploration is not None
    assert one.exploration.levels == other.exploration.levels
    assert one.exploration.generated == other.exploration.generated
    assert [(v.claim, type(v.verdict), v.depth) for v in one.judged] == [
        (v.claim, type(v.verdict), v.depth) for v in other.judged
    ]
    states = initial_states(described, described.setting())
    assert sorted(states, key=repr) == sorted(by_hand(sensible), key=repr)
    assert states[1:3] == (states[1], states[2])
    assert set(Integers(described, described.setting()).initial) == set(by_hand(sensible))
    walked = kc.simulate(described, runs=200, steps=5)
    assert [v.claim for v in walked.judged if isinstance(v.verdict, Refuted)] == ["negative"]


def theory_of(system: kc.System) -> Theory:
    """A theory, for provers."""
    return theory(system, system.setting(), use_lemmas=False)


def test_provers_take_the_rule_as_it_is() -> None:
    """Induction, k-induction, Spacer and bounded runs judge described states as listed ones, and list none."""
    subject = theory_of(pair())
    assert len(subject.program.initial) == 1
    proof = prove(lambda: subject, effort=EFFORT, clock=time.monotonic)
    assert [proof.proven(claim) for claim in ("in-order", "negative", "rises")] == [True, False, True]
    bounded = check_bounded(subject, ["in-order", "negative"], 4, EFFORT, threading.Event())
    assert isinstance(bounded["negative"], Refuted)
    assert not isinstance(bounded["in-order"], Refuted)
    of_ints = {v.claim: v.depth for v in kc.explore(pair(), threads=1).judged}
    assert len(bounded["negative"].trace.steps) == of_ints["negative"]
    inductive = check_inductive(subject, ["in-order", "negative"], 1, EFFORT, threading.Event())
    assert [type(inductive[claim]) for claim in ("in-order", "negative")] == [Holds, Refuted]
    assert isinstance(infer(subject, "in-order", EFFORT).verdict, Holds)
    assert not isinstance(infer(subject, "negative", EFFORT).verdict, Holds)


def test_initiation_fails_where_a_described_state_breaks_a_claim() -> None:
    """A claim that one described state breaks is not proven, and the state is the counterexample, on ints."""
    result = kc.prove(pair(lambda state: state.low <= state.high))
    verdict = result.verdict("in-order")
    assert isinstance(verdict, Refuted)
    assert verdict.trace.steps == ()


EMPTY: list[Callable[[Any], Any]] = [
    lambda state: False,
    lambda state: kc.all_of(state.low > 2, state.low * state.low < 9, state.high > 0),
    lambda state: {"three": state.members.size() == 3, "two": state.members.size() == 2},
]


@pytest.mark.parametrize("where", EMPTY)
def test_a_rule_that_no_state_satisfies_is_refused(where: Callable[[Any], Any]) -> None:
    """Of no initial state everything would hold: each engine refuses such a description, and none answers."""
    system = pair(where)
    with pytest.raises(SystemFault, match="describes no state"):
        traced(system)
    subject = theory_of(system)
    with pytest.raises(SystemFault, match="describes no state"):
        prove(lambda: subject, effort=EFFORT, clock=time.monotonic)
    for check in (check_bounded, check_inductive):
        with pytest.raises(SystemFault, match="describes no state"):
            check(subject, ["in-order"], 1, EFFORT, threading.Event())
    with pytest.raises(SystemFault, match="describes no state"):
        infer(subject, "in-order", EFFORT)
    with pytest.raises(kc.Refusal, match="pair: initial describes no state"):
        kc.prove(system)


NOBODY = pair(EMPTY[0])


@pytest.mark.parametrize("command", [["explore"], ["prove"], ["prove", "--bmc", "2"], ["simulate"]])
def test_the_command_line_refuses_it_in_one_line(command: list[str]) -> None:
    """Exit code 2, and one line that names the system and the part."""
    ran = kraftcheck(command[0], f"{__name__}:NOBODY", *command[1:])
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert "NOBODY: initial describes no state" in ran.err


def test_too_many_states_are_refused_with_the_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """A description of more states than can be listed names the field up to which they were counted."""
    monkeypatch.setattr(starts, "MOST_STATES", 100)
    with pytest.raises(SystemFault, match="more than 100 states, counted up to members"):
        traced(pair(lambda state: state.high > 0))


def test_a_wide_field_costs_nothing_where_the_rule_gives_its_value() -> None:
    """A set of 60 members and a number below 2^40 are found at once, by halves of their domains."""
    layout = Pair(kc.ints(0, 1 << 40), kc.ints(0, 3), kc.IntSet(kc.subset_of(60)), kc.truth())

    def told(state: Pair) -> Any:
        members = kc.all_of(state.members.has(7), state.members.minus(kc.IntSet.of((7, 59))).is_empty())
        return kc.all_of(state.low == (1 << 39) + state.high, members)

    program = traced(evolve(pair(told), layout=lambda setting: layout))
    lows = {program.layout.unpack(state).low - (1 << 39) for state in program.initial}
    masks = {program.layout.unpack(state).members.mask for state in program.initial}
    assert (len(program.initial), lows, masks) == (16, {0, 1, 2, 3}, {1 << 7, 1 << 7 | 1 << 59})


def test_a_description_stands_alone() -> None:
    """A description beside a state is refused, and so is a rule that answers with a number."""
    system = pair()
    both = evolve(system, initial=lambda setting: [*kc.all_where(sensible), by_hand(sensible)[0]])
    with pytest.raises(SystemFault, match="beside other states"):
        traced(both)
    with pytest.raises(SystemFault, match=r"initial described gave .*, not a truth"):
        traced(pair(lambda state: state.low))


def test_the_audit_asks_the_rule_on_ints() -> None:
    """A state that the engine lists against the rule, and one that it leaves out, are differences."""
    program = traced(pair())
    StateComparison(program).initial(64)
    extra = program.layout.pack(Pair(0, 0, kc.IntSet(), False))
    for initial in ((*program.initial, extra), program.initial[:-1]):
        with pytest.raises(EngineDisagreement, match="against initial"):
            StateComparison(evolve(program, initial=tuple(sorted(initial)))).initial(64 * 8)


@frozen
class Seats:
    """Who sits where."""

    taken: tuple[Any, ...]
    left: Any


def seats(where: Callable[[Any], Any]) -> kc.System:
    """Three seats of which people get up."""

    def rise(state: Seats, seat: Any) -> Seats:
        return Seats(kc.put(state.taken, seat, False), state.left)

    return kc.System(
        "seats", "Seats.", initial=kc.all_where(where), layout=Seats((kc.truth(),) * 3, kc.ints(0, 3)),
        actions=[kc.Action("rise", rise, lambda state, seat: kc.get(state.taken, seat), {"seat": range(3)})],
        symmetries=[kc.Symmetry("seats", 3, tuples=("taken",))], quiescent=lambda s: True,
    )  # fmt: skip


def two_sit(state: Seats) -> Any:
    """Two of three seats are taken."""
    return kc.all_of(kc.count(state.taken, lambda one: one) == 2, state.left == 1)


def test_symmetry_is_checked_of_described_states() -> None:
    """A symmetric description is reduced; one that tells elements apart is refused."""
    even = kc.explore(seats(two_sit), symmetry=True)
    assert even.exploration is not None
    assert even.exploration.distinct == 3
    assert len(reduced(traced(seats(two_sit))).initial) == 1
    with pytest.raises(kc.Refusal, match="set of initial states tells seats apart"):
        kc.explore(seats(lambda s: kc.all_of(s.taken[0], s.left == 1)), symmetry=True)


def test_mutants_begin_in_described_states() -> None:
    """The mutated system has the same initial states, of no mutant."""
    system = pair()
    mutations = mutate(system, system.setting())
    assert len(mutations.program.initial) == len(by_hand(sensible))
