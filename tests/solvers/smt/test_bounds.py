"""Provers and bounds of fields: no step that leaves a domain is left out without a word, or the claims do not hold."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Container, Iterator
from typing import Any

import pytest
import z3
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.ci.prove import command
from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.terms import Word
from kraftcheck.model.language.words import any_of, choose
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted, Unknown, Verdict
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import Effort, new_solver
from kraftcheck.solvers.smt.runs.bounded import check_bounded, check_inductive
from kraftcheck.solvers.smt.spacer import Horn, capped, domain_obligations, infer
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.verdicts import SearchEvidence, judge
from tests.shared.capped import CAPPED, DRAINED, LOW, UNCAPPED, WIDER, WITHIN, tank
from tests.shared.commands import kraftcheck

EFFORT = Effort(timeout=60)
CLAIMS = ("below-six", "no-leap")
MEND = "widen it, or declare its cap"

JUMPS = tank("jumps", Range(0, 5), 2)
"""By even levels, it leaves its domain from 4."""


def theory_of(system: System) -> Theory:
    """A system traced for provers."""
    return theory(system, system.setting())


def bmc(system: System, depth: int) -> dict[str, Verdict]:
    """Bounded model checking."""
    return check_bounded(theory_of(system), CLAIMS, depth, EFFORT, threading.Event())


def inductive(system: System, k: int) -> dict[str, Verdict]:
    """k-induction."""
    return check_inductive(theory_of(system), CLAIMS, k, EFFORT, threading.Event())


def proven(system: System) -> dict[str, Verdict]:
    """Induction, without a search; that a claim says what the domains say is not asked."""
    whole = theory_of(system)
    asked = evolve(whole, program=evolve(whole.program, premises={}))
    proof = prove(lambda: asked, effort=EFFORT, clock=time.monotonic)
    return {one.verdict.claim: one.verdict.verdict for one in judge(proof, SearchEvidence())}


def test_bounded_runs_end_where_a_domain_is_left() -> None:
    """Nothing is said of runs that are longer than the way to the fault; until there, and under a cap, it is."""
    found = bmc(UNCAPPED, 9)
    told = f"no counterexample of at most 5 steps; level may leave its domain in step 6: {MEND}"
    assert found == dict.fromkeys(CLAIMS, Incomplete(told))
    assert bmc(UNCAPPED, 5) == dict.fromkeys(CLAIMS, Incomplete("no counterexample of at most 5 steps"))
    assert bmc(CAPPED, 9) == dict.fromkeys(CLAIMS, Incomplete("no counterexample of at most 9 steps"))
    assert bmc(WITHIN, 9) == dict.fromkeys(CLAIMS, Incomplete("no counterexample of at most 9 steps"))


class Undecided:
    """A solver that gives up some of the questions of a run, and must not be asked again then."""

    def __init__(self, right: Any, asked: Iterator[int], given_up: Container[int]) -> None:
        self._right, self._asked, self._given_up, self._over = right, asked, given_up, False
        self.add, self.push, self.pop = right.add, right.push, right.pop

    def check(self) -> Any:
        """The answer of the right one, unless this question is given up."""
        assert not self._over, "asked again"
        self._over = next(self._asked) in self._given_up
        return z3.unknown if self._over else self._right.check()

    def reason_unknown(self) -> str:
        """Why."""
        return "given up"


@pytest.mark.parametrize(
    ("given_up", "told"),
    [
        ([], "no counterexample of at most 1 steps"),
        ([1], "no counterexample of at most 1 steps"),
        ([1, 2], f"no counterexample of at most 0 steps; level may leave its domain in step 1: {MEND}"),
    ],
)
def test_a_domain_that_z3_gives_up_may_be_left(given_up: list[int], told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Z3 gave up, of all fields and then of one, counts as left, and another solver is asked what comes next."""
    asked = itertools.count()
    place = "kraftcheck.solvers.smt.runs.unrolling.new_solver"
    monkeypatch.setattr(place, lambda *given: Undecided(new_solver(*given), asked, given_up))
    found = check_bounded(theory_of(WITHIN), ["below-six"], 1, EFFORT, threading.Event())
    assert found == {"below-six": Incomplete(told)}


