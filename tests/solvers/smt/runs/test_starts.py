"""A description of initial states that none satisfies is refused by provers, who would prove everything of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import z3
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.program.parts import SystemFault
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

EFFORT = Effort(timeout=20, seed=3)


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
    "induction": lambda subject: prove(lambda: subject, effort=EFFORT, clock=time.monotonic),
    "runs": lambda subject: check_bounded(subject, ["one"], 1, EFFORT, threading.Event()),
    "k-induction": lambda subject: check_inductive(subject, ["one"], 1, EFFORT, threading.Event()),
    "Spacer": lambda subject: infer(subject, "one", EFFORT),
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
        check_described(subject, EFFORT)
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
        check_described(few(1), EFFORT)
    check_described(of_any(NOBODY), EFFORT)
    check_described(of_any(NOBODY), Effort(timeout=1))
    check_described(few(listed=True), EFFORT)
    assert [(one.timeout, one.seed) for one in efforts] == [(20, 3), (starts.SECONDS, 3), (1, 0)]


def test_a_description_that_is_satisfied_is_none_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was asked, an answer with a state refuses nothing."""
    efforts = asked(monkeypatch, z3.sat)
    for subject in (few(1), of_any(NOBODY)):
        check_described(subject, EFFORT)
    assert len(efforts) == 2


@pytest.mark.parametrize("empty", [False, True], ids=["described", "of no state"])
def test_any_number_is_described_as_few_are(empty: bool) -> None:
    """A description of any number is known to be of a state where one with few is; else a search has to show it."""

    def some(one: kc.Word) -> Any:
        return kc.all_of(one < 1, one > 1) if empty else True

    rule = kc.all_where(lambda state: {"is": state.leader == NOBODY, "some": kc.some(state.fenced, some)})
    system = evolve(LEASE, initial=lambda setting: [rule] if setting["brokers"] == ANY else LEASE.initial(setting))
    subject = any_theory(system)
    proof = prove(lambda: subject, effort=EFFORT, clock=time.monotonic, few=[lambda: theory(LEASE, LEASE.setting())])
    assert proof.proven("leader-unfenced")
    (told,) = (one.verdict.verdict for one in judge(proof, SearchEvidence(reason="--search 0")))
    assert getattr(told, "reason", "") == (
        "proven, but no state is known to be initial (--search 0)" if empty else "")
