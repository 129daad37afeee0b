"""Proofs in many sittings: each query is asked once, and what is known of other rules is dropped."""

from __future__ import annotations

import functools
import time
from pathlib import Path

import pytest
from attrs import asdict, evolve

from kraftcheck.ci.prove.attempt import Attempt, main, page, queries, read_attempts, sitting
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Obligation, ObligationAnswer
from kraftcheck.solvers.smt.theory import Theory
from kraftcheck.solvers.smt.worker import ProofWorker, proof_worker
from tests.shared.places import DOCS

ATTEMPTS = read_attempts(DOCS / "reference" / "attempts.json")

FEW = Attempt("broker-ids", "sessions", "fixed", {})
"""A proof that one sitting finishes."""

COMMAND = ["kraftcheck", "prove", "broker-ids", "--scope", "sessions", "--rules", "fixed"]


@functools.cache
def few() -> Theory:
    """Its theory."""
    return FEW.request().build()


def test_sittings_ask_each_query_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second sitting goes on where the first one was cut, and together they ask all queries that there are."""
    asked = list[Obligation]()

    def answer(self: ProofWorker, batch: list[Obligation], assumed: list[str]) -> list[ObligationAnswer]:
        asked.extend(batch)
        return [ObligationAnswer(one, PROVEN, 0.0) for one in batch]

    monkeypatch.setattr(ProofWorker, "answer", answer)
    first = next(sitting(FEW, Effort(), 60, few()))
    assert 0 < len(first.held()) == len(asked) < first.queries
    *_, last = sitting(first, Effort(), 60, few())
    assert sorted(asked, key=str) == sorted(queries(few()), key=str)
    assert last.held() == {*queries(few())}
    assert list(sitting(last, Effort(), 60, few())) == []


def test_what_has_no_answer_is_named_and_asked_again() -> None:
    """A query without an answer is named on the page, is no query that holds, and goes once it holds."""
    one = Obligation("ids-unique", "register")
    waits = FEW.of(few()).with_answers([ObligationAnswer(one, "unknown", 1.0)], Effort(timeout=5))
    assert waits.pending(few())[1] == [one]
    assert f"0 of {len(queries(few()))} queries hold" in page([waits])
    assert "`register`: `ids-unique` (unknown within 5 s)" in page([waits])
    holds = waits.with_answers([ObligationAnswer(one, PROVEN, 1.0)], Effort())
    assert (holds.held(), holds.unanswered()) == ({one}, {})


def test_answers_about_other_rules_are_dropped() -> None:
    """Of answers whose system or claims have changed since nothing is kept."""
    asked = FEW.of(few()).with_answers([ObligationAnswer(Obligation("ids-unique", "register"), PROVEN, 1.0)], Effort())
    assert asked.of(few()).held()
    assert not evolve(asked, meaning="of yesterday").of(few()).held()
    assert "0 of" in page([evolve(asked, meaning="of yesterday")])


def test_a_false_claim_is_no_query_that_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that break a promise leave a query open, whose answer is written with the others."""
    place = tmp_path / "attempts.json"
    main([str(place), *COMMAND])
    (whole,) = read_attempts(place)
    assert (len(whole.held()), whole.open) == (whole.queries, {})
    broken = [*COMMAND[:-1], "kip"]
    main([str(place), *broken])
    assert len(read_attempts(place)) == 2
    assert any("not inductive" in said for said in read_attempts(place)[1].unanswered().values())


@pytest.mark.parametrize("one", ATTEMPTS, ids=Attempt.command)
def test_what_is_recorded_is_of_the_request(one: Attempt) -> None:
    """Each answer on record is of a query that there is, none holds and is open, and the count is that of today."""
    every = {*queries(one.request().build())}
    assert one.held() | {*one.unanswered()} <= every
    assert not one.held() & {*one.unanswered()}
    assert asdict(one.of(one.request().build()))["queries"] == len(every)


@pytest.mark.slow
@pytest.mark.parametrize("one", ATTEMPTS, ids=Attempt.command)
def test_some_of_what_is_recorded_holds_again(one: Attempt) -> None:
    """Of the queries that hold by the record, a batch is asked again by night, and holds."""
    theory, held = one.request().build(), sorted(one.held(), key=str)
    worker = proof_worker(theory, one.request().builders(), Effort(timeout=600), time.monotonic)
    assumed = [claim.id for claim in theory.invariants]
    for query in held[:: max(1, len(held) // 5)]:
        assert [answer.result for answer in worker.answer([query], assumed)] == [PROVEN]
