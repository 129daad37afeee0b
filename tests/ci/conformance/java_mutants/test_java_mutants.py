"""Mutants of Kafka's own classes: most are noticed, soon; those that are not have a reason."""

import json
import random
from pathlib import Path

import pytest

from kraftcheck.ci.conformance.kafka.drivers import PACKAGE
from tests.ci.conformance.java_mutants import __main__ as command
from tests.ci.conformance.java_mutants import campaign
from tests.ci.conformance.java_mutants.campaign import (
    CLASSES,
    EQUAL,
    NOTICED,
    SURVIVED,
    JavaMutant,
    MutantProcess,
    Outcome,
    asked,
    judged,
    mutants,
    noted,
    plays,
    record,
    recorded,
    run,
    run_shard,
    score,
    shard_of,
    told,
)
from tests.ci.night.shards import Shard, commit
from tests.shared.places import DOCS

pytestmark = pytest.mark.xdist_group("kafka")

SOON, EARLY = 150, 1_500
"""Steps within which a mutant of the sample of each change was noticed as recorded, and is by what is drawn now."""

SHARDS = 40  # shards of a night


@pytest.mark.each_change
def test_mutants_that_the_commit_draws_are_noticed_or_judged() -> None:
    """Two of the mutants that were noticed soon, other ones at each commit, are noticed early by today's requests."""
    soon = sorted(row[0] for row in recorded() if row[1] == NOTICED and row[2] <= SOON)
    chosen = random.Random(commit()).sample(soon, 2)
    owners = tuple(name for name in CLASSES if any(key.startswith(name.rpartition(".")[2] + ".") for key in chosen))
    drawn = [one for one in mutants(owners) if one.key in chosen]
    assert sorted(one.key for one in drawn) == sorted(chosen)
    found = {one.mutant.key: one.outcome for one in run(drawn, plays((EARLY,), 0), 600)}
    assert found == dict.fromkeys(chosen, NOTICED)


def test_the_recorded_score_reaches_the_goal() -> None:
    """Of the recorded mutants 95 % of those that are not equal are noticed within a minute each, and none survives."""
    unequal = [row for row in recorded() if row[1] != EQUAL]
    assert len(unequal) > 150
    assert sum(row[1] == NOTICED and (row[3] or 0) < 60 for row in unequal) >= 0.95 * len(unequal)
    assert SURVIVED not in {row[1] for row in unequal}


def test_every_judgement_is_of_a_mutant() -> None:
    """What is judged is made by PIT of the classes that are driven, so that no reason outlives its mutant."""
    keys = [one.key for one in mutants()]
    assert not [key for key, _ in judged() if not any(name.startswith(key) for name in keys)]


def test_a_mutant_is_noticed_and_an_equal_one_is_not() -> None:
    """A change of which records are written differs within the first sequences; one that changes nothing never does."""
    found = {one.key: one for one in mutants((f"{PACKAGE}.PartitionChangeBuilder",))}
    of_records = "PartitionChangeBuilder.changeRecordIsNoOp:55 replaced boolean return with true"
    of_nothing, sequences = "PartitionChangeBuilder.maybeUpdateRecordElr:517 negated conditional", plays((1500,))
    with MutantProcess() as kafka:
        noticed = {
            begin: asked(kafka, one, sequences)[0]
            for begin in (of_records, of_nothing) for key, one in found.items() if key.startswith(begin)
        }  # fmt: skip
    assert noticed == {of_records: True, of_nothing: False}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, SHARDS + 1))
def test_a_shard_of_all_mutants_is_noticed(number: int) -> None:
    """None survives without a reason, of those that were run at this commit before too."""
    shard = shard_of(number, SHARDS)
    found = [one.mutant.key for one in run_shard(shard) if one.outcome == SURVIVED]
    assert found == [], "\n".join(told([*noted(shard.folder).values()]))


