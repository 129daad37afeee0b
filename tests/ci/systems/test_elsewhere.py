"""A changed system on what is not the search in memory: files, other processes, queries, certificates, walks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kraftcheck as kc
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.terminal.commands import EXIT_DISAGREEMENT
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.trace import trace
from tests.ci.systems.waiting import waiting
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT

NAME, RULES = "tests.ci.systems.waiting:WAITING", "fixed+elr-waits"
SMALL = ("--brokers", "2", "--replication", "2", "--reassignment", "0", "--rules", RULES)
FEW: dict[str, Any] = {"brokers": 2, "replication": 2, "reassignment": 0, "rules": RULES}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a search on disk leaves, of the change."""
    place = tmp_path_factory.mktemp("disk") / "out"
    words = ("--engine", "disk", "--workers", "1", "--quiet", "--out", place)
    assert kraftcheck("explore", NAME, *SMALL, *words).code == 12
    return place


def test_files_have_the_states_of_memory(out: Path) -> None:
    """A query counts the states by a field of one's own as the search in memory does; the module is to be named."""
    sql = "SELECT waited, count(*) AS n FROM states GROUP BY waited ORDER BY waited"
    rows = kraftcheck("query", out, sql, "--system", NAME, "--json", "-").document()["rows"]
    states = kc.explore(NAME, threads=1, properties=["leader-active"], **FEW).states()
    assert [one[1] for one in rows] == [sum(one.waited is value for one in states) for value in (False, True)]
    assert "whose module would be run; if you trust it, --system" in kraftcheck("query", out, sql).refusal()
    seen = kraftcheck("query", out, "SELECT * FROM states WHERE waited ORDER BY depth", "--system", NAME, "--witness")
    assert "waited: no -> yes" in seen.out


def test_files_of_other_rules_are_refused(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once its author has taken a property away, files of the change are said to be of others."""
    changed = waiting()
    (own,) = [one for one in changed.parts if getattr(one, "kind", None) is kc.Property]
    monkeypatch.setattr("tests.ci.systems.waiting.WAITING", changed.without(own))
    ran = kraftcheck("query", out, "SELECT * FROM states LIMIT 1", "--system", NAME, "--witness")
    assert (ran.code, "now it is only 61 of them, without always wait-ends" in ran.err) == (2, True)


CHILD = """
import pickle, sys
from kraftcheck.ci.systems.subject import program
from kraftcheck.solvers.program.fingerprint import fingerprint
print(fingerprint(program(pickle.loads(sys.stdin.buffer.read()), compared=False)))
"""


def test_a_worker_gets_the_rules_of_the_user() -> None:
    """A process that has loaded nothing traces what a sweep sends it, and runs the user's rules as this one does."""
    pytest.importorskip("pyspark")
    from kraftcheck.ci.spark.executor import pickled

    chosen = subject(NAME, "tiny", {}, RULES)
    words, sent = [sys.executable, "-c", CHILD], pickled(chosen)
    ran = subprocess.run(words, input=sent, capture_output=True, cwd=ROOT, check=True)
    assert ran.stdout.decode().strip() == fingerprint(trace(chosen.system, chosen.setting))
    assert ran.stdout.decode().strip() != fingerprint(trace(waiting(), subject(NAME, "tiny", {}, "fixed").setting))


@pytest.mark.slow
def test_spark_and_its_sweep_take_it(out: Path, tmp_path: Path) -> None:
    """Real Spark finds what the search on disk finds, and compares its rows with the user's rules on ints."""
    pytest.importorskip("pyspark")
    words = ("--engine", "spark", "--workers", "1", "--quiet", "--out", tmp_path / "out")
    assert kraftcheck("explore", NAME, *SMALL, *words).code == 12
    for place in (tmp_path / "out", out):
        swept = kraftcheck("sweep", place, "--system", NAME, "--fraction", "0.05", "--workers", "1")
        assert (swept.code, swept.out.rstrip().endswith(" 0 disagreements")) == (0, True)


@pytest.mark.slow
def test_a_certificate_is_of_the_rules_of_the_user(tmp_path: Path) -> None:
    """What is proven of a change is compared with its rules; with the choice off, it is of another system."""
    pytest.importorskip("cvc5")
    asked = ("--property", "wait-ends", "--search", "20000", "--workers", "1", "--quiet")
    bounds = SMALL[:-1]
    assert kraftcheck("prove", NAME, *bounds, RULES, *asked, "--certificate", tmp_path / "it").code == 0
    assert kraftcheck("prove", NAME, *bounds, RULES, *asked, "--against", tmp_path / "it").code == 0
    assert kraftcheck("prove", NAME, *bounds, "fixed", *asked, "--against", tmp_path / "it").code == EXIT_DISAGREEMENT


@pytest.mark.slow
def test_a_proof_for_any_number_takes_it() -> None:
    """The field, the rule and the action of a change are part of a proof for any number of brokers."""
    proven = kc.prove(NAME, scope="tiny", rules=RULES, properties=["wait-ends"], brokers="any", search_states=20_000)
    assert isinstance(proven.verdict("wait-ends"), kc.Holds)


def test_a_trace_of_it_is_replayed_and_walked_on(tmp_path: Path) -> None:
    """`trace` and `step` follow a counterexample by the user's rules, and refuse to run a module that is not named."""
    words = ("--property", "unfenced-candidate-leads", "--quiet", "--workers", "1", "--out", tmp_path)
    assert kraftcheck("explore", NAME, *SMALL, *words).code == 12
    file = tmp_path / "unfenced-candidate-leads.itf.json"
    assert "fails: unfenced-candidate-leads" in kraftcheck("trace", file, "--system", NAME).out
    assert "if you trust it, --system" in kraftcheck("trace", file).refusal()
    walked = kraftcheck("step", NAME, "--from", file, given="state\n")
    assert "waited" in walked.out + walked.err


def test_what_explains_no_liveness_says_so() -> None:
    """`explain` drops the conditions of the user's action too; of a property of liveness it says that it does not."""
    ran = kraftcheck("explain", NAME, *SMALL, "--action", "enough", "--workers", "1", "--quiet")
    assert ran.code == 0
    assert "enough" in ran.out
