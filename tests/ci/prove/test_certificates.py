"""Certificates: a proof as files that another solver checks by itself, and what happens where one is changed."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.shared.commands import kraftcheck

PROVE = ("prove", "tests.toys:CLOCK", "--quiet", "--workers", "1")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificate of the clock."""
    folder = tmp_path_factory.mktemp("certificate") / "proof"
    ran = kraftcheck(*PROVE, "--certificate", folder)
    assert ran.code == 0
    assert f"obligations in {folder}" in ran.text.replace("\n", "")
    return folder


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(written, tmp_path / "copy"))


def check(folder: Path, *solver: str) -> subprocess.CompletedProcess[str]:
    """The run of the certificate's script."""
    command = [sys.executable, str(folder / "check.py"), *solver]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def index(folder: Path) -> Any:
    """The list of what is in it."""
    return json.loads((folder / "index.json").read_text())


def replace(folder: Path, entry: Any, old: str, new: str) -> None:
    """Change a text as somebody would who also changes the index."""
    text = (folder / entry["file"]).read_text()
    assert old in text
    (folder / entry["file"]).write_text(text.replace(old, new))
    listed = (folder / "index.json").read_text()
    digest = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()
    (folder / "index.json").write_text(listed.replace(entry["sha256"], digest))


def test_another_solver_checks_a_certificate_alone(written: Path) -> None:
    """cvc5 refutes every obligation and finds a state with the invariant, by the script that is written with them."""
    pytest.importorskip("cvc5")
    ran = check(written)
    assert (ran.returncode, ran.stdout) == (0, "every obligation is unsat\n")
    source = (written / "check.py").read_text()
    assert "kraftcheck" not in source
    assert check(written, sys.executable, "-c", "print('unknown')").returncode == 1


def forged(folder: Path, key: str, value: Any, entry: str = "") -> None:
    """Change the index, or an entry of it."""
    listed = index(folder)
    holder = listed if not entry else listed["invariant"] if entry == "invariant" else listed["obligations"][0]
    holder[key] = value
    (folder / "index.json").write_text(json.dumps(listed))


@pytest.mark.parametrize(("key", "value", "entry", "told"), [
    ("status", "", "obligation", "status '' is not asked"), ("status", None, "obligation", "is no obligation"),
    ("status", "sat", "obligation", "status 'sat' is not asked"), ("status", "unsat", "invariant", "is not asked"),
    ("file", "../check.py", "obligation", "is no obligation"), ("file", "/etc/hosts", "obligation", "is no obligation"),
    ("file", "-x", "obligation", "is no obligation"), ("sha256", 3, "obligation", "is no obligation"),
    ("obligations", {}, "", "obligations is no list"), ("obligations", [3], "", "'3' is no obligation"),
    ("invariants", "ab", "", "invariants is no list of texts"), ("steps", None, "", "steps is no list of texts"),
    ("actions", [], "", "it claims nothing"), ("invariant", [], "", "is no obligation"),
])  # fmt: skip
def test_an_index_that_nobody_writes_is_refused(
    key: str, value: Any, entry: str, told: str, folder: Path
) -> None:
    """An answer that would not be asked, a file elsewhere and a value of another kind are one line and exit code 2."""
    forged(folder, key, value, entry)
    ran = check(folder, sys.executable, "-c", "print('unsat')")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert told in ran.stderr


@pytest.mark.parametrize(
    "text", ["[]", "", "[" * 5000, '{"obligations": []}'], ids=["list", "empty", "deep", "no claims"]
)
def test_an_index_that_is_none_is_refused(text: str, folder: Path) -> None:
    """What is no index of a certificate is one line and exit code 2."""
    (folder / "index.json").write_text(text)
    ran = check(folder, sys.executable, "-c", "print('unsat')")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)