OWN = [JavaMutant("a.B", number, "c", 1, "", f"changed {number}") for number in range(6)]


FORMER = [[OWN[0].key, NOTICED], [OWN[4].key, SURVIVED], [OWN[3].key, EQUAL]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The notes of a commit, whose mutants are noticed but for the last."""
    monkeypatch.setattr(campaign, "mutants", lambda: OWN)
    monkeypatch.setattr(campaign, "plays", lambda: ())
    monkeypatch.setattr(campaign, "recorded", lambda *place: recorded(*place) if place else FORMER)
    monkeypatch.setattr(campaign, "FOLDER", tmp_path)
    monkeypatch.setattr(campaign, "commit", lambda: "abc")
    becomes = {**dict.fromkeys(OWN, NOTICED), OWN[-1]: SURVIVED}
    monkeypatch.setattr(campaign, "run", lambda chosen, *_: (Outcome(one, becomes[one], 7, 0.5) for one in chosen))
    return tmp_path / "abc" / "java-mutants"


def test_a_shard_goes_on_with_what_is_left(folder: Path) -> None:
    """What became of a mutant is kept as it is known, and only one that survived is run again, under any shard.

    A recorded survivor comes first, then what was never run.
    """
    first = run_shard(Shard(1, 1, folder))
    begun = [next(first).mutant for _ in range(4)]
    first.close()
    assert begun == [OWN[4], OWN[1], OWN[2], OWN[5]]
    assert [*noted(folder)] == [one.key for one in begun]
    rest = [one.mutant for number in (1, 2) for one in run_shard(Shard(number, 2, folder))]
    assert sorted(rest, key=OWN.index) == [OWN[0], OWN[3], OWN[5]]
    assert [one.mutant for one in run_shard(Shard(1, 1, folder))] == OWN[-1:]


def test_a_record_has_the_commit_of_each_row(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not run again keeps its row; a mutant that is no more has none, nor what ran on changed files."""
    into = tmp_path / "ran.json"
    former = [[key, NOTICED, 1, 0.1, "old"] for key in (OWN[0].key, OWN[1].key, "gone")]
    into.write_text(json.dumps({"mutants": former}))
    ran = (("abc", OWN[1].key, NOTICED), ("abc", OWN[2].key, SURVIVED), ("abc-changed", OWN[3].key, NOTICED))
    for of, key, outcome in ran:
        (tmp_path / of / "java-mutants").mkdir(parents=True, exist_ok=True)
        with (tmp_path / of / "java-mutants" / "1-of-9.jsonl").open("a") as notes:
            notes.write(json.dumps([key, outcome, 9, 0.3]) + "\n")
    monkeypatch.setattr(campaign, "judged", lambda: [(OWN[2].key, EQUAL)])
    record(into)
    assert recorded(into) == [former[0], [OWN[1].key, NOTICED, 9, 0.3, "abc"], [OWN[2].key, EQUAL, 9, 0.3, "abc"]]
    assert json.loads(into.read_text())["of"] == len(OWN)


def test_the_command_says_what_survives_and_what_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A survivor without a reason ends it with 1; where only time was up it is 20."""
    monkeypatch.setattr(command, "mutants", lambda: OWN)
    assert command.main(["--shard", "1/1"]) == 1
    assert "6 mutants: 5 noticed, 1 survived" in capsys.readouterr().out
    monkeypatch.setattr(campaign, "run", lambda chosen, *_: iter([Outcome(OWN[-1], EQUAL, 7, 0.5)]))
    monkeypatch.setattr(command, "mutants", lambda: [*OWN, JavaMutant("a.B", 9, "c", 1, "", "x")])
    assert command.main([]) == 20
    assert "1 of the shard left" in capsys.readouterr().out


def test_the_page_tells_the_recorded_score() -> None:
    """The page for who works on Kafka has each number of the record."""
    page = " ".join((DOCS / "how-to" / "branch.md").read_text("utf-8").split())
    assert score() in page
