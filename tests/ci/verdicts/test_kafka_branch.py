"""`kraftcheck branch`: a mend is recognised, a broken promise is shown, and what has no name is no pass."""

import functools
import json
import os
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from attrs import frozen

from kraftcheck.ci.conformance.kafka import drivers
from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.change.checks import CheckSize
from kraftcheck.ci.conformance.kafka.coverage.noted import UnrunMethod
from kraftcheck.ci.conformance.kafka.drivers import NO_ANSWER, PATIENCE
from kraftcheck.ci.conformance.kafka.fuzz.beside import BesideRow, beside_release
from kraftcheck.ci.conformance.kafka.fuzz.run import FuzzProcess
from kraftcheck.ci.conformance.kafka.jars import jars
from kraftcheck.ci.conformance.kafka.naming import FullAnswer, Naming
from kraftcheck.ci.conformance.kafka.places import METHODS
from kraftcheck.ci.conformance.kafka.tour.run import SYSTEMS
from kraftcheck.ci.explore.diff import SearchComparison
from kraftcheck.ci.explore.two_sides import mended
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.interrupts import Interrupted
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.verdicts import branch
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.exploration.explore import SearchBudget
from tests.ci.conformance.released import NEWEST, changed
from tests.shared.commands import kraftcheck

ORDER = branch.EXPLORED  # the systems whose promises are asked

MEND = f"kafka-{NEWEST}-removed-replicas-stay-in-elr"  # the rule set of the classes `mended`


@frozen
class Agreeing:
    """A case that every rule set answers as the build does."""

    asked: str = "heartbeat"

    def agrees(self, rules: RuleSet) -> bool:
        """True of each."""
        return True


