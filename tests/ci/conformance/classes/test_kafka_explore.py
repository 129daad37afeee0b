"""`kraftcheck explore --kafka`: exploration of Kafka's own managers, in place of the rules."""

from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.interface.engines import explore
from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.conformance.released import changed
from tests.shared.commands import kraftcheck

pytestmark = pytest.mark.xdist_group("kafka")

CLASSES = ("explore", "--quiet", "--workers", "1", "--traces", "0", "--json", "-")


def explored(system: str, *words: str, scope: str = "tiny") -> dict[str, Any]:
    """The document of an exploration."""
    document: dict[str, Any] = kraftcheck(*CLASSES, system, "--scope", scope, *words).document()
    return document


def verdicts(document: dict[str, Any]) -> dict[str, tuple[str, int | None]]:
    """The verdict of each property, with the length of its trace."""
    return {one["id"]: (one["verdict"], one["depth"]) for one in document["properties"]}


def test_released_classes_have_the_verdicts_of_their_rules() -> None:
    """The managers of 4.4.0 lead `directories` to the states, steps and verdicts of `kafka-4.4.0`, level by level."""
    kafka, rules = explored("directories", "--kafka", "4.4.0"), explored("directories", "--rules", "kafka-4.4.0")
    assert kafka["states"]["levels"] == rules["states"]["levels"]
    assert kafka["fired"] == rules["fired"]
    assert verdicts(kafka) == verdicts(rules)
    assert kafka["exit_code"] == rules["exit_code"] == 12
    answers = kafka["kafka"]
    assert answers["asked"] + answers["remembered"] == answers["compared"] > 70_000
    assert not answers["differing"]


def test_the_classes_decide_and_not_the_rules_beside_them() -> None:
    """Beside rules that mend a defect of 4.4.0 its classes still show it; what no answer tells is unknown."""
    mended = ("--rules", "kafka-4.4.0-passes-share-one-base")
    kafka, rules = explored("directories", "--kafka", "4.4.0", *mended), explored("directories", *mended)
    released = explored("directories", "--rules", "kafka-4.4.0")
    assert verdicts(rules)["leader-directory-online"] == ("holds", None)
    assert verdicts(kafka)["leader-directory-online"] == ("refuted", 7)
    assert verdicts(kafka) == {**verdicts(released), "decided-on-latest": ("unknown", None)}
    assert set(kafka["kafka"]["differing"]) == {"assign", "unfence"}


def test_a_request_that_only_the_rules_refuse_is_a_step() -> None:
    """4.4.0 lets a member on a failed directory into the ISR and so breaks a promise; rules beside it refuse that."""
    stricter = ("--rules", "kafka-4.4.0-alter-partition-ignores-directories", "--max-depth", "2",
                "--property", "isr-directory-online")  # fmt: skip
    kafka = explored("elections", "--kafka", "4.4.0", *stricter, scope="directories")
    rules = explored("elections", *stricter, scope="directories")
    assert verdicts(kafka)["isr-directory-online"] == ("refuted", 2)
    assert verdicts(rules)["isr-directory-online"][0] == "incomplete"
    assert kafka["kafka"]["beyond"] == kafka["kafka"]["differing"]["alter_partition"] == 4


def test_another_release_is_found_by_its_own_shortest_trace() -> None:
    """Beside the rules of 4.4.0, the classes of 4.0.2 break what 4.0.2 breaks, and not what 4.4.0 does."""
    words = ("--rules", "kafka-4.4.0", "--max-depth", "3", "--property", "unclean-stop-loses-eligibility",
             "--property", "complete-when-in-sync")  # fmt: skip
    older, newer = (verdicts(explored("elections", "--kafka", version, *words)) for version in ("4.0.2", "4.4.0"))
    assert older["unclean-stop-loses-eligibility"] == ("refuted", 3)
    assert newer["complete-when-in-sync"] == ("refuted", 2)
    assert older["complete-when-in-sync"][0] == newer["unclean-stop-loses-eligibility"][0] == "incomplete"


def test_a_state_is_found_among_those_that_the_classes_reach() -> None:
    """`--find` shows the shortest way to a state, and the command that asks the same classes again."""
    wanted = "controller.leader == none and written"
    ran = kraftcheck("explore", "directories", "--scope", "tiny", "--kafka", "4.4.0", "--quiet", "--find", wanted)
    assert ran.last == "found in 4 steps (exit 0)"
    assert f"--rules kafka-4.4.0 --kafka 4.4.0 --find '{wanted}'" in ran.out
    assert "1 trace replayed on Kafka's classes" in ran.out


