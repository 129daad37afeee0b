"""`kraftcheck conform --kafka`: what is refused without Java, and the released classes themselves, with it."""

import re
import signal
from pathlib import Path

import numpy as np
import pytest

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.change.cases import every_merge, every_registration, exhaustive_changes
from kraftcheck.ci.conformance.kafka.change.checks import compare
from kraftcheck.ci.conformance.kafka.change.models import model_of
from kraftcheck.ci.conformance.kafka.columns import KEEP_LEADER, KEEP_RECOVERY, RECORD, THROWN
from kraftcheck.ci.conformance.kafka.drivers import Driver, DriverError
from kraftcheck.model.rules.ruleset import RELEASES, parse
from tests.shared.commands import kraftcheck

pytestmark = pytest.mark.xdist_group("kafka")  # one worker fetches and compiles; the others find what it left


def test_bad_input_is_one_line() -> None:
    """What is no build, too many replicas, two sources at once."""
    nothing = kraftcheck("conform", "--kafka", "trunk").refusal()
    assert nothing == "'trunk' is neither a version, such as 4.4.0, nor a path of jars or classes"
    many = kraftcheck("conform", "--kafka", "4.1.0", "--exhaustive", "9")
    assert "'--exhaustive': 9 is not in the range 0<=x<=3" in many.err
    assert "not both" in kraftcheck("conform", "--kafka", "4.1.0", "--vectors", "x.json").err
    assert kraftcheck("conform", "--fuzz", "10").refusal() == "--fuzz needs a release: --kafka VERSION"
    both = kraftcheck("conform", "--kafka", "4.1.0", "--fuzz", "10", "--tour", "elections").refusal()
    assert both == "give --tour or --fuzz, not both"
    assert "unknown rule set 'nonsense'" in kraftcheck("conform", "--kafka", "4.1.0", "--rules", "nonsense").err


@pytest.mark.parametrize("mode", [(), ("--tour", "elections"), ("--fuzz", "10")], ids=" ".join)
def test_missing_java_is_one_line(mode: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without Maven, Java or the jars, the command says what is missing and ends with 2."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert re.fullmatch(r"(java|mvn) is not installed; .* is needed to run Kafka's own classes",
                        kraftcheck("conform", "--kafka", "4.1.0", *mode).refusal())  # fmt: skip


def test_a_release_conforms() -> None:
    """Every registration, record, reassignment of up to three replicas and change of one, by the classes of 4.1.2."""
    ran = kraftcheck("conform", "--kafka", "4.1.2", "--exhaustive", "1", "--samples", "0", "--json", "-")
    rows = ran.document()["rows"]
    assert (ran.code, [row["differences"] for row in rows]) == (0, [0] * 6)
    found = [(row["check"], row["factor"]) for row in rows]
    assert found == [("registration", 3), ("merge", 2), *(("reassignment", n) for n in (1, 2, 3)), ("change", 1)]
    assert all(row["cases"] >= 20 for row in rows)


def test_a_broken_registration_does_not_conform() -> None:
    """Rules that take an empty list of directories for none left differ in them; nothing else does."""
    model = model_of("registration", 0, parse("kafka-4.1.2-empty-directory-list-means-no-change"))
    with Driver(Build("4.1.2"), "registration", 0, model.outputs) as kafka:
        (*_, found) = compare(kafka, model, [every_registration()])
    assert found.cases == len(every_registration()) == 82_944
    assert 0 < found.differences < found.cases
    assert {model.inputs.read(cause.case)["changed"] for cause in found.causes} == {0}


def test_every_record_is_replayed_or_refused() -> None:
    """Each field is absent and present beside each presence of the others; some records do not fit, most do."""
    model, table = model_of("merge", 4, parse("fixed")), every_merge()
    names = [name for name in model.inputs if name.endswith("?")]
    presence = {name: model.inputs.get(table, name) for name in names}
    presence["leader"] = model.inputs.get(table, "record.leader") != KEEP_LEADER
    presence["recovery"] = model.inputs.get(table, "record.recovery") != KEEP_RECOVERY
    assert len(np.unique(np.stack(list(presence.values())), axis=1).T) == 2**9
    assert len(np.unique(table, axis=0)) == len(table) == 34_560
    status = model.outputs.get(model.answer(table[::40]).astype(np.int32), "status")
    assert 0 < (status == THROWN).sum() < (status == RECORD).sum() < len(status)


def test_a_broken_merge_does_not_conform() -> None:
    """Rules that raise the leader epoch by two differ in it, wherever a record that fits has a leader."""
    model, table = model_of("merge", 4, parse("kafka-4.1.2+leader-epoch-rises-twice")), every_merge()[::16]
    leads = model.inputs.get(table, "record.leader") != KEEP_LEADER
    fits = model.outputs.get(model.answer(table).astype(np.int32), "status") == RECORD
    with Driver(Build("4.1.2"), "merge", 4, model.outputs) as kafka:
        (*_, found) = compare(kafka, model, [table])
    assert {cause.columns for cause in found.causes} == {("after.leader_epoch",)}
    assert found.differences == (leads & fits).sum() > 0


def test_another_rule_set_does_not_conform() -> None:
    """The classes of 4.1.2 under the rules of 4.0.2: exit 23, grouped, with a shortest case of each group."""
    ran = kraftcheck("conform", "--kafka", "4.1.2", "--rules", "kafka-4.0.2", "--exhaustive", "1", "--samples", "0")
    assert ran.code == 23
    assert "cases differ in last_known; the shortest:" in ran.out
    assert "the classes answer: last_known" in ran.out


def test_a_driver_that_dies_says_why() -> None:
    """A question that Kafka's process cannot read is an error, not an answer."""
    model = model_of("change", 4, parse("fixed"))
    table = next(exhaustive_changes(1, 4, 1 << 10))
    driver = Driver(Build("4.1.2"), "change", 4, model.outputs, "NO_SUCH_VERSION")
    with pytest.raises(DriverError, match=r"ended with code 1: .*NO_SUCH_VERSION"), driver:
        driver.ask(table)


def test_a_driver_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that gives no answer in time has died of its question, and the next one may be asked of a new one."""
    model = model_of("change", 4, parse("fixed"))
    table = next(exhaustive_changes(1, 4, 1 << 10))
    with Driver(Build("4.1.2"), "change", 4, model.outputs) as driver:
        assert driver.ask(table[:1]).shape == (1, model.outputs.width)
        driver._process.send_signal(signal.SIGSTOP)
        monkeypatch.setattr(Driver, "SILENCE", 0.5)
        with pytest.raises(DriverError, match=r"stopped, since it gave no answer for [02]\.5 s"):
            driver.ask(table)
        monkeypatch.setattr(Driver, "SILENCE", 60)
        driver.restart()
        assert driver.ask(table).shape == (len(table), model.outputs.width)


@pytest.mark.slow
@pytest.mark.parametrize("rules", RELEASES)
def test_every_release_conforms(rules: str) -> None:
    """Every case of two replicas, and drawn ones of four and five, under the preset of each release."""
    ran = kraftcheck("conform", "--kafka", rules.removeprefix("kafka-"), "--samples", "50000")
    assert ran.code == 0, ran.out
    assert " 0 differences" in ran.out.splitlines()[-2]
