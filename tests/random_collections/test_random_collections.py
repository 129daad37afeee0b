"""Random systems with collections: every engine agrees with a naive search on Python's own collections."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from pathlib import Path

import pytest

import kraftcheck as kc
from kraftcheck.solvers.audit.sampling import Sampling
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.theory import theory
from tests.ci.spark.levels import begun, finished
from tests.random_collections.drawing import Box, Drawn, Judged, built, drawn, judged, plain_state
from tests.random_collections.kinds import CAPACITY, KINDS
from tests.random_systems.verdicts import plain_word
from tests.shared.samples import one_in
from tests.solvers.tla.test_tlc import agree

CHUNK, ALWAYS, NIGHTLY = 10, 80, 2_000

CHUNKS = one_in(1, [range(first, first + CHUNK) for first in range(0, ALWAYS, CHUNK)]) + [
    pytest.param(range(first, first + CHUNK), marks=pytest.mark.slow) for first in range(ALWAYS, NIGHTLY, CHUNK)
]


def program(one: Drawn) -> Program:
    """The system, traced."""
    system = built(one)
    return trace(system, system.setting())


def told(one: Drawn, found: Exploration) -> tuple[dict[str, tuple[str, int | None]], frozenset[object]]:
    """The verdicts and lengths of the claims, and the states; a claim that says nothing holds naively."""
    words = {
        v.claim: (plain_word(v.kind, type(v.verdict).__name__, v.depth), v.depth)
        for v in found.verdicts if v.claim in one.claims
    }  # fmt: skip
    states = frozenset(plain_state(one, found.program.layout.unpack(packed)) for packed in found.states())
    return words, states


def agrees(one: Drawn, naive: Judged, found: Exploration) -> None:
    """An exploration has the naive states, verdicts and lengths."""
    words, states = told(one, found)
    assert (words, states, found.cut is not None) == (naive.words, naive.states, naive.lost), one


@pytest.mark.parametrize("seeds", CHUNKS, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_the_search_agrees_with_pythons_collections(seeds: range) -> None:
    """States, verdicts and lengths are those of deque, Counter, set and dict; what ints say of every state is, too."""
    for seed in seeds:
        one = drawn(seed)
        found = explore(program(one), SearchBudget(sampling=Sampling(states=1_000_000)), clock=time.monotonic)
        assert found.audit is not None
        agrees(one, judged(one), found)


@pytest.mark.parametrize("seed", one_in(4, range(0, 40, 3)))
def test_induction_proves_nothing_that_python_refutes(seed: int) -> None:
    """Nothing is proven that the naive search refutes, and nothing where a step loses something."""
    one = drawn(seed)
    naive, system = judged(one), built(one)
    proof = prove(lambda: theory(system, system.setting()), effort=Effort(timeout=5), clock=time.monotonic)
    proven = [name for name in one.claims if name.startswith("claim") and proof.proven(name)]
    assert [name for name in proven if naive.words[name][0] != "Holds"] == [], one


@pytest.mark.parametrize("seed", one_in(4, range(0, 40, 5)))
def test_tasks_agree_with_pythons_collections(seed: int, tmp_path: Path) -> None:
    """The tasks of the Spark engine, run in this process, agree."""
    one = drawn(seed)
    run, runner = begun(program(one), tmp_path / "tasks", handover=0)
    run.expand(runner)
    found, naive = finished(run), judged(one)
    words = {
        v.claim: (plain_word(v.kind, type(v.verdict).__name__, v.depth), v.depth)
        for v in found.verdicts if v.claim in one.claims
    }  # fmt: skip
    assert (words, found.distinct, found.cut is not None) == (naive.words, len(naive.states), naive.lost), one


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_ints_step_as_pythons_collections(seed: int) -> None:
    """On ints each state leads to the naive states, and what loses something leaves the layout."""
    one = drawn(seed)
    system = built(one)
    engine, naive = Integers(system, system.setting()), judged(one)
    seen, pending = {plain_state(one, state) for state in engine.initial}, list(engine.initial)
    lost = False
    for state in pending:
        for move in engine.enabled(state):
            after: Box = engine.take(state, move).step.after
            if engine.field_outside(after) is not None:
                lost = lost or engine.domain_fault(after) is not None
            elif plain_state(one, after) not in seen:
                seen.add(plain_state(one, after))
                pending.append(after)
    assert (seen, lost) == (naive.states, naive.lost), one


@pytest.mark.slow
@pytest.mark.parametrize("seed", [seed for seed in range(60) if not judged(drawn(seed)).lost][:8])
def test_tlc_agrees_on_collections(seed: int, tmp_path: Path) -> None:
    """TLC finds as many states in what is exported, and refutes the same by traces of the same length."""
    agree(program(drawn(seed)), tmp_path)


def test_what_is_drawn_covers_every_pair_of_operations() -> None:
    """Every operation follows every other in some step; each kind loses something, and refutes, and holds."""
    pairs, words = Counter[tuple[str, str, str]](), Counter[tuple[str, str]]()
    for seed in range(4_000):
        one = drawn(seed)
        for deed in one.deeds:
            for chain in (deed.chain, deed.instead or ()):
                pairs.update((one.kind, first, second) for (first, _), (second, _) in itertools.pairwise(chain))
    for seed in range(150):
        words.update((drawn(seed).kind, word) for word, _ in judged(drawn(seed)).words.values())
    wanted = {(name, a, b) for name, kind in KINDS.items() for a in kind.operations for b in kind.operations}
    assert wanted - pairs.keys() == set()
    losing = {"queue", "queue of pairs", "bag", "capped bag", "set", "set of many", "set of numbers", "map", "tuple"}
    assert {name for name, word in words if word == "Incomplete"} == losing
    assert {(name, word) for name in KINDS for word in ("Holds", "Refuted")} - words.keys() == set()


def test_the_judge_loses_what_does_not_fit() -> None:
    """The naive queue refuses one item too many, and the tail of none; the queue of the language leaves its layout."""
    for name in ("append", "tail"):
        held = KINDS["queue"].empty
        for _ in range(CAPACITY + 1):
            held = KINDS["queue"].operations[name].rule(held, 1)
        assert not 0 <= held.size <= CAPACITY
    assert kc.Queue.of([1, 2], 2).append(3).tail().size > CAPACITY
