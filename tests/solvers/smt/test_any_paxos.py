"""Single-decree Paxos for any number of acceptors, quorums, rounds and values: its proof, and what defects do to it."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.smt.induction import obligations
from kraftcheck.solvers.smt.queries import PROVEN, Obligation, Questions
from kraftcheck.solvers.smt.theory import INITIATION
from tests.shared.samples import one_in
from tests.solvers.smt.asking import any_theory, session
from tests.solvers.smt.paxos import COUNTED, DISJOINT, FORGETFUL, HALVES, PAXOS

SIZES = [bound.name for bound in PAXOS.bounds]
DEFECTS = [(FORGETFUL, "vote", "last-vote-is-the-last", "vote"), (DISJOINT, "propose", "proposals-are-safe", "vote")]


@pytest.mark.parametrize("action", one_in(3, ["promise", "propose", "vote"]))
def test_an_action_of_paxos_keeps_agreement_for_any_number(action: str) -> None:
    """Agreement and all that it rests on is kept however many there are, and not because the premises are false."""
    of = any_theory(PAXOS)
    solver, false = session(of, action), of.program.graph.constant(False)
    assert solver._check(Questions(of).read.expression(false), [false]).result != PROVEN
    asked = [one for one in obligations(of, [claim.id for claim in of.claims]) if one.action == action]
    assert len(asked) == len(of.claims)
    assert [one.claim for one in asked if solver.ask(one).result != PROVEN] == []


@pytest.mark.slow
def test_paxos_agrees_for_any_number() -> None:
    """Every property and lemma is proven for any number of acceptors, quorums, rounds and values."""
    result = kc.prove(PAXOS, **dict.fromkeys(SIZES, "any"))
    result.assert_holds()
    assert len(result.judged) == 9


@pytest.mark.parametrize(
    "sizes",
    [{}, pytest.param({"acceptors": 3, "quorums": 3}, marks=pytest.mark.slow),
     pytest.param({"acceptors": 3, "rounds": 3}, marks=pytest.mark.slow)], ids=str,
)  # fmt: skip
def test_paxos_agrees_with_few(sizes: dict[str, int]) -> None:
    """The cutoffs as a check: no reachable state with few of each breaks agreement, or a lemma."""
    both = evolve(PAXOS, properties=lambda s: [*PAXOS.properties(s), *PAXOS.lemmas(s)])
    explored = kc.explore(both, cache=False, threads=1, **sizes)
    explored.assert_holds()
    assert explored.exploration is not None
    assert explored.exploration.distinct > 500


@pytest.mark.slow
def test_paxos_is_proven_with_the_largest_numbers() -> None:
    """The same claims are inductive with three of each, of bit masks and tuples."""
    kc.prove(PAXOS, **{bound.name: bound.hi for bound in PAXOS.bounds}).assert_holds()


@pytest.mark.parametrize("defect", one_in(2, DEFECTS), ids=lambda defect: defect[1])
def test_a_defect_of_paxos_is_refuted_by_few_and_not_proven(defect: tuple[kc.System, str, str, str]) -> None:
    """An acceptor that forgets its promise, and quorums that need not meet: two rounds decide differently."""
    system, action, claim, last = defect
    explored = kc.explore(system, cache=False, threads=1)
    assert explored.refuted == ("agreement",)
    steps = explored.trace("agreement").steps
    assert (len(steps), steps[-1].action) == (6, last)
    assert session(any_theory(system), action, 5.0).ask(Obligation(claim, action)).result != PROVEN


@pytest.mark.slow
@pytest.mark.parametrize("system", [FORGETFUL, DISJOINT], ids=["forgetful", "disjoint"])
def test_a_defect_of_paxos_is_shown_beside_any_number(system: kc.System) -> None:
    """What is asked for any number is refuted, with the run of six steps that few take."""
    result = kc.prove(system, **dict.fromkeys(SIZES, "any"), properties=["agreement"])
    assert result.refuted == ("agreement",)
    assert len(result.trace("agreement").steps) == 6


@pytest.mark.parametrize("system", [COUNTED, HALVES], ids=["most", "half"])
def test_quorums_of_paxos_are_counted(system: kc.System) -> None:
    """Most of any number of acceptors and most of them meet, and agree; half of them and half of them need not."""
    of, most = any_theory(system), system is COUNTED
    solver = session(of, INITIATION, 60.0 if most else 5.0)
    assert (solver.ask(Obligation("quorums-meet", INITIATION)).result == PROVEN) == most
    explored = kc.explore(system, cache=False, threads=1)
    assert explored.refuted == (() if most else ("agreement",))


@frozen
class Byzantine:
    """Replicas, some of which may say anything, and quorums of them."""

    asked: Any
    quorums: Any
    faulty: Any


def byzantine(fewer: int) -> kc.System:
    """Quorums of two thirds, and faulty replicas that are fewer than a third; as many, where `fewer` is 0."""

    def large(s: Byzantine) -> kc.Truth:
        return kc.each(kc.keys(s.quorums), lambda q: 3 * kc.get(s.quorums, q).size() >= 2 * _count(s))

    def few(s: Byzantine) -> kc.Truth:
        return 3 * s.faulty.size() + fewer <= _count(s)

    def honest(s: Byzantine, q: kc.Word, other: kc.Word) -> kc.Truth:
        both = kc.get(s.quorums, other)
        return kc.some(kc.get(s.quorums, q), lambda r: kc.all_of(both.has(r), kc.negate(s.faulty.has(r))))

    def initial(setting: kc.Setting) -> list[Any]:
        if kc.ANY in setting.bounds.values():
            return [kc.all_where(lambda s: {"quorums are large": large(s), "few are faulty": few(s)})]
        sets = [kc.IntSet(mask) for mask in range(1 << setting["replicas"])]
        chosen = itertools.product(itertools.product(sets, repeat=setting["quorums"]), sets)
        every = (Byzantine((0,) * setting["replicas"], quorums, faulty) for quorums, faulty in chosen)
        return [state for state in every if large(state) and few(state)]

    def layout(setting: kc.Setting) -> Byzantine:
        places = kc.set_below(setting["replicas"])
        asked = kc.map_below(setting["replicas"], kc.ints(0, 1))
        return Byzantine(asked, kc.map_below(setting["quorums"], places), places)

    return kc.System(
        name="byzantine", summary="Quorums that meet in who is not faulty.", layout=layout, initial=initial,
        bounds=[kc.Bound("replicas", 3, 4, "number of replicas", takes_any=True),
                kc.Bound("quorums", 2, 2, "number of quorums", takes_any=True)],
        scopes={"default": {"replicas": 3, "quorums": 2}},
        actions=lambda setting: [kc.Action(
            "ask", lambda s, r: evolve(s, asked=kc.put(s.asked, r, 1)), lambda s, r: kc.get(s.asked, r) == 0,
            {"r": kc.numbers_below(setting["replicas"])})],
        properties=[kc.always("meet", "two quorums share one who is not faulty", lambda s: kc.each(
            kc.keys(s.quorums), lambda q: kc.each(kc.keys(s.quorums), lambda other: honest(s, q, other))))],
        lemmas=[kc.always("large", "quorums are large", large), kc.always("few", "few are faulty", few)],
        quiescent=lambda s: True,
    )  # fmt: skip


def _count(s: Byzantine) -> kc.Word:
    return kc.count(kc.keys(s.asked), lambda _: True)


@pytest.mark.parametrize("fewer", [1, 0])
def test_quorums_meet_beyond_the_faulty(fewer: int) -> None:
    """Two thirds and two thirds share more than less than a third; they need not share more than a third."""
    system = byzantine(fewer)
    asked = session(any_theory(system), INITIATION, 5.0).ask(Obligation("meet", INITIATION))
    assert (asked.result == PROVEN) == bool(fewer)
    explored = [kc.explore(system, cache=False, threads=1, replicas=count).refuted for count in (3, 4)]
    assert explored == [() if fewer else ("meet",), ()]


@pytest.mark.slow
def test_paxos_with_counted_quorums_agrees_for_any_number() -> None:
    """Every property and lemma is proven where quorums are most of the acceptors."""
    result = kc.prove(COUNTED, **dict.fromkeys(SIZES, "any"))
    result.assert_holds()
    assert len(result.judged) == 10


@frozen
class Table:
    """Rows of words."""

    rows: Any


def _each_word(table: Table, claim: Callable[[kc.Word, kc.Word, kc.Word], kc.Truth]) -> kc.Truth:
    """Whether a claim holds of each row, column and word."""
    return kc.each(kc.keys(table.rows), lambda i: kc.each(
        kc.keys(kc.get(table.rows, i)), lambda j: claim(i, j, kc.get(table.rows, i, j))))  # fmt: skip


def _zeros(setting: kc.Setting) -> list[Any]:
    size = setting["size"]
    if size == ANY:
        return [kc.all_where(lambda table: {"all are 0": _each_word(table, lambda i, j, word: word == 0)})]
    return [Table(((0,) * size,) * size)]


GRID = kc.System(
    name="grid", summary="A table in which a place above the diagonal becomes one more than that which mirrors it.",
    bounds=[kc.Bound("size", 2, 3, "rows and columns", takes_any=True)], scopes={"default": {"size": 3}},
    layout=lambda s: Table(kc.map_below(s["size"], kc.map_below(s["size"], kc.ints(0, 1)))), initial=_zeros,
    actions=lambda s: [kc.Action(
        "put", lambda t, i, j: Table(kc.put(t.rows, (i, j), kc.get(t.rows, j, i) + 1)), lambda t, i, j: i < j,
        dict.fromkeys("ij", kc.numbers_below(s["size"])))],
    properties=[
        kc.always("lower-is-0", "only what is above the diagonal is written", lambda t: _each_word(
            t, lambda i, j, word: kc.any_of(i < j, word == 0))),
        kc.always("upper-is-0", "nothing is written above it", lambda t: _each_word(
            t, lambda i, j, word: kc.any_of(i >= j, word == 0))),
    ],
    quiescent=lambda _: True,
)  # fmt: skip


@pytest.mark.parametrize("size", [3, "any"])
def test_maps_are_read_and_written_at_places(size: int | str) -> None:
    """A map of maps, of three or of any number, has what was put at a place, and elsewhere what it had."""
    result = kc.prove(GRID, size=size)
    assert result.refuted == ("upper-is-0",)
    assert isinstance(result.verdict("lower-is-0"), kc.Holds)
