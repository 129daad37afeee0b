"""Findings on live clusters: what is counted, what is recorded, and every scenario on the newest release by night."""

import subprocess
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner

from kraftcheck.ci.conformance.cluster.processes import ClusterError, PartitionDescription
from kraftcheck.ci.conformance.findings import live as command
from kraftcheck.ci.conformance.findings.held_scenarios import ASSIGNMENTS, HEARTBEATS, HELD_METADATA, LEFT_OUT
from kraftcheck.ci.conformance.findings.live import NOT_SHOWN, SCENARIOS, SHOWN, observation, observations, play, record
from kraftcheck.ci.conformance.findings.scenario import Outcome, renounced, state
from kraftcheck.ci.conformance.kafka.jars import BYTEMAN, SERVER, jars, known_versions, program
from kraftcheck.ci.terminal.refusal import Refusal

NEWEST = known_versions()[-1]
RESIGNED = "ERROR Encountered fault: event failed with {} at epoch {} in 55 microseconds. Renouncing leadership and"


def test_a_resignation_counts_once_an_epoch() -> None:
    """An epoch whose end is written twice is one resignation; an error without a resignation is none."""
    lines = [RESIGNED.format("RuntimeException (treated as UnknownServerException)", 7), f"a.B: topic {'x' * 22} gone"]
    lines += [*lines, "INFO event failed with NotControllerException in 3 microseconds."]
    lines += [RESIGNED.format("IOException", 9), "[a thread] INFO goes on", ""]
    assert renounced("\n".join(lines)) == {7: "a.B: topic ... gone", 9: "IOException"}
    assert renounced("INFO Becoming the active controller at epoch 8. Renouncing leadership\n") == {}


def test_a_partition_in_words_has_every_list() -> None:
    """No list of brokers that a scenario shows is left out."""
    shown = state(PartitionDescription(0, -1, (1, 2), (3,), (4,), (5,)))
    assert shown == "leader -1, replicas [1, 2], ISR [3], ELR [4], last known [5]"


def test_a_new_run_replaces_the_old_one(tmp_path: Path) -> None:
    """Of a scenario and release the newest run is kept; those of others stay."""
    path = tmp_path / "observed.json"
    path.write_text("[]", encoding="utf-8")
    first = observation("b", "4.4.0", "2026-01-01", Outcome(True, {"records": 7, "errors": {"Timeout": 1}}))
    second, other = evolve(first, outcome=NOT_SHOWN), evolve(first, release="4.3.1")
    for one in (first, other, second):
        record(one, path)
    assert first.outcome == SHOWN
    assert observations(path) == (other, second)


def outcome_of(*_: object) -> Outcome:
    """A run that shows nothing."""
    return Outcome(False, {"records": 0})


def test_the_exit_code_says_what_came_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shown, not shown, refused and failed before it could be measured are four exit codes."""

    def fails(reason: Exception) -> object:
        def run(*_: object) -> Outcome:
            raise reason

        return run

    runs = {0: lambda *_: Outcome(True, {}), 23: outcome_of, 2: fails(Refusal("no jars")), 1: fails(ClusterError("x"))}
    for code, run in runs.items():
        monkeypatch.setattr(command, "play", run)
        result = CliRunner().invoke(command.main, ["data-loss", "--kafka", NEWEST])
        assert (result.exit_code, result.output != "") == (code, True)


def test_what_was_observed_is_of_scenarios_and_releases() -> None:
    """Each recorded run is of a scenario that exists on a release with digests, and has measured facts."""
    for one in observations():
        assert one.finding in SCENARIOS
        assert one.release in known_versions()
        assert one.outcome in (SHOWN, NOT_SHOWN)
        assert len(one.facts) >= 3


def test_every_scenario_was_run_on_the_newest_release() -> None:
    """No scenario is kept that was not tried on the newest release."""
    assert {one.finding for one in observations() if one.release == NEWEST} == {*SCENARIOS}


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_live_cluster_shows_what_is_recorded(name: str, tmp_path: Path) -> None:
    """The scenario on the newest release has the recorded outcome."""
    (recorded,) = (one for one in observations() if (one.finding, one.release) == (name, NEWEST))
    outcome = play(SCENARIOS[name], NEWEST, tmp_path / "cluster")
    assert (SHOWN if outcome.shown else NOT_SHOWN) == recorded.outcome, outcome.facts


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_byteman_can_apply_its_rules(tmp_path: Path) -> None:
    """Each rule for Byteman is parsed and typed against the newest release: one that is not is left out silently."""
    rules = tmp_path / "rules.btm"
    files = {"gate": tmp_path / "gate", "mark": tmp_path / "mark"}
    left_out = [LEFT_OUT.format(**files, **method) for method in (HEARTBEATS, ASSIGNMENTS)]
    rules.write_text("".join([HELD_METADATA.format(**files), *left_out]), "utf-8")
    path = f"{jars(NEWEST, BYTEMAN)}:{jars(NEWEST, SERVER)}"
    checked = subprocess.run(
        [program("java"), "-cp", path, "org.jboss.byteman.check.TestScript", rules],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "TestScript: no errors" in checked.stdout, checked.stdout