def test_a_certificate_lists_every_obligation(written: Path) -> None:
    """Each invariant has its initiation, each claim every action, and the domains too; each file asks one question."""
    listed = index(written)
    rows = {(row["claim"], row["action"], row["shows"]) for row in listed["obligations"]}
    assert {(name, "initially", "initiation") for name in listed["invariants"]} <= rows
    for action in listed["actions"]:
        assert {(name, action, "consecution") for name in listed["invariants"]} <= rows
        assert {(name, action, "safety") for name in listed["steps"]} <= rows
        assert ("domains", action, "domains") in rows
    claims, actions = [*listed["invariants"], *listed["steps"], "domains"], len(listed["actions"])
    count = len(listed["invariants"]) + len(claims) * actions
    assert len(rows) == len(listed["obligations"]) == count
    for row in listed["obligations"]:
        text = (written / row["file"]).read_text()
        assert text.count("(check-sat)") == 1
        assert "(set-info :status unsat)" in text
        assumed = {line.rsplit("|", 2)[1] for line in text.splitlines() if ":named |invariant: " in line}
        invariants = listed["invariants"] if row["action"] != "initially" else ()
        assert assumed == {f"invariant: {name}" for name in invariants}
    invariant = (written / listed["invariant"]["file"]).read_text()
    assert all(f"(define-fun |{name}| () Bool" in invariant for name in listed["invariants"])


def test_a_changed_file_fails(folder: Path) -> None:
    """One character more in an obligation is noticed, though its answer is the same."""
    entry = index(folder)["obligations"][0]
    (folder / entry["file"]).write_text((folder / entry["file"]).read_text() + "\n")
    ran = check(folder)
    assert ran.returncode == 1
    assert f"{entry['file']}: not the file that was written" in ran.stdout


def test_a_weaker_obligation_fails_whatever_the_index_says(folder: Path) -> None:
    """An obligation without its denial is satisfiable, and the script says so even where the index agrees with it."""
    pytest.importorskip("cvc5")
    entry = index(folder)["obligations"][0]
    text = (folder / entry["file"]).read_text()
    denial = next(part for part in text.split("\n(assert ") if "|denial 0|" in part).partition("(check-sat)")[0]
    replace(folder, entry, f"(assert {denial}", "")
    ran = check(folder)
    assert ran.returncode == 1
    assert entry["file"] in ran.stdout
    assert ran.stdout.endswith(" not unsat\n")


def test_an_invariant_that_excludes_every_state_fails(folder: Path) -> None:
    """From a false invariant all would follow: that it has a state is asked too."""
    pytest.importorskip("cvc5")
    entry = index(folder)["invariant"]
    replace(folder, entry, "(check-sat)", "(assert false)\n(check-sat)")
    ran = check(folder)
    assert ran.returncode == 1
    assert ran.stdout.startswith("invariant.smt2: ")
    assert ran.stdout.endswith(" not sat\n")


def test_an_obligation_that_is_missing_fails(folder: Path) -> None:
    """Neither a file that is gone nor one that is listed no more goes unnoticed."""
    listed = index(folder)
    gone, unlisted = listed["obligations"][0], listed["obligations"].pop()
    (folder / gone["file"]).unlink()
    (folder / "index.json").write_text(json.dumps(listed))
    ran = check(folder, sys.executable, "-c", "print('unsat')")
    assert ran.returncode == 1
    assert f"{gone['file']}: not the file that was written" in ran.stdout
    assert f"{unlisted['claim']}, {unlisted['action']}: not listed" in ran.stdout


def test_a_solver_that_is_missing_is_said(written: Path) -> None:
    """A command that does not exist ends the script with one line."""
    ran = check(written, "no-such-solver")
    assert ran.returncode == 1
    assert ran.stderr.startswith("there is no such solver, or no such file: ")
    assert len(ran.stderr.splitlines()) == 1


def test_nothing_is_written_where_nothing_is_proven(tmp_path: Path) -> None:
    """A claim that is refuted has no certificate: no folder is made, and an old one stays as it was."""
    words = ("prove", "tests.toys:HASTY", "--scope", "3", "--quiet", "--workers", "1", "--property", "consistent")
    ran = kraftcheck(*words, "--certificate", tmp_path / "none")
    assert ran.code != 0
    assert "no certificate: nothing is proven" in ran.text
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_proven_is_left_out(tmp_path: Path) -> None:
    """The certificate of a proof that fails in part assumes what is proven and nothing else, and says what is not."""
    pytest.importorskip("cvc5")
    ran = kraftcheck("prove", "broker-ids", "--scope", "newcomer", "--rules", "kip", "--quiet", "--workers", "1",
                     "--search", "0", "--certificate", tmp_path / "part", "--property", "live-id-not-taken",
                     "--property", "live-host-recorded")  # fmt: skip
    assert ran.code == 22
    assert "not proven, and not in it: " in ran.text
    listed = index(tmp_path / "part")
    assert "live-id-not-taken" in listed["steps"]
    assert "live-host-recorded" not in {row["claim"] for row in listed["obligations"]}
    assert check(tmp_path / "part").returncode == 0
