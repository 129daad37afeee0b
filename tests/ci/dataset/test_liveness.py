"""Liveness of a committed run: the native verdicts and lassos, with steps in files or in memory, and after a stop."""

import random
import threading
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.dataset.backward.files import document_of
from kraftcheck.ci.dataset.jobs import LocalJobs
from kraftcheck.ci.dataset.liveness import FOLDER, CommittedLiveness
from kraftcheck.ci.dataset.store.manifests import read_sealed, write_sealed
from kraftcheck.model.language.system import LIVENESS
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, conclude, explore
from kraftcheck.solvers.liveness.judge import Liveness
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Refuted
from tests.ci.spark.levels import finished, only, program_of
from tests.ci.spark.test_spark_backward import committed, small_parts
from tests.shared.commands import kraftcheck
from tests.solvers.liveness.toys import DOOR, LIFT


def claims(found: Exploration) -> list[Any]:
    """Each liveness verdict: its class, and of a lasso the lengths of its run and its cycle; else its words."""
    told: list[Any] = []
    for one in found.verdicts:
        if one.kind in LIVENESS:
            verdict = one.verdict
            if isinstance(verdict, Refuted) and verdict.trace.loop is not None:
                told.append((one.claim, verdict.trace.loop.start, len(verdict.trace.steps)))
            else:
                told.append((one.claim, verdict))
    return told


def natively(program: Program) -> list[Any]:
    """What the native engine says."""
    return claims(explore(program, SearchBudget(keep=False), clock=lambda: 0.0))


def judged(
    program: Program, run: Any, spec: Any, collect: int | None, most: int = 1 << 30
) -> tuple[Liveness, CommittedLiveness]:
    """The search for fair behaviours, stopped after so many rounds."""
    stop = threading.Event()

    def report(rounds: int, rows: int) -> None:
        if rounds >= most:
            stop.set()

    search = CommittedLiveness(LocalJobs(spec, 2), run.log, run.commits, program, 1 << 30, report, collect=collect)
    return search.run(stop), search


def test_a_search_that_was_stopped_lists_no_region_again(tmp_path: Path) -> None:
    """A search that was stopped lists only the regions that were left, and says what the native engine does."""
    program = program_of(DOOR, "enough")
    run, spec = committed(program, tmp_path / "out")
    cut, first = judged(program, run, spec, 0, most=1)
    assert (cut.findings, first.computed) == (None, 1)
    kept = tmp_path / "out" / FOLDER
    assert (kept / document_of(1)).exists()
    whole, second = judged(program, run, spec, 0)
    assert second.computed == second.rounds - 1
    assert claims(conclude(run, run.kernel, 1.0, 0.0, finished(run).audit, liveness=whole)) == natively(program)
    assert not kept.exists()


def test_steps_in_a_file_show_the_native_lasso(tmp_path: Path) -> None:
    """A lasso that is found with steps in a file has the lengths of the native one."""
    program = program_of(only(LIFT, "up"), "idle")
    run, spec = committed(program, tmp_path / "out")
    found, _ = judged(program, run, spec, 0)
    told = claims(conclude(run, run.kernel, 1.0, 0.0, finished(run).audit, liveness=found))
    assert told == natively(program) == [("up", 1, 1)]


@pytest.mark.parametrize("collect", [0, None])
def test_a_step_that_is_not_explored_may_be_any(
    collect: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was cut before the door opens shows no behaviour that leaves it shut, and how far it is open."""
    small_parts(monkeypatch)
    program = program_of(DOOR, "enough")
    run, spec = committed(program, tmp_path / "out", max_depth=2)
    found, _ = judged(program, run, spec, collect)
    assert found.findings is not None
    [finding] = found.findings
    assert (finding.trace, finding.uncertain) == (None, 0)


@pytest.mark.parametrize("scope", ["enough", "cut"])
def test_the_command_judges_on_disk(scope: str, tmp_path: Path) -> None:
    """Verdicts, their words and the exit code are those of the native engine."""
    words = ["explore", "tests.solvers.liveness.toys:DOOR", "--scope", scope, "--json", "-", "--quiet"]
    native = kraftcheck(*words)
    ran = kraftcheck(*words, "--engine", "disk", "--handover", 0, "--out", tmp_path / "out")
    told = [[(p["id"], p["verdict"], p["detail"]) for p in one.document()["properties"]] for one in (native, ran)]
    assert (ran.code, told[1]) == (native.code, told[0])
    assert not (tmp_path / "out" / FOLDER).exists()


def test_rounds_of_another_run_are_dropped(tmp_path: Path) -> None:
    """Rounds that belong to other levels are not taken up."""
    program = program_of(DOOR, "enough")
    run, spec = committed(program, tmp_path / "out")
    cut, _ = judged(program, run, spec, 0, most=1)
    assert cut.findings is None
    document = tmp_path / "out" / FOLDER / document_of(1)
    kept, _ = read_sealed(document, "")
    kept["of"][-1][1] += 1
    write_sealed(document, kept)
    whole, again = judged(program, run, spec, None)
    assert again.computed == again.rounds
    assert whole.findings is not None


@pytest.mark.parametrize("scope", ["fair", "moving", "idle"])
@pytest.mark.parametrize("collect", [0, None])
def test_every_kind_of_property_has_the_native_lasso(
    scope: str, collect: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With steps in a file or in memory, each kind under each fairness has the native verdict and lengths."""
    small_parts(monkeypatch)
    program = program_of(LIFT, scope)
    run, spec = committed(program, tmp_path / "out")
    found, _ = judged(program, run, spec, collect)
    assert claims(conclude(run, run.kernel, 1.0, 0.0, finished(run).audit, liveness=found)) == natively(program)


@pytest.mark.parametrize("seed", range(12))
def test_random_systems_have_the_native_verdicts(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random systems with random fairness have native verdicts and stems, with steps in a file and in memory."""
    small_parts(monkeypatch)
    from tests.random_systems import building
    from tests.random_systems.claims import Claims
    from tests.random_systems.systems import drawn
    from tests.solvers.liveness.test_random_systems import asked_of, fairness_of, labels_of

    drawn_ = next(one for one in map(drawn, range(100 * seed, 100 * seed + 100)) if 4 <= len(one.graph.depth) <= 60)
    source = random.Random(f"spark {seed}")
    labels = labels_of(drawn_.graph)
    declared, _ = fairness_of(source, drawn_, labels)
    system = building.build(drawn_.machine)
    asked = asked_of(Claims(source, drawn_.machine, drawn_.graph), drawn_.machine, system)[0]
    program = program_of(evolve(system, properties=lambda _: asked, fairness=lambda _: declared))
    for number, collect in enumerate((0, None)):
        run, spec = committed(program, tmp_path / f"out{number}")
        found, _ = judged(program, run, spec, collect)
        told = claims(conclude(run, run.kernel, 1.0, 0.0, finished(run).audit, liveness=found))
        assert [one[:2] for one in told] == [one[:2] for one in natively(program)]
