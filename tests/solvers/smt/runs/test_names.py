"""Names that an author gives, and initial states that are described: what provers make of them."""

import threading
import time
from collections.abc import Callable
from typing import Any

import attrs
import pytest
import z3
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.certificates.certificate import unnamed
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.verdict import Holds, Refuted
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.runs import starts
from kraftcheck.solvers.smt.runs.bounded import check_bounded, check_inductive
from kraftcheck.solvers.smt.runs.starts import check_described
from kraftcheck.solvers.smt.spacer import infer
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.verdicts import SearchEvidence, judge
from tests.shared.any_number import LEASE, NOBODY
from tests.solvers.smt.asking import any_theory

EFFORT = Effort(timeout=20.0)


def of(state: type, layout: Any, initial: Any, actions: list[Any], **claims: Any) -> Any:
    """A system with claims about its states."""
    return kc.System(
        name="named", summary="names", layout=state(*layout), initial=[state(*initial)], actions=actions,
        properties=[kc.always(name, name, claim) for name, claim in claims.items()], quiescent=lambda s: True,
    )  # fmt: skip


def flags(name: str) -> Any:
    """A truth that is always false, an action of the same name that counts, and what the provers say of the count."""
    state = attrs.make_class("Flags", {name: attrs.field(), "y": attrs.field()}, frozen=True)
    actions = [
        kc.Action(name, lambda s: evolve(s, y=1), lambda s: kc.negate(getattr(s, name))),
        kc.Action("stay", lambda s: s, lambda s: getattr(s, name)),
    ]
    layout = kc.truth(), kc.ints(0, 3)
    return of(state, layout, (False, 0), actions, zero=lambda s: s.y == 0, small=lambda s: s.y < 2)


def traced(made: Any) -> Theory:
    """The theory of a system."""
    return theory(made, made.setting(None))


@pytest.mark.parametrize("name", ["p0", "p1", "go", "reached", "failed", "y0", "k", "later", "now", "after"])
def test_no_field_is_a_literal(name: str) -> None:
    """What tracks premises, takes a step, or is a relation of Spacer's is no field, whatever its name."""
    made = flags(name)
    verdicts = {row.claim.id: row.verdict for row in kc.prove(made, search_states=0, cache=False).rows}
    assert verdicts == {"zero": "unknown", "small": "holds"}
    of_few, stop = traced(made), threading.Event()
    assert isinstance(check_bounded(of_few, ["zero"], 2, EFFORT, stop)["zero"], Refuted)
    assert isinstance(check_inductive(of_few, ["zero"], 1, EFFORT, stop)["zero"], Refuted)
    assert not isinstance(infer(of_few, "zero", EFFORT).verdict, Holds)
    assert isinstance(infer(of_few, "small", EFFORT).verdict, Holds)


@frozen
class Inner:
    """A record whose leaf is named as an argument."""

    d: Any
    e: Any


@frozen
class Outer:
    """A field that is named as an action."""

    up: Any
    y: Any


def test_no_field_is_an_argument() -> None:
    """The leaf `d` of a field `up`, the argument `d` of an action `up`, and `e'` and `d now` are four words."""
    values = {"d": range(4), "e'": range(4), "d now": range(4), "d.0": range(4)}

    def becomes(s: Outer, d: Any, **rest: Any) -> Outer:
        return Outer(Inner(rest["d now"], rest["e'"]), d)

    made = of(
        Outer, (Inner(kc.ints(0, 3), kc.ints(0, 3)), kc.ints(0, 3)), (Inner(0, 0), 0),
        [kc.Action("up", becomes, parameters=values)], zero=lambda s: kc.all_of(s.y == 0, s.up.d == 0),
    )  # fmt: skip
    same = kc.step("same", "y becomes what d was", lambda t: t.after.y == t.before.up.d)
    made = evolve(made, properties=lambda b: [same, kc.always("zero", "y is 0", lambda s: s.y == 0)])
    assert not {row.verdict for row in kc.prove(made, cache=False).rows} & {"holds"}
    subject, claims = traced(made), ["same", "zero"]
    assert {type(v) for v in check_bounded(subject, claims, 2, EFFORT, threading.Event()).values()} == {Refuted}
    assert unnamed(subject) == "up.e'"


