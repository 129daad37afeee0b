"""Proofs of `directories` for any number of brokers, whose hosts are records by broker."""

from __future__ import annotations

import pytest

from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.smt.induction import obligations
from kraftcheck.solvers.smt.queries import PROVEN, Obligation, Questions
from kraftcheck.solvers.smt.theory import INITIATION, Theory, theory
from tests.shared.commands import kraftcheck
from tests.shared.samples import one_in
from tests.solvers.smt.test_any_number import session


def any_directories(scope: str, rules: str = "fixed") -> Theory:
    """The theory of directories with any number of brokers."""
    chosen = subject("directories", scope, {"brokers": ANY}, rules, proof=True)
    return theory(chosen.system, chosen.setting)


def proven(of: Theory, action: str, claims: set[str]) -> set[str]:
    """Which of some claims are proven of an action; asserts that its premises are possible."""
    solver = session(of, action)
    wanted = [o for o in obligations(of, [*claims]) if o.action == action]
    false = of.program.graph.constant(False)
    assert solver._check(Questions(of).read.expression(false), [false]).result != PROVEN
    return {o.claim for o in wanted if solver.ask(o).result == PROVEN}


@pytest.mark.parametrize("action", [INITIATION, "apply_metadata", "promote"])
def test_hosts_of_any_number_keep_what_is_claimed_of_each(action: str) -> None:
    """New topics, metadata and moves keep every invariant that is proven of a fixed number, on every broker."""
    of = any_directories("tiny")
    claims = {claim.id for claim in of.invariants}
    assert proven(of, action, claims) == claims
    assert len(claims) > 40


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["tiny", "small"])
def test_every_claim_of_directories_is_proven_for_any_number(scope: str) -> None:
    """Every claim, fencing until settled among them, initially and of every action.

    A move cannot be cancelled where only one is left, so nothing is asked of that.
    """
    of = any_directories(scope)
    claims = {claim.id for claim in of.claims}
    for action in {o.action: None for o in obligations(of, [*claims]) if o.action != "cancel_move"}:
        wanted = {o.claim for o in obligations(of, [*claims]) if o.action == action}
        assert proven(of, action, claims) == wanted, action


BROKEN = [
    ("promotion-ignores-offsets", "moves-keep-the-copy", "promote"),
    ("assignment-unauthorized", "assigned-by-its-broker", "intrude"),
    ("unfence-unasked", "unfenced-when-caught-up", "unfence"),
    ("unfence-ignores-assignments", "fenced-until-settled", "unfence"),
]


@pytest.mark.parametrize("row", one_in(8, BROKEN), ids="-".join)
def test_a_defect_of_a_broker_is_not_proven_away(row: tuple[str, str, str]) -> None:
    """What a rule variant breaks with one or two brokers is not proven for any number under it."""
    variant, claim, action = row
    of = any_directories("tiny", f"fixed+{variant}")
    assert session(of, action, 5.0).ask(Obligation(claim, action)).result != PROVEN


def test_any_number_begins_with_a_new_topic() -> None:
    """What a migration leaves on the disks of each broker is not said of any number of them: it is refused."""
    ran = kraftcheck("prove", "directories", "--brokers", "any", "--scope", "migration")
    assert ran.code == 2
    assert "any number of brokers begins with a new topic" in ran.err