@pytest.fixture(autouse=True)
def _fewer(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(branch, "FIRST", 400)
    monkeypatch.setattr(branch, "MORE", 400)
    monkeypatch.setattr(branch, "beside_release", functools.partial(beside_release, sequences=3))
    monkeypatch.setattr(branch, "SIZE", CheckSize(exhaustive=1, samples=600, seed=0))
    monkeypatch.setattr(branch, "EXPLORED", ("elections",))
    if "images" not in request.node.name:
        monkeypatch.setattr(branch, "tour_of_images", lambda *asked: None)


@pytest.mark.xdist_group("kafka")
def test_a_mend_is_recognised(tmp_path: Path) -> None:
    """Classes that keep removed replicas out of the ELR are that mend, in all cases; no promise fails in the report."""
    mended = changed(tmp_path, "mended")
    junit = tmp_path / "junit.xml"
    ran = kraftcheck("branch", str(mended), "--mends", "ghost-elr-member", "--junit", str(junit), "--quiet")
    assert ran.code == 0
    assert f"{mended} is {MEND} in " in ran.out
    assert "\nclasses that are not those of 4.4.0: 1, all of it run\n" in ran.out
    assert "newly kept: elr-within-replicas (refuted 2 -> holds)" in ran.out
    assert ran.out.splitlines()[-1].endswith(": 0 promises newly broken, 2 newly kept (exit 0)")
    cases = list(ElementTree.parse(junit).iter("testcase"))
    assert len(cases) > 40
    assert not [case.get("name") for case in cases if {part.tag for part in case} & {"failure", "error"}]


@pytest.mark.xdist_group("kafka")
def test_a_change_without_a_name_is_no_pass(tmp_path: Path) -> None:
    """A mutant of the builder differs at once, is no rule set, and is an error in a report for each kind of request."""
    mutant = changed(tmp_path, "101")
    junit, sarif = tmp_path / "junit.xml", tmp_path / "a.sarif"
    reports = ("--junit", str(junit), "--sarif", str(sarif))
    ran = kraftcheck("branch", str(mutant), *reports, "--quiet", "--json", "-")
    document = ran.document()
    assert (ran.code, document["exit_code"], document["naming"]["name"]) == (23, 23, None)
    assert document["differing"] > 0
    assert "is no rule set: " in ran.err
    asking = f"  kraftcheck diff kafka-{NEWEST} kafka:{mutant} elections --scope tiny"
    assert asking in ran.err.splitlines()[-4:-1]
    cases = list(ElementTree.parse(junit).iter("testcase"))
    assert all(case.find("error") is not None for case in cases)
    results = json.loads(sarif.read_text("utf-8"))["runs"][0]["results"]
    kinds = {one["ruleId"].removeprefix("elections/answers-") for one in results}
    assert 0 < len(results) == len(cases) == len(kinds) <= len(METHODS)
    assert f"again: kraftcheck branch {mutant} --like {NEWEST}" in results[0]["message"]["text"]
    assert kinds <= METHODS.keys()


@pytest.mark.xdist_group("kafka")
def test_what_no_rule_is_of_is_no_pass(tmp_path: Path) -> None:
    """Classes that describe configurations otherwise decide as the release, which is said, and exit code 23."""
    described = changed(tmp_path, "99", "ConfigurationControlManager")
    ran = kraftcheck("branch", str(described), "--quiet", "--json", "-")
    document = ran.document()
    assert (ran.code, document["exit_code"], document["differing"], document["naming"]) == (23, 23, 0, None)
    assert {name for name, *_ in document["beside"]["causes"]} >= {"describeConfigs"}
    assert 0 < document["seconds"]["first"] < document["seconds"]["all"]
    said = f"; {document['beside']['differing']} answers beside the rules are not its release's (exit 23)"
    assert ran.err.splitlines()[-1].endswith(said)


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_images_of_brokers_are_asked(tmp_path: Path) -> None:
    """Classes that apply records to an image otherwise decide as the release, and are no pass: exit code 23."""
    ran = kraftcheck("branch", str(changed(tmp_path, "19", "TopicDelta", "image")), "--quiet", "--json", "-")
    document = ran.document()
    assert (ran.code, document["differing"], document["naming"], document["not_asked"]) == (23, 0, None, [])
    assert document["images"]["executed"] > 10_000 > document["images"]["differing"] > 0
    assert "steps of images are not its release's (exit 23)" in ran.err.splitlines()[-1]


@pytest.mark.xdist_group("kafka")
def test_a_change_that_no_question_runs_is_no_pass(tmp_path: Path) -> None:
    """A changed line that runs in no question is named, and nothing is said of it: exit code 21."""
    ran = kraftcheck("branch", str(changed(tmp_path, "1", "QuorumController")), "--quiet", "--json", "-")
    document, name = ran.document(), "org.apache.kafka.controller.QuorumController"
    assert (ran.code, document["exit_code"], document["differing"], document["changed"]) == (21, 21, 0, [name])
    (unrun,) = (UnrunMethod(one["owner"], one["name"], tuple(one["lines"])) for one in document["not_asked"])
    assert unrun.owner == name
    assert f"classes that are not those of 4.4.0: 1; no question ran all of {unrun}\n" in ran.err
    assert ran.err.splitlines()[-1].endswith("; some of what it changes has run in no question (exit 21)")


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_a_build_that_hangs_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that is not answered is the difference, and the last asked; where the time is over before, none is."""
    hangs = str(changed(tmp_path, "hangs", "ClusterControlManager"))
    monkeypatch.setattr(FuzzProcess, "SILENCE", 15.0)
    ran = kraftcheck("branch", hangs, "--quiet", "--json", "-")
    document = ran.document()
    assert (ran.code, document["beside"], document["naming"]["name"], document["differing"]) == (23, None, None, 1)
    assert re.search(rf"{NO_ANSWER} for (15|{15 * PATIENCE}) s", ran.err)  # with a processor, or without one
    assert "is asked no more" in ran.err
    monkeypatch.setattr(FuzzProcess, "SILENCE", 60.0)
    over = kraftcheck("branch", hangs, "--quiet", "--time-limit", "25s")
    assert (over.code, over.out.splitlines()[-1].partition(";")[0]) == (20, "has given no answer in the time")
    assert "\nthe time was over before the classes had answered: register " in over.out


@pytest.mark.xdist_group("kafka")
def test_classes_that_do_not_fit_are_refused() -> None:
    """A jar of 4.3.1 beside those of 4.0.0 needs what these lack: that is no difference, named at once, exit code 2."""
    newer = next(path for path in jars("4.3.1").split(os.pathsep) if "kafka-metadata" in path)
    compared = ("diff", "kafka-4.0", f"kafka:{newer}@4.0.0", "elections", "--scope", "tiny")
    for words in (("branch", newer, "--like", "4.0.0"), compared):
        ran = kraftcheck(*words, "--quiet")
        said = r"kraftcheck: classes of Kafka .* do not fit each other: \w+Error: org\.apache\.kafka\..* needs .*\n"
        assert (ran.code, bool(re.fullmatch(said, ran.err))) == (2, True)
        assert "whole controllers" not in ran.out


@pytest.mark.xdist_group("kafka")
def test_what_a_build_changes_is_known_by_its_bytes(tmp_path: Path) -> None:
    """A class with other bytes than the release's, or that it lacks; none of a module that is not driven."""
    for name, member in (("own.jar", "controller/Added"), ("kafka-streams-4.4.0.jar", "streams/Stream")):
        with zipfile.ZipFile(tmp_path / name, "w") as file:
            file.writestr(f"org/apache/kafka/{member}.class", member)
    given = f"{tmp_path / 'own.jar'},{tmp_path / 'kafka-streams-4.4.0.jar'}"
    assert Build.of(given, NEWEST).changed() == {"org.apache.kafka.controller.Added"}
    released = next(path for path in jars(NEWEST).split(os.pathsep) if "kafka-metadata" in path)
    assert Build.of(released, NEWEST).changed() == Build.of(NEWEST).changed() == set()


def checkout(folder: Path, *modules: str) -> Path:
    """A checkout in which Gradle has built jars, which are those of the newest release."""
    (folder / "settings.gradle").write_text("")
    for path in map(Path, jars(NEWEST).split(os.pathsep)):
        module = path.name.removeprefix("kafka-").removesuffix(f"-{NEWEST}.jar")
        if module in modules:
            built = folder / module / "build/libs" / path.name
            built.parent.mkdir(parents=True)
            built.symlink_to(path)
    return folder


@pytest.mark.xdist_group("kafka")
def test_a_build_that_is_older_than_its_sources_is_no_pass(tmp_path: Path) -> None:
    """What is built answers as the release; of the sources, which are newer, that says nothing: exit code 21."""
    source = checkout(tmp_path, "metadata") / "metadata/src/main/java/Changed.java"
    source.parent.mkdir(parents=True)
    source.write_text("class Changed { }")
    ran = kraftcheck("branch", str(tmp_path), "--quiet")
    assert ran.code == 21
    assert f"\nno class of Kafka's that a controller stands on is another than that of {NEWEST}\n" in ran.out
    said = "; sources of metadata are newer than what is built: run gradle :metadata:jar (exit 21)"
    assert ran.out.splitlines()[-1].endswith(said)


@pytest.mark.xdist_group("kafka")
def test_a_module_that_is_half_built_is_refused(tmp_path: Path) -> None:
    """Of a module with one class nothing is asked: a line names its folder and the task that builds it; exit code 2."""
    classes = checkout(tmp_path, "metadata") / "server-common/build/classes/java/main"
    changed(tmp_path, "1", "SnapshotRegistry", "timeline")
    classes.parent.mkdir(parents=True)
    (tmp_path / "1").rename(classes)
    ran = kraftcheck("branch", str(tmp_path), "--quiet")
    said = rf"kraftcheck: {classes} has 1 of the \d+ classes of server-common 4\.4\.0: run gradle :server-common:jar\n"
    assert (ran.code, bool(re.fullmatch(said, ran.err))) == (2, True)


@pytest.mark.xdist_group("kafka")
def test_a_parameter_that_nobody_knows_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Managers whose method takes a word more are not asked with some word: one line names it, exit code 2."""
    gained = changed(tmp_path, "gains", "ConfigurationControlManager")
    unfit = kraftcheck("branch", str(gained), "--quiet")
    said = "NoSuchMethodError: org.apache.kafka.controller.ConfigurationControlManager.updateFeatures("
    assert (unfit.code, f"do not fit each other: {said}" in unfit.err) == (2, True)
    monkeypatch.setattr(drivers, "misfits", lambda *paths: ())  # as if its callers were compiled anew
    ran = kraftcheck("branch", str(gained), "--quiet")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "ConfigurationControlManager.updateFeatures takes what no driver knows to give: java.lang.String" in ran.err


@pytest.mark.xdist_group("kafka")
def test_an_older_release_breaks_what_a_newer_one_keeps() -> None:
    """Jars of 4.0.2 before those of 4.1.2 are named, and break promises, each with its shortest run; exit code 12."""
    folder = str(Path(jars("4.0.2").split(os.pathsep)[0]).parent)
    ran = kraftcheck("branch", folder, "--like", "4.1.2", "--quiet")
    assert ran.code == 12
    assert f"{folder} is kafka-4.0." in ran.out
    assert "  newly broken: " in ran.out


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_each_breach_is_a_page_a_test_and_a_place(tmp_path: Path) -> None:
    """Each run has a page, and a test that passes on these jars; SARIF is at the method that takes its last request."""
    folder, out, sarif = str(Path(jars("4.0.2").split(os.pathsep)[0]).parent), tmp_path / "out", tmp_path / "a.sarif"
    ran = kraftcheck("branch", folder, "--like", "4.1.2", "--quiet", "--out", str(out), "--sarif", str(sarif))
    assert ran.code == 12
    assert f"{folder} is kafka-4.0." in ran.out
    broken = ran.out.count("  newly broken: ")
    tests = sorted((out / "tests").glob("*Test.java"))
    page = (out / "index.html").read_text("utf-8")
    assert 0 < broken == page.count("Newly broken: ") == len(list(out.glob("*-*.html")))
    assert 0 < len(tests) == page.count("takes these steps on the classes of the build, and passes")
    results = json.loads(sarif.read_text("utf-8"))["runs"][0]["results"]
    promises = [
        one for one in results if "/answers" not in one["ruleId"]
    ]  # what else differs is in no method of its own
    assert promises
    places = [one["locations"][0]["physicalLocation"] for one in promises]
    assert all(place["artifactLocation"]["uri"].startswith("metadata/src/main/java/org/") for place in places)
    assert all(place["region"]["startLine"] > 50 for place in places)
    assert all(one["relatedLocations"] for one in promises)


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_promises_of_acknowledged_records_are_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A mend of the ELR is compared in `replication` too, where it keeps promises that the release breaks."""
    monkeypatch.setattr(branch, "EXPLORED", ("replication",))
    ran = kraftcheck("branch", str(changed(tmp_path, "mended")), "--quiet")
    assert ran.code == 0
    assert "replication tiny, reassignments 1" in ran.out


@pytest.mark.xdist_group("kafka")
def test_a_release_is_not_the_mend_of_its_defect(tmp_path: Path) -> None:
    """The released jars decide as their release, which is a pass, and no mend of anything."""
    folder = str(Path(jars(NEWEST).split(os.pathsep)[0]).parent)
    assert kraftcheck("branch", folder, "--quiet").code == 0
    ran = kraftcheck("branch", folder, "--mends", "ghost-elr-member", "--quiet")
    assert ran.code == 23
    assert "decides as its release: " in ran.out
    over = kraftcheck("branch", folder, "--quiet", "--time-limit", "0.001s")
    assert (over.code, over.out.splitlines()[-1]) == (20, "has given no answer in the time (exit 20)")


@pytest.mark.xdist_group("kafka")
def test_a_mend_that_no_question_tells_from_its_release_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked shows nothing of a mend, or the time is over before it could: neither a mend nor another build."""
    folder = str(Path(jars(NEWEST).split(os.pathsep)[0]).parent)
    monkeypatch.setattr(branch, "UNASKED", ())
    ran = kraftcheck("branch", folder, "--mends", "padded-config", "--quiet")
    said = "is kafka-4.4.0-padded-configs-stored in all that is asked, which does not tell it from its release"
    assert (ran.code, ran.out.splitlines()[-1]) == (20, f"{said} (exit 20)")
    over = kraftcheck("branch", folder, "--mends", "padded-config", "--quiet", "--time-limit", "0.001s")
    assert (over.code, over.out.splitlines()[-1]) == (20, "has given no answer in the time (exit 20)")


@pytest.mark.xdist_group("kafka")
def test_what_the_time_cuts_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A build that has a name is no pass before its promises are explored; one without may be the mend it is said."""
    mended, answers = str(changed(tmp_path, "mended")), [(FullAnswer(9, 1, [Agreeing()]), [""])] * 2
    monkeypatch.setattr(branch._Asking, "rounds", lambda asking, rules: iter(answers))
    monkeypatch.setattr(branch._Asking, "beside", lambda asking, rules: None)
    monkeypatch.setattr(branch._Asking, "whole", lambda asking, name: None)
    words = (mended, "--quiet", "--time-limit", "0.3s")
    for name, mends, code in ((MEND, (), 20), (None, (), 23), (None, ("--mends", "ghost-elr-member"), 20)):
        found = Naming(name, 9, 1, 1, 0, (), name is not None)
        monkeypatch.setattr(branch, "named", lambda *asked, found=found: found)
        ran = kraftcheck("branch", *words, *mends)
        said = "0 newly kept as far as it was asked" if name else "is none of the rule sets that were tried"
        assert (ran.code, said in ran.out.splitlines()[-1]) == (code, True)


def test_a_system_that_is_not_explored_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each system has its turn at its scope, and one that the time cuts is named by lines, JSON and exit code."""
    asked, name, build = list[str](), f"kafka-{NEWEST}+no-bump-on-replica-removal", Build(NEWEST, name="a/libs")

    def compared(one: Subject, *others: object) -> SearchComparison:
        asked.append(one.system.name)
        if len(asked) == 2:
            raise Interrupted
        return SearchComparison((one, one), (), frozenset())

    monkeypatch.setattr(branch, "EXPLORED", ORDER)
    monkeypatch.setattr(branch, "compare", compared)
    monkeypatch.setattr(branch, "passed", lambda: len(asked) == 2)
    found, left = branch._explored(f"kafka-{NEWEST}", name, SearchBudget(), True, lambda lines: None)
    assert ([*found], asked, left) == (["elections"], ["elections", "replication"], ORDER[1:])
    assert {*ORDER} == {*SYSTEMS, "replication"}
    outcome = branch._Outcome(9, 1, Naming(name, 9, 1, 1, 0, (), True), found, False, left=("images",), unexplored=left)
    scopes = ("replication tiny, reassignments 1", "directories tiny", "kraft tiny")
    assert outcome.document(build, 20)["left"] == ["images", *scopes]
    code, last = branch._ended(outcome, f"kafka-{NEWEST}", None)
    assert (code, last.endswith(f"; not asked to the end: {', '.join(('images', *scopes))}")) == (20, True)
    first, *commands = outcome.following(build, f"kafka-{NEWEST}")
    assert all(scope in first for scope in scopes)
    assert commands[0] == f"  kraftcheck diff kafka-{NEWEST} {name} replication --scope tiny --reassignments 1"
    assert [command.split(" ")[6] for command in commands] == [*left]


def test_a_difference_counts_though_not_all_was_asked() -> None:
    """Answers that are not those of the release end with 23, and not with 20, where the time was over as well."""
    for differing, code in ((1, 23), (0, 20)):
        assert branch._Outcome(9, 0, None, {}, False, BesideRow(1, 9, differing, ())).exit_code == code


@pytest.mark.xdist_group("kafka")
def test_half_a_mend_is_no_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that is a mend of several choices passes only where what is asked tells it from each part of the mend."""
    folder = str(Path(jars(NEWEST).split(os.pathsep)[0]).parent)
    answers = [(FullAnswer(9, 1, [Agreeing()]), [""])] * 2
    monkeypatch.setattr(branch._Asking, "rounds", lambda asking, rules: iter(answers))
    monkeypatch.setattr(branch._Asking, "beside", lambda asking, rules: None)
    finding, half = "removed-last-known-leader", "kafka-4.4.0-last-known-leader-may-be-removed"
    for told, code in ((frozenset[str](), 20), (frozenset({half, "kafka-4.4.0-removed-replica-stays-last-known"}), 0)):
        monkeypatch.setattr(branch._Asking, "whole", lambda asking, name, told=told: FullAnswer(9, name in told, []))
        ran = kraftcheck("branch", folder, "--mends", finding, "--quiet")
        assert (ran.code, "does not tell it from" in ran.out) == (code, code == 20)


def test_a_mend_changes_no_class_beside_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that is a mend in all that is asked passes only where it changes classes that the finding names."""
    folder = str(Path(jars(NEWEST).split(os.pathsep)[0]).parent)
    answers = [(FullAnswer(9, 1, [Agreeing()]), [""])] * 2
    monkeypatch.setattr(branch._Asking, "rounds", lambda asking, rules: iter(answers))
    monkeypatch.setattr(branch._Asking, "beside", lambda asking, rules: None)
    monkeypatch.setattr(branch._Asking, "whole", lambda asking, name: FullAnswer(9, name != MEND, []))
    inner, other = "controller.PartitionChangeBuilder$ElectionResult", "timeline.SnapshotRegistry"
    for names, code in (((inner,), 0), ((inner, other), 21)):
        classes = [f"org.apache.kafka.{name}" for name in names]
        monkeypatch.setattr(branch.Build, "differing", lambda build, classes=classes: classes)
        ran = kraftcheck("branch", folder, "--mends", "ghost-elr-member", "--quiet")
        last = "; beside the place of the mend it changes SnapshotRegistry (exit 21)"
        assert (ran.code, ran.out.splitlines()[-1].endswith(last)) == (code, code == 21)


def test_a_mend_is_that_of_a_defect_which_the_release_has() -> None:
    """A finding that there is not, one that the release does not have, and one of brokers are refused in a line."""
    base = f"kafka-{NEWEST}"
    assert mended("ghost-elr-member", base) == MEND
    unknown = kraftcheck("branch", NEWEST, "--mends", "ghost").refusal()
    assert unknown.startswith("--mends: no finding 'ghost'; did you mean ghost-elr-member")
    with pytest.raises(Refusal, match=r"^kafka-4\.4\.0 does not have dead-last-known-leader"):
        mended("dead-last-known-leader", base)
    for finding, choice in (
        ("torn-promotion", "duplicate-log-stops-start"),
        ("padded-config", "padded-configs-stored"),
    ):
        refusal = kraftcheck("branch", NEWEST, "--mends", finding).refusal()
        assert refusal.startswith(f"--mends: {finding} is mended by {choice}")
