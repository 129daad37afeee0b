"""Random systems: engines agree with a naive search; all parts of the language occur; a wrong engine is noticed."""

import functools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from llvmlite import ir

from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.model.language import terms
from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.layout import Layout
from kraftcheck.model.language.terms import TRUTH_OPERATORS, WORD_OPERATORS
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.machine_code import lower
from kraftcheck.solvers.machine_code.objectcode import ObjectCache
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.search.levels import ExpansionRound
from kraftcheck.solvers.search.visited import VisitedSet
from kraftcheck.solvers.smt.z3terms import Z3Reader as Z3Reader
from kraftcheck.solvers.traces.render import BrokenTrace
from tests.ci.spark.levels import begun, finished
from tests.random_systems import naive
from tests.random_systems.building import build
from tests.random_systems.comparison import Case, DisagreementError, agrees
from tests.random_systems.describing import described
from tests.random_systems.engines import bounded_agrees, integers_agree, walks_agree
from tests.random_systems.machines import Field, Machine
from tests.random_systems.nodes import AFTER, EVENT, Applied, Node, Variable, operators_of
from tests.random_systems.operators import OPERATORS
from tests.random_systems.seeds import ALWAYS, FAILED, NIGHTLY, check_seed
from tests.random_systems.systems import Drawn, drawn
from tests.random_systems.systems import drawn as draw_anew
from tests.random_systems.verdicts import plain_word, table
from tests.shared.commands import kraftcheck

CHUNK, LONG_CHUNK = 25, 100

CHUNKS = [range(first, first + CHUNK) for first in range(0, ALWAYS, CHUNK)] + [
    pytest.param(range(first, first + LONG_CHUNK), marks=pytest.mark.slow)
    for first in range(ALWAYS, NIGHTLY, LONG_CHUNK)
]


