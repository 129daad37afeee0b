"""Certificates of systems whose initial states are described are compared with the rules."""

import json
from pathlib import Path

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.solvers.certificates.certificate import definition
from kraftcheck.solvers.smt.theory import theory
from tests.ci.prove.test_certificates import LOCK, OF_NOTHING, check, define
from tests.shared.commands import kraftcheck

pytest.importorskip("cvc5")

OPEN = evolve(
    LOCK, name="open", initial=[kc.all_where(lambda s: {"nobody has it": s.holder == -1, "once": s.taken < 3})]
)
"""The lock, whose initial states are described, and not all of their fields."""


@pytest.mark.parametrize("of", ["finite", "any"])
def test_described_states_are_compared(of: str, tmp_path: Path) -> None:
    """A certificate agrees with rules that describe initial states, and leave fields of them open; a forged one not."""
    words = ["tests.ci.prove.test_against:OPEN"] if of == "finite" else [
        "tests.solvers.smt.reading.test_binders:POINTERS", "--n", "any", "--m", "any", "--search", "0"]  # fmt: skip
    prove, folder = ["prove", *words, "--quiet", "--workers", "1"], tmp_path / "open"
    assert "certificate: " in kraftcheck(*prove, "--certificate", folder).text
    assert check(folder).returncode == 0
    assert kraftcheck(*prove, "--against", folder).code == 0
    name = "initial: nobody has it" if of == "finite" else "initial: on"
    define(name, "(and OLD $on)" if of == "any" else "(and OLD |$wanted[1]|)")(folder)
    assert kraftcheck(*prove, "--against", folder).code in (22, 24)


@pytest.mark.parametrize(("name", "code", "last"), [
    ("CROWD", 0, "everything is shown"), ("LARGE_CROWD", 22, "not everything is decided: this shows nothing"),
])  # fmt: skip
def test_claims_of_nothing_for_any_number(name: str, code: int, last: str, tmp_path: Path) -> None:
    """A claim that nothing could break is named; an action that more brokers enable than are tried is not decided."""
    words = ("prove", f"tests.shared.any_number:{name}", "--brokers", "any", "--quiet", "--workers", "1")
    assert kraftcheck(*words, "--certificate", tmp_path / "one").code == 21
    ran = check(tmp_path / "one")
    assert {"invariant: sized: " + OF_NOTHING, "step: still: " + OF_NOTHING} <= {*ran.stdout.splitlines()}
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (code, last)
    assert kraftcheck(*words, "--against", tmp_path / "one").code == 0


@frozen
class Pair:
    """A number, and another that is wrong where the first leaves its domain."""

    x: kc.Word
    c: kc.Word


LEAVES = kc.System(
    name="leaves", summary="A number that leaves its domain.", layout=Pair(kc.ints(0, 3), kc.ints(0, 100)),
    initial=[Pair(0, 0)], actions=[kc.Action("inc", lambda s: Pair(s.x + 1, kc.choose(s.x == 3, 50, 0)))],
    properties=[kc.always("small", "c is small", lambda s: s.c <= 5)],
)  # fmt: skip


def test_a_step_that_is_left_out_without_a_cap_is_seen(tmp_path: Path) -> None:
    """A certificate that leaves out steps beyond a domain without a declared cap differs from the rules."""
    index = {"system": "tests.ci.prove.test_against:LEAVES", "scope": "default", "bounds": {}, "rules": None,
             "left_out": ["x"], "of_nothing": [], "sentences": {"small": "c is small"}}  # fmt: skip
    (tmp_path / "system.vmt").write_text(definition(theory(LEAVES, LEAVES.setting()), ["small"], []))
    (tmp_path / "index.json").write_text(json.dumps(index))
    ran = kraftcheck("prove", index["system"], "--against", tmp_path)
    assert (ran.code, "inc: a step leaves a domain where no cap is declared" in ran.out) == (24, True)


def test_what_is_not_proven_is_left_out(tmp_path: Path) -> None:
    """The certificate of a proof that fails in part assumes what is proven and nothing else, and says what is not."""
    ran = kraftcheck("prove", "broker-ids", "--scope", "newcomer", "--rules", "kip", "--quiet", "--workers", "1",
                     "--search", "0", "--certificate", tmp_path / "part", "--property", "live-id-not-taken",
                     "--property", "live-host-recorded")  # fmt: skip
    assert ran.code == 22
    assert "not proven, and not in it: " in ran.text
    text = (tmp_path / "part" / "system.vmt").read_text()
    assert "step: live-id-not-taken" in text
    assert "live-host-recorded" not in text
    assert check(tmp_path / "part").returncode == 0