def test_fair_behaviours_are_those_of_the_rules() -> None:
    """The managers of 4.4.0 break and keep the liveness of `fair-directories` by lassos as short as its rules do."""
    kafka = explored("fair-directories", "--kafka", "4.4.0")
    rules = explored("fair-directories", "--rules", "kafka-4.4.0")
    assert verdicts(kafka) == verdicts(rules)
    assert {word for word, _ in verdicts(kafka).values()} == {"refuted", "holds"}
    assert not kafka["kafka"]["differing"]


def test_a_cut_says_nothing_of_fair_behaviours_beyond_it() -> None:
    """What is refuted before the cut is; the rest is incomplete, for states at the cut may go on."""
    found = verdicts(explored("fair-directories", "--kafka", "4.4.0", "--max-depth", "10"))
    assert found.pop("failure-leads-away") == ("refuted", 9)
    assert set(found.values()) == {("incomplete", None)}


def test_changed_classes_are_explored(tmp_path: Path) -> None:
    """Bytes of 4.4.0 that keep removed replicas out of the ELR keep what the release breaks in two steps."""
    mended, words = changed(tmp_path, "mended"), ("--max-depth", "3", "--property", "elr-within-replicas")
    released = explored("elections", "--kafka", "4.4.0", *words)
    kafka = explored("elections", "--kafka", str(mended), *words)
    assert verdicts(released)["elr-within-replicas"] == ("refuted", 2)
    assert verdicts(kafka)["elr-within-replicas"][0] == "incomplete"
    assert set(kafka["kafka"]["differing"])
    rules = ("--rules", "kafka-4.4.0-removed-replicas-stay-in-elr")
    assert not explored("elections", "--kafka", str(mended), *rules, *words)["kafka"]["differing"]


def test_classes_that_hang_end_with_the_time(tmp_path: Path) -> None:
    """A request that is never answered leaves the search incomplete; what was reached before it is judged."""
    hangs = str(changed(tmp_path, "hangs", "ClusterControlManager"))
    kafka = explored("directories", "--kafka", hangs, "--time-limit", "9s")
    assert ("incomplete", None) in verdicts(kafka).values()


def test_python_explores_classes() -> None:
    """`explore(kafka=...)` is the command: the same states, verdicts and counts; what is of the rules is refused."""
    asked = {"scope": "tiny", "max_depth": 4, "threads": 1}
    told = explore("directories", kafka="4.4.0", **asked).document
    shown = explored("directories", "--kafka", "4.4.0", "--max-depth", "4")
    for part in ("states", "fired"):
        assert told[part] == shown[part]
    assert told["kafka"]["compared"] == shown["kafka"]["compared"] > 0
    with pytest.raises(Refusal, match=r"^engine and sampling are of engines"):
        explore("directories", kafka="4.4.0", engine="disk")
    with pytest.raises(Refusal, match=r"^like completes a build of Kafka;"):
        explore("directories", like="4.4.0")


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ("replication --kafka 4.4.0", "replication is not put to Kafka's managers; these are: elections, directories"),
        ("kraft --scope pair --kafka 4.4.0", "kraft at pair has a second partition"),
        ("elections --kafka here", "'here' is neither a version, such as 4.4.0, nor a path of jars or classes"),
        ("elections --like 4.4.0", "--like completes a build of Kafka; name one with --kafka"),
        ("elections --kafka 4.4.0 --engine disk", "--engine is of engines that run the rules, not of --kafka"),
        ("elections --kafka 4.4.0 --rules kafka-4.4.0+designated-elections", "it is not said what elect_designated of"),
        ("elections --kafka 4.4.0 --audit 5", "--audit is of engines that run the rules, not of --kafka"),
        ("elections --kafka 4.4.0 --symmetry on", "--symmetry on is of the rules; Kafka's classes are explored"),
    ],
)
def test_what_cannot_be_asked_is_refused(words: str, refusal: str) -> None:
    """A system, a scope, a release or an option that the classes have no answer to is one line."""
    assert kraftcheck("explore", *words.split()).refusal().startswith(refusal)


@pytest.mark.slow
@pytest.mark.parametrize(("system", "version"), [("elections", "4.4.0"), ("elections", "4.1.2"), ("kraft", "4.4.0")])
def test_whole_scopes_have_the_verdicts_of_the_rules(system: str, version: str) -> None:
    """Whole `elections` and `kraft`: the states and verdicts of the release's rules."""
    kafka, rules = explored(system, "--kafka", version), explored(system, "--rules", f"kafka-{version}")
    assert kafka["states"]["levels"] == rules["states"]["levels"]
    assert kafka["states"]["generated"] == rules["states"]["generated"]
    assert verdicts(kafka) == verdicts(rules)
    assert (kafka["kafka"]["impossible"], kafka["kafka"]["differing"]) == (0, {})