def test_no_argument_is_another_actions() -> None:
    """The argument `b.c` of an action `a` is not the argument `c` of an action `a.b`."""
    actions = [
        kc.Action("a.b", lambda s, c: Inner(c, s.e), lambda s, c: c > 1, parameters={"c": range(4)}),
        kc.Action("a", lambda s, **given: Inner(s.d, given["b.c"]), parameters={"b.c": range(2)}),
    ]
    made = of(Inner, (kc.ints(0, 3), kc.ints(0, 3)), (0, 0), actions, e=lambda s: s.e < 2, d=lambda s: s.d != 1)
    names = traced(made).program.graph.variables
    assert len({*names}) == len(names)
    assert {row.verdict for row in kc.prove(made, cache=False).rows} == {"holds"}


@frozen
class Pointed:
    """A set, a word that is named as a place of the prover's, and whether the set seemed no larger than without it."""

    a: Any
    place: Any
    seen: Any


def test_no_place_is_a_field() -> None:
    """What is said of every place of a set is not said of a word named `place`."""

    def initial(b: Any) -> list[Any]:
        return [kc.all_where(lambda s: {"a": s.a.is_empty(), "p": s.place == -1, "z": kc.negate(s.seen)})]

    def less(s: Pointed) -> Any:
        return s.a.minus(s.a.just(s.place))

    def actions(b: Any) -> list[Any]:
        given = {"p": kc.numbers_below(b["n"])}
        return [
            kc.Action("add", lambda s, p: evolve(s, a=s.a.plus(s.a.just(p))), lambda s, p: True, given),
            kc.Action("point", lambda s, p: evolve(s, place=p), None, given),
            kc.Action("look", lambda s: evolve(s, seen=kc.any_of(s.seen, less(s).size() >= s.a.size())),
                      lambda s: s.a.size() >= 5),
        ]  # fmt: skip

    def three(s: Pointed) -> Any:
        """So that quantifiers are asked."""
        return kc.each(s.a, lambda i: kc.each(s.a, lambda j: kc.each(s.a, lambda k: kc.any_of(i != j, j != k, i == k))))

    made = kc.System(
        name="pointed", summary="a place", bounds=[kc.Bound("n", 1, 6, "n", takes_any=True)],
        layout=lambda b: Pointed(kc.set_below(b["n"]), kc.word_below(b["n"], -1), kc.truth()), initial=initial,
        actions=actions, quiescent=lambda s: True, scopes={"default": {"n": 3}},
        properties=[kc.always("less", "it is smaller", lambda s: kc.negate(s.seen)), kc.always("three", "x", three)],
    )  # fmt: skip
    verdicts = {row.claim.id: row.verdict for row in kc.prove(made, n="any", search_states=0, cache=False).rows}
    assert verdicts == {"less": "unknown", "three": "holds"}


SOON = Effort(timeout=20, seed=3)


@frozen
class Count:
    """A number."""

    n: Any


def few(*limits: int, listed: bool = False) -> Theory:
    """Of a number below some limits, or of one that is listed."""
    described = kc.all_where(lambda state: {f"below {limit}": state.n < limit for limit in limits})
    system = kc.System(
        name="count", summary="A number.", layout=Count(kc.ints(0, 3)), initial=[Count(0)] if listed else described,
        actions=[kc.Action("set", lambda state: evolve(state, n=1))],
        properties=[kc.always("one", "it is a number", lambda state: True)],
    )  # fmt: skip
    return theory(system, system.setting())


def of_any(*leaders: int) -> Theory:
    """Of any number of brokers, where the leader is each of some."""
    rule = kc.all_where(lambda state: {f"is {leader}": state.leader == leader for leader in leaders})
    system = evolve(LEASE, initial=lambda setting: [rule])
    return any_theory(system)