def test_bounded_runs_find_what_is_behind_the_bound_once_there_is_room() -> None:
    """With room for 6 the run of six steps is a counterexample."""
    found = bmc(WIDER, 9)
    lengths = [len(one.trace.steps) for one in found.values() if isinstance(one, Refuted)]
    assert lengths == [6, 6]


def test_a_cap_does_not_declare_the_lower_bound_to_provers() -> None:
    """Below the domain a step is a fault in the first step, whatever the cap says."""
    for system in (LOW, DRAINED):
        (told,) = {one.cut for one in bmc(system, 4).values() if isinstance(one, Incomplete)}
        assert told == f"no counterexample of at most 0 steps; level may leave its domain in step 1: {MEND}"
        assert {type(one) for one in inductive(system, 2).values()} == {Incomplete}
        assert {type(one) for one in proven(system).values()} == {Incomplete}


def test_k_induction_shows_the_domains_as_well() -> None:
    """Within reach a fault is incomplete, else unknown; a guard proves the domain, and a cap is told."""
    assert {type(one) for one in inductive(UNCAPPED, 7).values()} == {Incomplete}
    early = inductive(UNCAPPED, 2)
    assert early == dict.fromkeys(
        CLAIMS, Unknown(f"not 2-inductive: level may leave its domain in step 2 from some state: {MEND}")
    )
    assert inductive(WITHIN, 1) == dict.fromkeys(CLAIMS, Holds("any number of steps, by 1-induction"))
    assert inductive(CAPPED, 1) == dict.fromkeys(
        CLAIMS, Holds("any number of steps, by 1-induction; steps beyond the bound on level are left out")
    )


def test_induction_shows_the_domains_as_well() -> None:
    """Where a step may leave the domain nothing is proven; under a cap it is, and the bound is named."""
    assert proven(UNCAPPED) == dict.fromkeys(CLAIMS, Incomplete(f"level may leave its domain: {MEND}"))
    assert proven(CAPPED) == dict.fromkeys(
        CLAIMS, Holds("any number of steps of capped; steps beyond the bound on level are left out")
    )
    assert proven(WITHIN) == dict.fromkeys(CLAIMS, Holds("any number of steps of within"))


def test_spacer_shows_the_domains_as_well() -> None:
    """Spacer infers nothing where a step leaves a domain, and holds under a cap and with a guard."""
    kinds = [type(infer(theory_of(system), "below-six", EFFORT).verdict) for system in (UNCAPPED, LOW, CAPPED, WITHIN)]
    assert kinds == [Unknown, Unknown, Holds, Holds]


@pytest.mark.parametrize("cap", ["", "it is looked at up to three"])
def test_a_level_that_its_bits_let_begin_anew_leaves_its_domain(cap: str) -> None:
    """A fourth level of two bits is 0 for Spacer, whose strengthening is confirmed only where a cap declares it."""
    claim = Property("known", "always", "O.", lambda state: any_of(state.level != 1, state.level < 2))
    wraps = evolve(tank("wraps", Range(0, 3, cap=cap), 1), properties=lambda _: [claim])
    assert Horn(theory_of(wraps), "known").confirms(z3.BoolVal(True), EFFORT) is bool(cap)


def test_a_lemma_can_prove_the_domain() -> None:
    """A domain that only an invariant keeps is proven with it: even levels up to 4 leave no step out."""
    kept = evolve(
        JUMPS,
        actions=lambda setting: [
            evolve(action, guard=lambda state: state.level != 4) for action in JUMPS.actions(setting)
        ],
        lemmas=lambda setting: [
            Property("even", "always", "The level is even.", lambda state: state.level & 1 == 0)
        ],
    )  # fmt: skip
    assert {type(one) for one in proven(JUMPS).values()} == {Incomplete}
    assert {type(one) for one in proven(kept).values()} == {Holds}


@frozen
class Pair:
    """A level with a cap, a level without, and whether the second has left its domain."""

    capped: Word
    other: Word
    left: Word