@pytest.mark.each_change
@pytest.mark.parametrize("seeds", CHUNKS, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_engines_agree_with_the_naive_search(seeds: range, tmp_path: Path) -> None:
    """States, counts, verdicts, lengths and witnesses are those of the naive search, for each system."""
    for seed in seeds:
        check_seed(seed, tmp_path)


def test_every_seed_below_always_is_judged_at_each_change() -> None:
    """The chunks without a mark have each of the seeds that other tests vouch for, once."""
    ordinary = [chunk for chunk in CHUNKS if isinstance(chunk, range)]
    assert [seed for chunk in ordinary for seed in chunk] == list(range(ALWAYS))


@pytest.mark.parametrize("seed", FAILED)
def test_what_failed_once_agrees(seed: int, tmp_path: Path) -> None:
    """Every engine agrees on the systems that once showed an error."""
    check_seed(seed, tmp_path, everything=True)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("seed", [7, 21, 34])
def test_spark_agrees_with_the_naive_search(seed: int, session: Any, tmp_path: Path) -> None:
    """Levels as jobs of a real Spark give the same numbers and verdicts, and so does what its arcs say of recovery."""
    case = Case.of_seed(seed)
    run, _ = begun(case.program, tmp_path / "out")
    cluster = SparkCluster.of(session, block_spec(case.program, 3, ObjectCache(None)), tmp_path / "log")
    run.expand(cluster)
    run.judge(cluster, 0)
    agrees(case, finished(run))


def refuted(seed: int) -> list[str]:
    """The claims of a seed's system that are refuted."""
    return [name for name, verdict in Case.of_seed(seed).verdicts.items() if verdict.word == "Refuted"]


@pytest.mark.each_change
@pytest.mark.parametrize("seed", range(4))
def test_documents_agree_with_the_naive_search(seed: int, tmp_path: Path) -> None:
    """The command line's document has the naive numbers, and its counterexamples run again from their files."""
    case, name = Case.of_seed(seed), f"tests.random_systems.seeds:SEED_{seed}"
    ran = kraftcheck("explore", name, "--quiet", "--json", "-", "--out", tmp_path / "out")
    told = ran.document()
    assert told["states"]["distinct"] == len(case.graph.depth)
    words = {
        one["id"]: (plain_word(one["kind"], one["verdict"].title(), one["depth"]), one["depth"])
        for one in told["properties"]
    }
    assert words == {name: (one.word, one.length) for name, one in case.verdicts.items()}
    for claim in refuted(seed):
        path = tmp_path / "out" / f"{claim}.itf.json"
        assert json.loads(path.read_text())["#meta"]["kraftcheck"]["property"] == claim
        assert kraftcheck("trace", path, "--system", name).code == 0


@pytest.fixture(scope="module")
def systems() -> list[Drawn]:
    """The systems that run at every change."""
    return [drawn(seed) for seed in range(ALWAYS)]


def with_parts(fields: tuple[Field, ...]) -> Iterator[Field]:
    """Fields, and those within others."""
    for one in fields:
        yield one
        yield from with_parts(one.parts)


def variables_of(node: Node) -> Iterator[Variable]:
    """The variables in an expression."""
    if isinstance(node, Variable):
        yield node
    elif isinstance(node, Applied):
        for operand in node.operands:
            yield from variables_of(operand)


@pytest.mark.slow
def test_each_word_of_the_language_occurs(systems: list[Drawn]) -> None:
    """Every function, method and infix operator of the table is in some system, on every sort that it takes."""
    used = set().union(*(operators_of(node) for one in systems for node in one.machine.nodes()))
    assert sorted(OPERATORS.keys() - used) == []


@pytest.mark.slow
def test_each_operator_of_terms_occurs(systems: list[Drawn]) -> None:
    """Every operator that engines compile, `ite` included, is in the graphs of at least ten systems."""
    found: Counter[str] = Counter()
    for one in systems:
        system = build(one.machine)
        found.update({node.op for node in trace(system, system.setting()).graph.nodes})
    assert {op: found[op] for op in (*TRUTH_OPERATORS, *WORD_OPERATORS, "ite") if found[op] < 10} == {}


def test_each_verdict_occurs(systems: list[Drawn]) -> None:
    """Claims of every kind hold and fail, goals are shown and missed, ways out are found, lost, cut and not needed."""
    found = Counter((name.partition("-")[0], told.word) for one in systems for name, told in table(one.graph).items())
    wanted = {
        **{(kind, word): 20 for kind in ("always", "step") for word in ("Holds", "Refuted")},
        **{(kind, word): 20 for kind in ("sometimes", "happens") for word in ("Holds", "Vacuous")},
        ("deadlock", "Holds"): 20, ("deadlock", "Refuted"): 10, ("recovers", "Holds"): 10, ("recovers", "Refuted"): 20,
        ("recovers", "Unknown"): 8, ("recovers", "Vacuous"): 20,
    }  # fmt: skip
    assert {case: found[case] for case, least in wanted.items() if found[case] < least} == {}


def test_counterexamples_have_many_lengths(systems: list[Drawn]) -> None:
    """There are at least five counterexamples of each length from 0 to 3, and some that are longer."""
    lengths = Counter(min(told.length, 4) for one in systems for told in table(one.graph).values()
                      if told.word == "Refuted" and told.length is not None)  # fmt: skip
    assert {length: lengths[length] for length in range(5) if lengths[length] < 5} == {}


def features(one: Drawn) -> Iterator[str]:
    """What a system has of what not every system has."""
    machine, graph = one.machine, one.graph
    fields = tuple(field for move in machine.moves for field, _ in move.parameters)
    parts = list(with_parts(machine.fields))
    yield from {f"field {part.kind}" for part in parts}
    yield from {f"argument {part.kind}" for part in with_parts(fields)}
    told = {variable.source for node in machine.nodes() for variable in variables_of(node)}
    layout = Layout(build(machine).layout(None))  # type: ignore[arg-type]
    guards = [move.guard for move in machine.moves]
    present = {
        "symmetric": machine.symmetric, "pruned": bool(graph.pruned()),
        "undeclared": graph.fault(), "several initial states": graph.initial > 1,
        "budget": bool(machine.bounds), "several words": layout.words > 1, "after": AFTER in told,
        "event": EVENT in told, "no guard": None in guards, "several arguments": any(
            len(move.parameters) > 1 for move in machine.moves),
        "a conjunct never true": bool(graph.never(graph.true)), "whole states chosen": any(
            move.when is not None for move in machine.moves),
        "way out": any(claim.by for claim in machine.claims), "when": any(c.when is not None for c in machine.claims),
        "negative": any(part.lo < 0 for part in parts),
        "one value": any(part.kind == "word" and part.lo == part.hi for part in parts),
    }  # fmt: skip
    yield from (name for name, there in present.items() if there)


KINDS = ("word", "truth", "id", "set", "list", "one", "record", "tuple")


def test_each_part_of_systems_occurs(systems: list[Drawn]) -> None:
    """Every kind of field and argument, and every other feature, is in at least five systems."""
    found = Counter(name for one in systems for name in features(one))
    wanted = [f"field {kind}" for kind in KINDS] + [f"argument {kind}" for kind in KINDS[:-1]]
    wanted += ["symmetric", "pruned", "undeclared",
               "several initial states", "budget", "several words", "after", "event", "no guard",
               "several arguments", "a conjunct never true", "whole states chosen", "way out", "when", "negative",
               "one value"]  # fmt: skip
    assert {name: found[name] for name in wanted if found[name] < 5} == {}


def test_a_seed_is_all_that_it_takes() -> None:
    """The same seed gives the same system, with the same description; another gives another."""
    machines: list[Machine] = [drawn(seed).machine for seed in (3, 3, 4)]
    assert described(machines[0]) == described(machines[1]) != described(machines[2])
    assert "random-3" in described(machines[0])


machine_of = functools.cache(draw_anew)  # systems as they are drawn while nothing is wrong, once for all mutants


def native(case: Case) -> None:
    """The native engine, its compiled code never kept."""
    agrees(case, case.explored())


def first_caught(check: Callable[[Case], None], last: int = ALWAYS) -> int | None:
    """The first seed that shows a mutant; None: none does."""
    for seed in range(last):
        try:
            check(Case(machine_of(seed)))
        except (DisagreementError, EngineDisagreement, BrokenTrace):
            return seed
    return None


@pytest.fixture(scope="module", autouse=True)
def drawn_first() -> None:
    """Draw the first systems before anything is made wrong."""
    for seed in range(60):
        machine_of(seed)


def wrong_code(monkeypatch: pytest.MonkeyPatch, op: str, make: Callable[..., Any]) -> None:
    """Compile an operator as another."""
    right = lower.lower_operator

    def wrong(b: ir.IRBuilder, term: Any, values: Any) -> Any:
        return make(b, *values) if term.op == op else right(b, term, values)

    monkeypatch.setattr(lower, "lower_operator", wrong)


@pytest.mark.each_change
@pytest.mark.parametrize(
    ("op", "make"),
    [
        ("lt", lambda b, x, y: b.icmp_signed("<=", x, y)),
        ("lt", lambda b, x, y: b.icmp_unsigned("<", x, y)),
        ("or", lambda b, x, y: b.xor(x, y)),
        ("ite", lambda b, c, x, y: b.select(c, y, x)),
        ("bclear", lambda b, x, y: b.xor(x, y)),
        ("count", lambda b, x: b.and_(b.ctpop(x), lower.word(1))),
        ("lowest", lambda b, x: b.cttz(x, ir.Constant(lower.TRUTH, 0))),
        ("sub", lambda b, x, y: b.sub(y, x)),
    ],
)
def test_an_operator_compiled_wrongly_is_caught(monkeypatch: pytest.MonkeyPatch, op: str, make: Any) -> None:
    """Machine code that confuses an operator with another disagrees on some seed."""
    wrong_code(monkeypatch, op, make)
    assert first_caught(native) is not None


@pytest.mark.parametrize(
    ("owner", "name", "wrong"),
    [
        (BrokerSet, "keep", BrokerSet.plus),
        (BrokerSet, "first", lambda self: -1),
        (BrokerSet, "within", lambda self, other: other.minus(self).is_empty()),
        (Replicas, "minus", Replicas.keep),
        (Replicas, "first_in", lambda self, wanted: self.first()),
    ],
)
def test_a_word_of_the_language_that_is_wrong_is_caught(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, wrong: Any
) -> None:
    """A method that is wrong in the same way on ints and on terms disagrees: the naive search does not use it."""
    monkeypatch.setattr(owner, name, wrong)
    assert first_caught(native) is not None


def test_a_state_that_the_engine_loses_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that forgets the last candidate of a round disagrees."""
    right = ExpansionRound.count

    def losing(self: ExpansionRound) -> Sequence[int]:
        for piece in self.pieces[-1:] if self.ranges.size else ():
            filled = piece.counts.nonzero()[0]
            if len(filled):
                piece.counts[filled[-1]] -= 1
        return right(self)

    monkeypatch.setattr(ExpansionRound, "count", losing)
    assert first_caught(native) is not None


def test_a_witness_that_is_not_the_shortest_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths that end in a state and in the state before it alike are noticed."""
    right = VisitedSet.path
    monkeypatch.setattr(VisitedSet, "path", lambda store, state: (right(store, state)[0], right(store, state)[1][:-1]))
    assert first_caught(native) is not None


def test_an_interval_that_is_too_narrow_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the interval of a sum leaves out its largest value, a domain no longer cuts, or a comparison is folded."""
    right = terms.interval

    def narrow(op: str, *operands: Any) -> Any:
        lo, hi = right(op, *operands)
        return (lo, hi - 1) if op == "add" and hi > lo else (lo, hi)

    monkeypatch.setattr(terms, "interval", narrow)
    assert first_caught(native) is not None


def losing_search(reader: naive.Reader, graph: naive.Graph, state: Any) -> Iterator[Any]:
    """The enabled instances but the last."""
    return iter(list(RIGHT_ENABLED(reader, graph, state))[:-1])


RIGHT_ENABLED = naive.enabled


def test_a_naive_search_that_is_wrong_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison goes both ways: a naive search that skips an action instance disagrees."""
    monkeypatch.setattr(naive, "enabled", losing_search)
    machine_of.cache_clear()
    try:
        assert first_caught(native, 20) is not None
    finally:
        machine_of.cache_clear()


def test_a_proof_that_reads_a_comparison_wrongly_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounded model checking over a reader that swaps the operands of `lt` disagrees."""
    right = Z3Reader._truth_operator

    def swapped(self: Z3Reader, node: Any, values: Any) -> Any:
        return right(self, node, values[::-1] if node.op == "lt" else values)

    monkeypatch.setattr(Z3Reader, "_truth_operator", swapped)
    assert first_caught(bounded_agrees) is not None


def test_ints_that_are_wrong_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator that is wrong on ints alone disagrees, in the engine on ints and in what walks replay."""
    right = terms.evaluate
    wrong = {"member": lambda a, b: not right("member", [a, b]), "count": lambda a: a.bit_count() + 1}
    for op, meaning in wrong.items():
        with monkeypatch.context() as patch:
            patch.setattr("kraftcheck.model.language.words.evaluate", lambda name, values, op=op, meaning=meaning: (
                meaning(*values) if name == op else right(name, values)))  # fmt: skip
            assert first_caught(integers_agree) is not None


def test_walks_that_are_wrong_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Walks whose code takes a conjunction for a disjunction disagree."""
    wrong_code(monkeypatch, "and", lambda b, x, y: b.or_(x, y))
    assert first_caught(walks_agree) is not None


def test_nothing_is_caught_where_nothing_is_wrong() -> None:
    """The first systems agree as they are: what the other tests catch is the mutant."""
    assert first_caught(native, 12) is None