ASKS: dict[str, Callable[[Theory], object]] = {
    "induction": lambda subject: prove(lambda: subject, effort=SOON, clock=time.monotonic),
    "runs": lambda subject: check_bounded(subject, ["one"], 1, SOON, threading.Event()),
    "k-induction": lambda subject: check_inductive(subject, ["one"], 1, SOON, threading.Event()),
    "Spacer": lambda subject: infer(subject, "one", SOON),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=list(ASKS))
def test_nothing_is_said_of_no_state(ask: Callable[[Theory], object]) -> None:
    """Of initial states of which there is none each prover would say that a claim holds."""
    with pytest.raises(SystemFault, match="initial describes no state"):
        ask(few(1, 0))


def test_what_no_number_of_brokers_satisfies_is_refused() -> None:
    """So it is of any number of brokers."""
    with pytest.raises(SystemFault, match="initial describes no state"):
        ASKS["induction"](of_any(0, NOBODY))


def is_refused(subject: Theory) -> bool:
    """Whether the description of its initial states is."""
    try:
        check_described(subject, SOON)
    except SystemFault:
        return True
    return False


def test_what_a_state_satisfies_is_not_refused() -> None:
    """Of bounded fields, of any number of brokers, and of what is listed."""
    satisfied = {"few": few(1, 2), "any": of_any(NOBODY), "listed": few(listed=True)}
    assert [name for name, subject in satisfied.items() if is_refused(subject)] == []
    assert is_refused(few(1, 0))


def asked(monkeypatch: pytest.MonkeyPatch, answer: Any) -> list[Effort]:
    """The efforts of queries from now on, each of which has an answer."""
    efforts: list[Effort] = []

    class Solver:
        def add(self, *truths: Any) -> None:
            """Take premises."""

        def check(self) -> Any:
            """The answer."""
            return answer

    def new_solver(premises: Any, effort: Effort, context: Any) -> Any:
        efforts.append(effort)
        return Solver()

    monkeypatch.setattr(starts, "new_solver", new_solver)
    return efforts


def test_few_are_not_proven_of_what_is_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of bounded fields no answer is no description; of any number it is seldom had, and asked for two seconds."""
    efforts = asked(monkeypatch, z3.unknown)
    with pytest.raises(SystemFault, match="no answer in 20 s"):
        check_described(few(1), SOON)
    check_described(of_any(NOBODY), SOON)
    check_described(of_any(NOBODY), Effort(timeout=1))
    check_described(few(listed=True), SOON)
    assert [(one.timeout, one.seed) for one in efforts] == [(20, 3), (starts.SECONDS, 3), (1, 0)]


def test_a_description_that_is_satisfied_is_none_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was asked, an answer with a state refuses nothing."""
    efforts = asked(monkeypatch, z3.sat)
    for subject in (few(1), of_any(NOBODY)):
        check_described(subject, SOON)
    assert len(efforts) == 2


@pytest.mark.parametrize("empty", [False, True], ids=["described", "of no state"])
def test_any_number_is_described_as_few_are(empty: bool) -> None:
    """A description of any number is known to be of a state where one with few is; else a search has to show it."""

    def some(one: kc.Word) -> Any:
        return kc.all_of(one < 1, one > 1) if empty else True

    rule = kc.all_where(lambda state: {"is": state.leader == NOBODY, "some": kc.some(state.fenced, some)})
    system = evolve(LEASE, initial=lambda setting: [rule] if setting["brokers"] == ANY else LEASE.initial(setting))
    subject = any_theory(system)
    proof = prove(lambda: subject, effort=SOON, clock=time.monotonic, few=[lambda: theory(LEASE, LEASE.setting())])
    assert proof.proven("leader-unfenced")
    (told,) = (one.verdict.verdict for one in judge(proof, SearchEvidence(reason="--search 0")))
    assert getattr(told, "reason", "") == ("proven, but no state is known to be initial (--search 0)" if empty else "")
