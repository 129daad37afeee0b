"""Drawn mutants: a run says what becomes of each, and a sample of those of the shapes of sets is killed or judged."""

import ast
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from tests.engine_mutants.drawn.campaign import RAN, WORDS, in_child, judgements
from tests.engine_mutants.drawn.mutants import OF_PYTHON, changes, mutants_of
from tests.shared.places import DOCS, ROOT

SIZES = "tests/solvers/smt/reading/test_quantified.py"
QUICK = (f"{SIZES}::test_equal_brokers_keep_sets_of_one_size",
         f"{SIZES}::test_what_one_broker_keeps_without_another_is_not_the_other_way_round")  # fmt: skip
SHAPES = "solvers/smt/reading/set_shapes.py"

PROVERS = (ROOT / "solvers" / "smt", ROOT / "solvers" / "certificates")  # folders of which every survivor is judged

CHECKERS = tuple(ROOT / "ci" / "prove" / name for name in ("check_certificate.py", "vmt.py"))
"""The script of certificates and its grammar, of which samples were judged."""

LONG = tuple(
    pytest.param(path.relative_to(ROOT).as_posix(), marks=pytest.mark.slow)
    for folder in PROVERS for path in sorted(folder.rglob("*.py")) if any(mutants_of(path))
)  # fmt: skip


