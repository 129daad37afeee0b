"""Logs without a largest offset: they mean what bounded ones do, and the proofs about them can fail."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.ci.prove.command import check_endless
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import endless, filled, ints
from kraftcheck.model.language.sequences import Sequence, every, first_place, last_place
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import Action, Setting, System
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import all_of, choose
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.replication.endless import EndlessLog
from kraftcheck.model.systems.replication.log import VACANT, Log
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.kinds import always
from kraftcheck.solvers.smt.induction import obligations, prove
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Effort, Obligation, Questions
from kraftcheck.solvers.smt.reading.z3_endless import NOT_SHOWN, EndlessEngine
from kraftcheck.solvers.smt.smtlib import ActionQueries, second_answer
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.worker import SolverSession
from kraftcheck.solvers.smt.z3terms import Z3Reader
from tests.shared.samples import one_in
from tests.solvers.smt.asking import premises_of

REPLICATION = SYSTEMS["replication"]
EFFORT = Effort(timeout=120)
ROOM = 4
"""Entries of the bounded logs that are compared with endless ones."""

SAMPLE = {
    "fetch": ("consistent-reads", "logs-match", "watermark-within-log", "watermark-monotone"),
    "apply_metadata": ("leader-complete", "candidates-complete"),
    "crash": ("acknowledged-survives", "lemma-log-matching"),
}
BROKEN = one_in(2, [
    ("truncate-to-high-watermark", "apply_metadata", "leader-complete"),
    ("kip101-epoch-lookup", "fetch", "logs-match"),
    ("watermark-may-fall", "fetch", "watermark-monotone"),
])  # fmt: skip


def unbounded(rules: str) -> Setting:
    """Replication with logs without bound."""
    return REPLICATION.setting("tiny", {"unbounded": 1}, parse(rules), proof=True)


@functools.cache
def subject(rules: str = "fixed") -> Theory:
    """The theory of replication with logs without bound."""
    return theory(REPLICATION, unbounded(rules))


def session(of: Theory, action: str) -> SolverSession:
    """A session about an action that may assume every invariant."""
    questions = Questions(of)
    premises = questions.premises(action, [claim.id for claim in of.invariants])
    return SolverSession(questions, premises, EFFORT, time.monotonic)


@pytest.mark.parametrize("action", SAMPLE)
def test_a_sample_is_proven_without_bound_on_offsets(action: str) -> None:
    """Claims about what fetches, crashes and metadata do hold for any number of records."""
    asked = session(subject(), action)
    for claim in SAMPLE[action]:
        assert asked.ask(Obligation(claim, action)).result == PROVEN, claim


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken[0])
def test_a_variant_breaks_the_proof(broken: tuple[str, str, str]) -> None:
    """What is proven of the right rules is not of those with a defect, and no state is claimed to show it."""
    variant, action, claim = broken
    assert claim in SAMPLE[action]
    found = session(subject(f"fixed+{variant}"), action).ask(Obligation(claim, action))
    assert (found.result, found.reason, found.counterexample) == (UNDECIDED, NOT_SHOWN, None)


@pytest.mark.parametrize("action", one_in(10, [action.name for action in REPLICATION.actions(unbounded("fixed"))]))
def test_premises_do_not_refute_themselves(action: str) -> None:
    """From what the proofs about an action assume, false does not follow."""
    engine = session(subject(), action)._engine
    assert isinstance(engine, EndlessEngine)
    assert engine.refute([subject().program.graph.constant(False)]).result == UNDECIDED


@frozen
class Rows:
    """Two endless sequences, and a number between them."""

    low: Any
    n: Any
    high: Any


def each(row: Any, first: int, rest: int) -> Any:
    """That a sequence has one word at place 0, and another at all others."""
    return every(row.graph, lambda at: row.at(at) == choose(at == 0, first, rest))


@pytest.mark.parametrize("numbers", [(0,), (0, 1)])
def test_what_an_initial_state_is_filled_with_is_known(numbers: tuple[int, ...]) -> None:
    """Of each sequence, in one initial state or in more: what it has at its first place and at all others."""
    claims = {"low": lambda s: each(s.low, 3, 5), "high": lambda s: each(s.high, 2, 2), "n": lambda s: s.n < 2,
              "other": lambda s: each(s.low, 3, 3), "first": lambda s: each(s.high, 4, 2)}  # fmt: skip
    system = System(
        name="rows", summary="Rows.", layout=Rows(endless(0, 7), ints(0, 3), endless(0, 7)),
        initial=[Rows(filled(3, 5), n, filled(2, 2)) for n in numbers], actions=[Action("stay", lambda s: s)],
        properties=[always(name, name, claim) for name, claim in claims.items()],
    )  # fmt: skip
    of = theory(system, system.setting(None, {}, proof=True))
    found = prove(lambda: of, effort=Effort(timeout=10), clock=time.monotonic)
    assert {name for name in claims if found.proven(name)} == {"low", "high", "n"}


def test_other_solvers_read_the_queries() -> None:
    """Z3 and cvc5 refute a query about endless logs from its text, and do not without its denial."""
    of, asked = subject(), Obligation("watermark-within-log", "fetch")
    names = [claim.id for claim in of.invariants]
    text = ActionQueries(of, "fetch", True, names, EFFORT, time.monotonic).text(asked)
    assert [second_answer(solver, text, EFFORT) for solver in ("z3", "cvc5")] == ["unsat", "unsat"]
    open_text = "\n".join(line for line in text.splitlines() if ":named |denial " not in line)
    assert second_answer("z3", open_text, EFFORT) == "sat"


def said(entries: tuple[int, ...], other: tuple[int, ...], goal: Callable[[Any, Any], Any]) -> bool:
    """Whether Z3 proves a goal of two endless logs that hold these entries."""
    graph = Graph()
    names = [Sequence.of_state(graph, name, VACANT, 7) for name in ("one", "two")]
    logs = [EndlessLog(s, sum(e > VACANT for e in held)) for s, held in zip(names, (entries, other), strict=True)]
    holds = {
        f"{name} {place}": graph.lift(sequence.at(place) == entry)
        for name, (sequence, held) in enumerate(zip(names, (entries, other), strict=True))
        for place, entry in enumerate(held) if entry > VACANT
    }  # fmt: skip
    read, terms = Z3Reader(), tuple(sequence.symbol for sequence in names if sequence.symbol is not None)
    given_ = premises_of(read, terms, holds)
    return EndlessEngine(given_, EFFORT, read, time.monotonic).refute([graph.lift(goal(*logs))]).result == PROVEN


def agrees(entries: tuple[int, ...], other: tuple[int, ...], what: Callable[[Any, Any], Any]) -> None:
    """A word or truth about two logs is the same endless and bounded; and another value is not proven."""
    wanted = what(Log(entries), Log(other))
    assert said(entries, other, lambda a, b: what(a, b) == wanted)
    wrong = (not wanted) if isinstance(wanted, bool) else wanted + 1
    assert not said(entries, other, lambda a, b: what(a, b) == wrong)


def listed(records: list[int]) -> tuple[int, ...]:
    """The entries of a bounded log with these records, in order."""
    return (*sorted(records), *(VACANT,) * (ROOM - len(records)))


records = st.lists(st.integers(1, 3), max_size=ROOM - 1).map(listed)
"""Entries of logs with room for one more record, epochs in order."""

WORDS: dict[str, Callable[[Any, Any, int], Any]] = {
    "end": lambda a, b, n: a.end(),
    "last": lambda a, b, n: a.last(),
    "count_to": lambda a, b, n: a.count_to(n),
    "largest_to": lambda a, b, n: a.largest_to(n),
    "append": lambda a, b, n: a.append(3).agrees(b, n),
    "append, end": lambda a, b, n: a.append(3).last(),
    "truncate": lambda a, b, n: a.truncate(n).end(),
    "truncate, last": lambda a, b, n: a.truncate(n).last(),
    "copy_of": lambda a, b, n: a.copy_of(b).last(),
    "copy_of, end": lambda a, b, n: a.copy_of(b).truncate(n).end(),
    "extended": lambda a, b, n: a.extended(b, b.end(), n > 1).last(),
    "extended, agrees": lambda a, b, n: a.extended(b, b.end(), True).agrees(b, n),
    "agrees": lambda a, b, n: a.agrees(b, n),
    "in_order": lambda a, b, n: a.in_order(True),
    "same_below": lambda a, b, n: a.same_below(b),
    "at": lambda a, b, n: a.at(n - 1 if n else 0),
    "each": lambda a, b, n: all_of(*a.each(lambda offset, entry: entry <= n)),
}


@pytest.mark.parametrize("name", WORDS)
@settings(max_examples=6)
@given(one=records, two=records, number=st.integers(0, ROOM))
def test_endless_logs_mean_what_bounded_ones_do(
    name: str, one: tuple[int, ...], two: tuple[int, ...], number: int
) -> None:
    """On logs in order each operation of an endless log has the value that it has on ints, and no other."""
    agrees(one, two, lambda a, b: WORDS[name](a, b, number))


def test_an_unordered_log_is_told() -> None:
    """A log whose epochs fall is not in order, and one with a gap is not, endless or bounded."""
    agrees((2, 1, 0, 0), (0, 0, 0, 0), lambda a, b: a.in_order(True))
    agrees((2, 1, 0, 0), (0, 0, 0, 0), lambda a, b: a.in_order(False))


@pytest.mark.parametrize("singled_out", [first_place, last_place], ids=lambda singled_out: singled_out.__name__)
def test_no_place_is_singled_out_within_a_claim(singled_out: Callable[..., Any]) -> None:
    """`first_place` and `last_place` of a claim about every place are refused: they would depend on the place."""
    graph = Graph()
    sequence = Sequence.of_state(graph, "one", 0, 7)
    with pytest.raises(UntraceableRule, match=rf"{singled_out.__name__}\(\) of any number within each"):
        every(graph, lambda at: singled_out(graph, lambda b: sequence.at(b) > sequence.at(at), 3) == at)


def test_equal_claims_are_one_term() -> None:
    """A claim about every place is the same term when it is made again, nested or not."""
    graph = Graph()
    sequence = Sequence.of_state(graph, "one", 0, 7)

    def sorted_() -> Any:
        return every(
            graph, lambda a: every(graph, lambda b: (sequence.at(a) <= sequence.at(b)) | (b < a))  # type: ignore[operator]
        )

    made = sorted_()
    assert isinstance(made, Term)
    assert sorted_() is made


@pytest.mark.parametrize("solvers", [("bitwuzla", None), ("z3", "bitwuzla")])
def test_solvers_of_bit_vectors_are_refused(solvers: tuple[str, str | None]) -> None:
    """Bitwuzla is refused, as the first solver and as the second, for it knows no ints."""
    with pytest.raises(Refusal, match="bitwuzla knows bit-vectors only"):
        check_endless(subject(), solvers, bounded_only=False)


def test_the_domains_of_endless_fields_are_shown() -> None:
    """That offsets are not negative is an obligation like others, and proven."""
    of = subject()
    questions = Questions(of)
    (asked,) = [one for one in obligations(of, ["domains"]) if one.action == "crash"]
    goals = questions.bounds_of("crash")
    assert any(name.endswith("log.length") for name in goals)
    premises = questions.premises("crash", [claim.id for claim in of.invariants], within=False)
    assert SolverSession(questions, premises, EFFORT, time.monotonic).ask(asked).result == PROVEN
