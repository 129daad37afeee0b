"""`kraftcheck prove`: what it shows, what it refuses, and its exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared.commands import kraftcheck

TINY = ("prove", "elections", "--scope", "tiny", "--quiet", "--workers", "1")


def test_a_defect_is_refuted_with_its_shortest_trace() -> None:
    """Under the snapshot's rules a reachable counterexample refutes the property, with the explorer's trace."""
    ran = kraftcheck(*TINY, "--rules", "kafka-4.0", "--property", "leader-active", "--json", "-")
    told = ran.document()
    assert told["exit_code"] == ran.code == 12
    (claim,) = [one for one in told["claims"] if one["id"] == "leader-active"]
    assert (claim["verdict"], claim["depth"]) == ("refuted", 1)
    assert {query["result"] for query in claim["queries"]} == {"proven", "not inductive"}
    assert (told["command"], told["engine"], told["complete"]) == ("prove", "z3", True)


def test_without_a_search_nothing_is_refuted() -> None:
    """With --search 0 a counterexample stays undecided, and the exit code is that of unknown."""
    ran = kraftcheck(*TINY, "--rules", "kafka-4.0", "--property", "leader-active", "--search", "0")
    assert ran.code == 22
    assert "counterexample to induction, not decided (--search 0)" in ran.text
    assert "some state" in ran.out


def test_out_of_time_is_unknown() -> None:
    """A query without time is no proof: exit 22."""
    ran = kraftcheck("prove", "elections", "--brokers", "5", "--replication", "5", "--rules", "fixed", "--quiet",
                     "--workers", "1", "--property", "elr-empty-at-min-isr", "--timeout", "0.001")  # fmt: skip
    assert ran.code == 22
    assert "no answer: " in ran.text


@pytest.mark.parametrize(
    ("claim", "flags", "code", "says"),
    [
        ("isr-elr-disjoint", ("--k", "1"), 0, "holds"),
        ("leader-active", ("--k", "2"), 22, "not 2-inductive: a run of 2 steps from some state"),
        ("isr-elr-disjoint", ("--pdr",), 0, "Spacer's strengthening of isr-elr-disjoint, checked to be inductive:"),
        ("isr-elr-disjoint", ("--pdr", "--timeout", "0.001"), 22, "unknown"),
        ("isr-elr-disjoint", ("--bmc", "2"), 20, "no counterexample of at most 2 steps"),
    ],
)
def test_without_lemmas(claim: str, flags: tuple[str, ...], code: int, says: str) -> None:
    """K-induction, Spacer and bounded checking say what they found; what is not proven is no pass."""
    ran = kraftcheck(*TINY, "--rules", "fixed", "--property", claim, *flags)
    assert (ran.code, ran.err) == (code, "")
    assert says in ran.text
    assert ran.last.endswith(f"(exit {code})")


def test_a_claim_of_steps_is_vacuous_where_none_is_taken(tmp_path: Path) -> None:
    """Where no initial state enables an action, k-induction says no more of a claim of steps than induction does."""
    (tmp_path / "stuck.py").write_text(
        "from attrs import frozen\nimport kraftcheck as kc\n@frozen\nclass Count:\n    value: int\n"
        "down = kc.Action('down', lambda s: s, lambda s: s.value < 0)\n"
        "SYSTEM = kc.System(name='stuck', summary='stays', layout=Count(kc.ints(0, 3)), initial=[Count(0)],\n"
        "    actions=[down], properties=[kc.step('falls', 'falls', lambda t: t.after.value < 0)],\n"
        "    quiescent=lambda s: True)\n"
    )
    for flags in ((), ("--k", "2")):
        ran = kraftcheck("prove", f"{tmp_path}/stuck.py:SYSTEM", "--quiet", "--workers", "1", *flags)
        assert (ran.code, "vacuous" in ran.out) == (21, True), ran.text


def test_workers_prove_the_system_that_was_asked_about(tmp_path: Path) -> None:
    """A module that builds another system in a worker process gets no verdict from it."""
    (tmp_path / "twofaced.py").write_text(
        "import multiprocessing\nfrom attrs import evolve, frozen\nimport kraftcheck as kc\n"
        "LAST = 3 if multiprocessing.parent_process() is None else 1\n"
        "@frozen\nclass Count:\n    value: int\n"
        "up = kc.Action('up', lambda s: evolve(s, value=s.value + 1), lambda s: s.value < LAST)\n"
        "SYSTEM = kc.System(name='twofaced', summary='counts', layout=Count(kc.ints(0, 3)), initial=[Count(0)],\n"
        "    actions=[up], properties=[kc.always('low', 'at most 1', lambda s: s.value <= 1)],\n"
        "    quiescent=lambda s: True)\n"
    )
    line = ("prove", f"{tmp_path}/twofaced.py:SYSTEM", "--search", "0", "--quiet")
    assert "a worker process made another system" in kraftcheck(*line, "--workers", "2").refusal()
    assert kraftcheck(*line, "--workers", "1").code == 22