def drawn(*words: object) -> subprocess.CompletedProcess[str]:
    """A run of the command."""
    command = [sys.executable, "-m", "tests.engine_mutants.drawn", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.each_change
def test_a_sample_is_killed_or_judged(tmp_path: Path) -> None:
    """Of three mutants of the shapes of sets none survives that nobody has judged."""
    ran = drawn("--folder", SHAPES, "--count", 3, "--reach", tmp_path / "reach.json", *QUICK)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "3 mutants: " in ran.stdout
    assert "killed" in ran.stdout


@pytest.mark.parametrize("file", LONG)
def test_a_file_of_the_prover_has_no_survivor(file: str, tmp_path: Path) -> None:
    """Of forty mutants of a file of the provers none survives that nobody has judged."""
    words = ("--only", Path(file).name, "--count", 40, "--seed", time.strftime("%j"), "--reach", tmp_path / "reach")
    tests = ("tests/solvers/smt", "tests/solvers/certificates", "tests/random_collections", "tests/ci/prove")
    ran = drawn("--folder", Path(file).parent, *words, *tests)
    assert ran.returncode == 0, ran.stdout


ENGINES = {
    "model/language": ("tests/model/language",),
    "solvers/program": ("tests/solvers/program", "tests/solvers/search/test_toys.py"),
    "solvers/machine_code": ("tests/solvers/machine_code", "tests/solvers/search/test_toys.py"),
    "solvers/search": ("tests/solvers/search",),
    "solvers/audit": ("tests/solvers/audit",),
    "solvers/liveness": ("tests/solvers/liveness",),
    "solvers/blocks": ("tests/solvers/blocks",),
    "ci/dataset": ("tests/ci/dataset",),
    "ci/prove": ("tests/ci/prove",),
}
"""Engines whose survivors nobody has judged, and the tests that are asked."""


@pytest.mark.slow
@pytest.mark.parametrize("folder", ENGINES)
def test_an_engine_is_asked(folder: str, tmp_path: Path) -> None:
    """Of thirty mutants of an engine, others each day, most that a test reaches are killed; the rest is listed."""
    words = ("--count", 30, "--seed", time.strftime("%j"), "--reach", tmp_path / "reach")
    ran = drawn("--folder", folder, *words, *ENGINES[folder])
    assert ran.returncode in (0, 1), ran.stderr
    print(ran.stdout)
    counted = {name: int(number) for number, name in re.findall(r"(\d+) (killed|survived)", ran.stdout)}
    assert counted.get("killed", 0) > counted.get("survived", 0), ran.stdout


def test_a_survivor_is_told(tmp_path: Path) -> None:
    """A change that no test reaches is listed with its line, and the run ends with 1."""
    words = ("--reach", tmp_path / "reach.json", "--record", tmp_path / "ran.toml")
    (tmp_path / "ran.toml").write_text('# kept\n[[ran]]\nfile = "other.py"\nrun = 3\n')
    ran = drawn("--folder", "solvers/smt/facts.py", "--count", 1, *words, QUICK[0])
    assert ran.returncode == 1, ran.stdout
    assert "solvers/smt/facts.py:" in ran.stdout
    assert "1 mutants: 1 " in ran.stdout
    text = (tmp_path / "ran.toml").read_text()
    assert text.startswith('# kept\n[[ran]]\nfile = "other.py"\nrun = 3\n')
    one = tomllib.loads(text)["ran"][1]
    assert (one["file"], one["run"]) == ("solvers/smt/facts.py", 1)
    assert one["survived"] + one["unreached"] == 1 < one["mutants"]


def test_the_page_says_how_many_were_run() -> None:
    """The page on provers has how many mutants there were, how many were run, and what became of them."""
    every = tomllib.loads(RAN.read_text("utf-8"))["ran"]
    rows = [one for one in every if (ROOT / one["file"]).is_relative_to(PROVERS[0])]
    there, ran, killed, judged = (sum(one[word] for one in rows) for word in ("mutants", "run", "killed", "judged"))
    assert ran == killed + judged
    text = " ".join((DOCS / "explanation" / "provers.md").read_text("utf-8").split())
    assert f"of {there:,} mutants of the provers {ran:,} were run: {killed:,} are killed, {judged:,} judged" in text


def test_what_was_run_is_recorded() -> None:
    """Of each file of the provers some are run, no more than there were; each is killed, judged or alive."""
    rows = tomllib.loads(RAN.read_text("utf-8"))["ran"]
    assert len({one["file"] for one in rows}) == len(rows)
    assert {one["file"] for one in rows} >= {file for one in LONG for file in one.values}
    for one in rows:
        assert (ROOT / one["file"]).is_file()
        assert one["mutants"] >= one["run"] == sum(one[word] for word in WORDS)


def test_a_judgement_is_of_a_mutant_that_there_is() -> None:
    """Each key in `judged.toml` begins the name of some mutant, and has a reason."""
    keys = [one.key for place in (*PROVERS, *CHECKERS) for one in mutants_of(place)]
    assert [key for one in judgements() for key in one.keys if not any(k.startswith(key) for k in keys)] == []
    assert all(len(one.why) > 40 for one in judgements())


def test_a_mutant_is_applied_for_a_while() -> None:
    """Meanwhile the function runs the changed code, and afterwards its own."""
    from kraftcheck.solvers.smt import instances

    right = {name: one.__code__ for name, one in vars(instances).items() if hasattr(one, "__code__")}
    mutant = next(mutants_of(ROOT / "solvers" / "smt" / "instances.py"))
    with mutant.applied():
        assert vars(instances)[mutant.function].__code__ != right[mutant.function]
    assert vars(instances)[mutant.function].__code__ is right[mutant.function]


@pytest.mark.parametrize(
    ("operator", "before", "after"),
    [
        ("other-operator", "a is b", "a is not b"), ("other-operator", "a and b", "a or b"),
        ("drop-part", "a + b", "a"), ("other-number", "1", "2"), ("other-number", "True", "False"),
        ("other-name", "all(x)", None), ("argument-for-call", "not a", "a"), ("drop-slice", "a[1:]", "a"),
        ("drop-test", "a if b else c", "c"), ("negate-test", "a if b else c", "a if not b else c"),
    ],
)  # fmt: skip
def test_an_operator_makes_what_it_says(operator: str, before: str, after: str | None) -> None:
    """An operator's changes of an expression have the one expected, or none."""
    made = {ast.unparse(one) for name, one in changes(ast.parse(before, mode="eval").body, None) if name == operator}
    assert (after in made) if after is not None else made == set()


def test_every_operator_of_python_changes_the_prover() -> None:
    """No operator is idle."""
    found = {one.operator for one in mutants_of(ROOT / "solvers" / "smt")}
    assert OF_PYTHON.keys() <= found


def test_what_hangs_or_fails_in_a_child_ends() -> None:
    """Work that takes too long has no result, what it raises is raised, and what it gives is given."""
    assert in_child(lambda: time.sleep(60), 0.2) is None
    assert in_child(lambda: {"one": [1]}, 60) == {"one": [1]}
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        in_child(lambda: 1 // 0, 60)