LEAK = System(
    name="leak", summary="One level rises beyond its cap, and beside it the other one doubles.",
    layout=lambda setting: Pair(Range(0, 3, cap="it is looked at up to three"), Range(0, 1), Range(0, 1)),
    initial=lambda setting: [Pair(0, 0, 0)],
    actions=lambda setting: [
        Action("fill", lambda s: Pair(s.capped, 1, s.left)),
        Action("rise", lambda s: Pair(s.capped + 1, s.other * 2, choose(s.other * 2 > 1, 1, s.left))),
    ],
    properties=lambda setting: [
        Property("empty", "always", "The other level is 0: until it is filled.", lambda s: s.other == 0),
        Property("kept", "always", "It has not left its domain.", lambda s: s.left == 0),
    ],
)  # fmt: skip


def test_fields_are_shown_to_stay_once_more_when_an_invariant_falls() -> None:
    """A field that only a fallen invariant kept within its domain is told, beside one that left its cap before."""
    proof = prove(lambda: theory_of(LEAK), effort=EFFORT, clock=time.monotonic)
    assert (proof.unproven, proof.rounds) == (("empty",), 2)
    assert (proof.bounded(), proof.faults()) == (["capped", "other"], ["other"])
    assert not proof.proven("kept")


@pytest.mark.parametrize(
    ("system", "faults", "caps"), [(UNCAPPED, ["level"], 0), (CAPPED, [], 1), (DRAINED, ["level"], 1)]
)
def test_each_side_of_a_domain_is_a_fault_or_a_cap(system: System, faults: list[str], caps: int) -> None:
    """What no cap declares is to be shown; what one declares is named as left out."""
    program = theory_of(system).program
    assert sorted({path for kind in program.kinds for path in domain_obligations(program, kind)}) == faults
    assert len(capped(program)) == caps


@frozen
class Three:
    """A capped field, one without a cap, and one that is wrong where that is left."""

    a: Word
    b: Word
    c: Word


BESIDE_A_CAP = kc.System(
    name="beside", summary="Fields that leave their domains.", initial=[Three(0, 0, 0)],
    layout=Three(kc.ints(0, 3, cap="a few"), kc.ints(0, 5), kc.ints(0, 100)),
    actions=[
        kc.Action("up", lambda s: Three(choose(s.b == 0, s.a + 1, s.a), s.b + 1, choose(s.b + 1 > 5, 50, 0))),
        kc.Action("reset", lambda s: Three(s.a, 0, s.c), lambda s: s.b > 0),
    ],
    properties=[kc.always("small", "c is small", lambda s: s.c <= 5),
                kc.always("below", "b is not yet at its end", lambda s: (s.b - 5) * (s.b - 5) >= 1)],
)  # fmt: skip
"""Where a false invariant would keep a field in its domain, beside one that leaves its own by a cap."""


def test_a_domain_beside_a_cap_rests_on_what_is_proven() -> None:
    """No field stays in its domain by an invariant that nobody has asked for, and that does not hold."""
    subject = theory_of(BESIDE_A_CAP)
    for only in ((), ("small",)):
        proof = prove(lambda: subject, effort=EFFORT, clock=time.monotonic, only=only)
        assert (proof.proven("small"), proof.faults(), proof.bounded()) == (False, ["b"], ["a", "b"])


def test_a_second_solver_is_asked_of_domains(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim holds by a second solver only if that decides also that no field leaves its domain."""
    pytest.importorskip("cvc5")
    words = ("prove", "tests.ci.prove.test_certificates:LOCK", "--second-solver", "cvc5", "--quiet", "--workers", "1")
    assert kraftcheck(*words).code == 0
    monkeypatch.setattr(command, "_undecided", lambda *_: {"domains": "take"})
    ran = kraftcheck(*words, "-v")
    assert (ran.code, "cvc5 has no answer: domains, take" in " ".join(ran.text.split())) == (22, True)


@pytest.mark.parametrize("engine", [("--k", "1"), ("--pdr",), ("--bmc", "1")], ids=lambda engine: engine[0])
@pytest.mark.parametrize(("name", "fields"), [("CAPPED", ["level"]), ("WIDER", [])])
def test_what_a_cap_leaves_out_is_in_the_document(name: str, fields: list[str], engine: tuple[str, ...]) -> None:
    """Each engine names the fields beyond whose cap steps are left out, as it does on screen."""
    ran = kraftcheck("prove", f"tests.shared.capped:{name}", "--quiet", "--json", "-", *engine)
    assert ran.document()["bounded_by"] == fields
    assert [f"steps beyond the bound on {field} are left out" in ran.err for field in fields] == [True] * len(fields)
