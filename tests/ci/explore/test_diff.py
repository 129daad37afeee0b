"""`kraftcheck diff` and `kc.diff`: what is said of two sides is what walking through both shows, builds too."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.ci.explore import two_sides
from kraftcheck.ci.explore.diff import EXIT_DIFFERS, compare, sides
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE, EXIT_SAFETY, EXIT_VACUOUS
from kraftcheck.solvers.reference.interpreter import Integers
from tests import toys
from tests.shared.commands import kraftcheck

KIP = """
import kraftcheck as kc


def isr_and_elr(self, rules, rule):
    return rule(self, rules).plus(self.elr.keep(self.acceptable))


KIP = kc.kafka("elections", base="fixed").override("election.elr.only-when-isr-empty", isr_and_elr)
"""


@frozen
class CounterRules:
    """Ways to count."""

    skips: bool = kc.choice("seeded", "test", "from 3 it counts by two")
    stops: bool = kc.choice("seeded", "test", "it stops at 3")
    skips_late: bool = kc.choice("seeded", "test", "from 6 it counts by two")
    silent: bool = kc.choice("seeded", "test", "it does not report where it is")
    begins_late: bool = kc.choice("seeded", "test", "it begins at 1")
    resets: bool = kc.choice("seeded", "test", "it can be reset")
    restless: bool = kc.choice("seeded", "test", "it does not stay at 2")


@frozen
class Count:
    """Where a counter is."""

    at: kc.Word


@frozen
class Reported:
    """What a step says besides."""

    new: kc.Word


def _actions(setting: kc.Setting) -> list[kc.Action]:
    rules = setting.rules

    def count(state: Count) -> kc.Outcome:
        late = kc.any_of(*[state.at == 3] * rules.skips, *[state.at == 6] * rules.skips_late)
        at = state.at + kc.choose(late, 2, 1)
        return kc.Outcome(Count(at), Reported(0 if rules.silent else at))

    counted = kc.Action("count", count, lambda state: state.at < (3 if rules.stops else 5))
    resets = [kc.Action("reset", lambda state: kc.Outcome(Count(0), Reported(0)), lambda state: state.at == 2)]
    left = 2 if rules.restless else 7
    stay = kc.Action("stay", lambda state: kc.Outcome(state, Reported(0)), lambda state: state.at != left)
    return [counted, stay, *resets * rules.resets]


COUNTER = kc.System(
    name="counter", summary="A counter to 5.", initial=lambda setting: [Count(int(setting.rules.begins_late))],
    layout=Count(kc.ints(0, 7)), actions=_actions, rules=CounterRules,
    properties=[kc.always("below-5", "it stays below 5", lambda state: state.at < 5),
                kc.sometimes("four", "it comes to 4", lambda state: state.at == 4)],
)  # fmt: skip


def diff(a: Any, b: Any, system: Any = COUNTER, **options: Any) -> dict[str, Any]:
    """What `kc.diff` says of two rule sets of a system, as plain values."""
    return dict(kc.diff(a, b, system, threads=1, **options).document)


def walked(a: Subject, b: Subject) -> int | None:
    """The fewest steps of a run that a side takes, and the other does not to the same end: by walking, on ints."""
    ours, theirs = (Integers(of.system, of.setting) for of in (a, b))
    if set(ours.initial) != set(theirs.initial):
        return 0
    found = []
    for of, other in ((ours, theirs), (theirs, ours)):
        level, seen, depth = set(of.initial), set(of.initial), 0
        while level and not (depth := depth + 1) > min(found, default=depth):
            steps = [of.take(state, move).step for state in level for move in of.enabled(state)]
            for step in steps:
                move = other.move_of(step.action, step.arguments)
                same = move and other.is_enabled(step.before, move) and other.take(step.before, move).step.after
                if same != step.after:
                    found.append(depth)
                    break
            level = {step.after for step in steps if of.field_outside(step.after) is None} - seen
            seen |= level
    return min(found, default=None)


@pytest.mark.parametrize(("switch", "steps", "code", "within"), [
    ("skips", 4, EXIT_VACUOUS, (False, False)),
    ("stops", 4, EXIT_VACUOUS, (False, True)),
    ("skips-late", None, 0, (True, True)),
    ("silent", None, EXIT_DIFFERS, (False, False)),
    ("begins-late", 0, EXIT_DIFFERS, (False, False)),
    ("resets", 3, EXIT_DIFFERS, (True, False)),
    ("restless", 3, EXIT_DIFFERS, (False, True)),
])  # fmt: skip
def test_the_first_difference_is_the_nearest(
    switch: str, steps: int | None, code: int, within: tuple[bool, bool]
) -> None:
    """The shortest run is as long as walking on ints finds; a rule that no reachable state asks makes no difference."""
    found = diff("base", f"base+{switch}")
    assert walked(*sides("base", f"base+{switch}", COUNTER, None, {})) == steps
    assert (found["exit_code"], tuple(found["within"]), found["equal"]) == (code, within, code == 0)
    assert not found["same_rules"]
    told = found["first"] and len(found["first"]["trace"]["steps"])
    assert told == (1 if switch == "silent" else steps), "what is only reported counts where nothing else differs"
    back = diff(f"base+{switch}", "base")
    assert tuple(back["within"]) == within[::-1]
    assert (back["first"] and len(back["first"]["trace"]["steps"])) == told


def test_promises_change_both_ways() -> None:
    """A promise that one side alone keeps is broken there to here, and mended here to there."""
    broken, mended = diff("base+stops", "base"), diff("base", "base+stops")
    assert [(one["id"], one["a"], one["b"], one["change"]) for one in broken["properties"]] == [
        ("below-5", "holds", "refuted 5", "broken"), ("four", "vacuous", "holds", "mended"),
    ]  # fmt: skip
    assert broken["exit_code"] == EXIT_SAFETY
    assert [one["change"] for one in mended["properties"]] == ["broken", "mended"]


def test_a_promise_that_is_asked_otherwise_is_said_to_be() -> None:
    """Two promises of one id are compared, and where B asks another question, the row says so."""
    at_most_6, at_most_2 = (evolve(COUNTER, properties=[kc.always("low", "it stays low", claim)])
                            for claim in (lambda s: s.at <= 6, lambda s: s.at <= 2))  # fmt: skip
    (row,) = diff(at_most_6, at_most_2, "")["properties"]
    assert (row["change"], row["sentence"]) == ("broken", "it stays low (B asks it otherwise)")
    (row,) = diff("base+stops", "base")["properties"][:1]
    assert row["sentence"] == "it stays below 5"


@pytest.mark.parametrize("defect", ["removed-replicas-stay-in-elr", "unregister-keeps-elr"])
def test_a_defect_is_seen_where_ints_see_it(defect: str) -> None:
    """A defect of the catalogue differs from the right rules at the depth at which walking on ints finds it."""
    found = diff("fixed", f"fixed+{defect}", "", scope="tiny")
    assert found["equal"] is False
    assert found["choices"] == [{"name": defect, "a": "", "b": "yes", "text": found["choices"][0]["text"]}]
    assert len(found["first"]["trace"]["steps"]) == walked(*sides("fixed", f"fixed+{defect}", "", "tiny", {}))


def test_a_choice_that_is_not_read_makes_no_difference() -> None:
    """Rules that are the same terms are equal, also where the search is cut; others are not called so then."""
    same = diff("fixed", "fixed+hw-uses-proposed-isr", "elections", scope="tiny", max_depth=1)
    assert (same["equal"], same["same_rules"], same["exit_code"]) == (True, True, 0)
    assert (same["choices"], same["unread"]) == ([], ["hw-uses-proposed-isr"])
    cut = diff("base", "base+skips-late", max_depth=2)
    assert ([one["name"] for one in cut["choices"]], cut["unread"]) == (["skips-late"], [])
    assert (cut["equal"], cut["same_rules"], cut["exit_code"]) == (None, False, EXIT_INCOMPLETE)
    assert "equal" not in kc.diff("base", "base+skips-late", COUNTER, max_depth=2).text


def test_a_change_of_ones_own_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file stands for a side: the rule that it replaces is named, and what it breaks, and the page is drawn."""
    (tmp_path / "difference_kip.py").write_text(KIP, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ran = kraftcheck("diff", "fixed", "difference_kip.py:KIP", "--scope", "tiny", "--quiet", "--json", "it.json",
                     "--html", "it.html")  # fmt: skip
    assert ran.code == EXIT_SAFETY
    assert "election.elr.only-when-isr-empty     difference_kip.py:5" in ran.out
    assert "B: isr = {1}, elr = {}, leader = 1" in ran.out
    page = (tmp_path / "it.html").read_text(encoding="utf-8")
    assert "decided otherwise" in page
    assert page.count("<svg") == 2, "the lanes of both sides"
    assert page.index("<p>the run, by A</p>") < page.index("<p>the same actions under B</p>")
    assert "<code>A: elections, scope tiny" in page
    assert "<p>by B: difference_kip.py:KIP, scope tiny" in page
    told = kc.diff("fixed", sys.modules["difference_kip"].KIP, scope="tiny")
    kept = json.loads((tmp_path / "it.json").read_text(encoding="utf-8"))
    assert told.exit_code == ran.code
    assert [told.document[key] for key in ("first", "properties")] == [kept[key] for key in ("first", "properties")]


FEW = {"brokers": 2, "replication": 1, "reassignment": 0}

HANGING = (
    KIP.replace("KIP = ", "NOW = ")
    + """
PLAIN = kc.kafka("elections", base="fixed").choice("eager", "ELR members lead at once")
OFF = PLAIN.override("election.elr.only-when-isr-empty", isr_and_elr, when="eager")
"""
)


def test_a_change_that_hangs_on_a_choice_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A side with its choice is compared with a rule set, and with a system that has no such choice; a refusal names
    it."""
    (tmp_path / "hanging_kip.py").write_text(HANGING, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def shown(a: str, b: str) -> tuple[list[tuple[str, str, str]], bool]:
        found = diff(a, b, "", max_depth=1, **FEW)
        return [(one["name"], one["a"], one["b"]) for one in found["choices"]], found["same_rules"]

    rule, at = "election.elr.only-when-isr-empty", "hanging_kip.py:5"
    assert shown("fixed", "hanging_kip.py:OFF+eager") == ([("eager", "", "yes"), (rule, "", at)], False)
    assert shown("hanging_kip.py:OFF", "hanging_kip.py:NOW") == ([(rule, "", at)], False)
    assert shown("hanging_kip.py:NOW", "hanging_kip.py:OFF+eager") == ([("eager", "", "yes")], True)
    off = r"rules fixed\+eager: all changes are off on both sides; name hanging_kip.py:OFF\+eager as a side"
    with pytest.raises(kc.Refusal, match=off):
        kc.diff("fixed+eager", "hanging_kip.py:OFF", **FEW)
    with pytest.raises(kc.Refusal, match=r"unknown variant 'eger' in 'fixed\+eger'; did you mean eager"):
        kc.diff("fixed", "hanging_kip.py:OFF+eger", **FEW)


def test_sides_of_the_same_rules_are_not_explored() -> None:
    """Copies of a change are equal before any search, so a search that is cut has no part in it."""

    def copy() -> kc.System:
        def isr_and_elr(self: Any, rules: Any, rule: Any) -> Any:
            return rule(self, rules).plus(self.elr.keep(self.acceptable))

        return kc.kafka("elections", base="fixed").override("election.elr.only-when-isr-empty", isr_and_elr)

    def never(*_: Any) -> Any:
        raise AssertionError("it is explored")

    found = compare(*sides(copy(), copy(), "", None, FEW), SearchBudget(), never)
    assert (found.same, found.exit_code, found.document()["equal"], found.undecided) == (True, 0, True, [])
    assert set(found.alike(0)) == set(found.alike(1)) > {"fence", "initial states"}


def test_a_change_that_changes_nothing_is_not_compared() -> None:
    """A rule that is as it was is refused here as by a search: that both sides are equal would say nothing of it."""

    def same(self: Any, rules: Any, rule: Any) -> Any:
        return rule(self, rules)

    idle = kc.kafka("elections", base="fixed").override("election.elr.only-when-isr-empty", same)
    with pytest.raises(kc.Refusal, match="only-when-isr-empty it changes nothing in"):
        kc.diff("fixed", idle, scope="tiny")


def test_a_finding_is_its_mend() -> None:
    """The id of a finding stands for the rules of the other side with its mend, which are equal to it and no others."""
    mended, wrong = "kafka-4.4.0-removed-replicas-stay-in-elr", "kafka-4.4.0"
    assert diff(mended, mended, "", scope="tiny", max_depth=1)["same_rules"]
    found = diff(wrong, "ghost-elr-member", "", scope="tiny", max_depth=3)
    assert found["sides"][1]["rules"] == mended
    assert [(one["a"], one["b"]) for one in found["choices"]] == [("yes", "")]
    with pytest.raises(kc.Refusal, match=r"^fixed does not have ghost-elr-member"):
        kc.diff("fixed", "ghost-elr-member")
    own = kc.kafka("elections", base=wrong).override("election.last-known.alive", lambda c, rules: False)
    both = kc.diff(own, "ghost-elr-member", scope="tiny", max_depth=1).document["sides"]
    assert [one["rules"] for one in both] == [wrong, mended]


@pytest.mark.parametrize(("other", "fault"), [
    ("kafka:4.4.0", "give rules there, not kafka:4.4.0"), ("dead-last-known-leader", "give rules there, not ghost-"),
    ("kafka-9", "unknown rule set 'kafka-9'"),
])  # fmt: skip
def test_a_finding_is_the_mend_of_rules(other: str, fault: str) -> None:
    """Beside a build, another finding and a rule set that there is not, the id of a finding is refused in a line."""
    assert fault in kraftcheck("diff", other, "ghost-elr-member", "--scope", "tiny").refusal()


def test_what_cannot_be_compared_is_refused() -> None:
    """Systems whose states have other fields, and names that there are not, end in one line."""
    with pytest.raises(kc.Refusal, match="states of A and B differ in armed, count"):
        kc.diff(toys.CLOCK, toys.COUNTER)
    with pytest.raises(kc.Refusal, match="unknown rule set 'fxed'"):
        kc.diff("fxed", "fixed")
    with pytest.raises(kc.Refusal, match="takes no rule set; leave out fixed"):
        kc.diff("fixed", toys.CLOCK)
    assert kraftcheck("diff", "fixed", "fixed", "elektions").code == 2
    assert "out of range" in kraftcheck("diff", "fixed", "kafka-4.0", "--brokers", "77").err


def test_what_is_no_rule_set_is_refused() -> None:
    """A side that is neither a rule set nor a system is refused in a line."""
    with pytest.raises(kc.Refusal, match="3 is no rule set, and no system; give one by its name"):
        kc.diff("fixed", 3)  # type: ignore[arg-type]


RELEASE = "kafka:4.4.0"
SYSTEM = ("directories", "--scope", "tiny", "--workers", "1", "--quiet")


@pytest.mark.xdist_group("kafka")
def test_a_release_is_equal_to_its_rules() -> None:
    """In every state that the managers of 4.4.0 reach, each request is answered as its rule set says."""
    ran = kraftcheck("diff", "kafka-4.4.0", RELEASE, *SYSTEM, "--json", "-")
    told = ran.document()
    assert (ran.code, told["equal"], told["within"], told["first"]) == (0, True, [True, True], None)
    assert told["sides"][0]["states"]["levels"] == told["sides"][1]["states"]["levels"]
    assert told["sides"][1]["kafka"]["compared"] > 0


@pytest.mark.xdist_group("kafka")
def test_a_release_is_not_other_rules(tmp_path: Path) -> None:
    """Beside rules without one of its defects, 4.4.0 breaks the promise that they keep, and the shortest run to its
    first other decision is drawn; on the other side of the comparison the promise is mended."""
    mended = "kafka-4.4.0-passes-share-one-base"
    ran = kraftcheck("diff", mended, RELEASE, *SYSTEM, "--json", tmp_path / "it.json", "--html", tmp_path / "it.html")
    told = json.loads((tmp_path / "it.json").read_text(encoding="utf-8"))
    assert ran.code == EXIT_SAFETY
    assert [one["id"] for one in told["properties"] if one["change"] == "broken"] == ["leader-directory-online"]
    assert (told["equal"], told["within"], told["first"]["side"]) == (False, [False, False], "B")
    assert [step["action"] for step in told["first"]["trace"]["steps"]][-1] == "unfence"
    assert {one["action"] for one in told["actions"] if one["b"].startswith("otherwise")} >= {"unfence", "assign"}
    assert "lanes" in (tmp_path / "it.html").read_text(encoding="utf-8")
    back = kc.diff(RELEASE, mended, "directories", scope="tiny", threads=1)
    kept = [one["id"] for one in back.document["properties"] if one["change"] == "mended"]
    assert kept == ["leader-directory-online"]


@pytest.mark.xdist_group("kafka")
def test_a_release_is_held_against_rules_of_ones_own() -> None:
    """A changed system stands beside a build, and where it decides otherwise is the shortest run."""

    def nobody(cluster, offline, barred, counted, rules, rule):  # type: ignore[no-untyped-def]
        return rule(cluster, offline, barred, counted, rules).none()

    own = kc.kafka("directories", base="kafka-4.4.0").override("leader.unfenced", nobody)
    told = kc.diff(own, RELEASE, scope="tiny", threads=1).document
    assert len(told["first"]["trace"]["steps"]) == 3
    assert told["sides"][0]["changes"] == told["sides"][1]["changes"]


@pytest.mark.xdist_group("kafka")
def test_a_build_that_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    """Two builds, a system without managers, a path without classes or without its word are refused in a line."""
    assert "one side is a build of Kafka" in kraftcheck("diff", RELEASE, "kafka:4.3.1").refusal()
    assert "replication is not put to Kafka's managers" in kraftcheck("diff", "fixed", RELEASE, "replication").refusal()
    unknown = kraftcheck("diff", "fixed", "kafka:libs@4.4").refusal()
    assert unknown.startswith("Kafka 4.4, to complete libs, is not listed; did you mean 4.4.0")
    assert "neither a version" in kraftcheck("diff", "fixed", "kafka:/nowhere").refusal()
    plain = kraftcheck("diff", "fixed", str(tmp_path)).refusal()
    assert plain == f"{tmp_path} is no rule set; did you mean kafka:{tmp_path}, a build of Kafka?"


@pytest.mark.xdist_group("kafka")
def test_a_build_is_completed_by_the_release_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other side's release completes a build, unless the name of the build does, which may have an @ itself."""
    seen = []
    monkeypatch.setattr(two_sides.Build, "of", lambda text, like=None: seen.append((text, like)) or _stop())
    for build in (f"{tmp_path}", f"{tmp_path}@4.3.1", f"{tmp_path}@me/libs"):
        kraftcheck("diff", "kafka-4.4.0", f"kafka:{build}", *SYSTEM)
    assert seen == [(str(tmp_path), "4.4.0"), (str(tmp_path), "4.3.1"), (f"{tmp_path}@me/libs", "4.4.0")]
    with pytest.raises(kc.Refusal, match=r"^enough$"):
        kc.diff("kafka-4.4.0", f"kafka:{tmp_path}@4.2.1", "directories", scope="tiny", threads=1)
    assert seen[-1] == (str(tmp_path), "4.2.1")


def _stop() -> None:
    raise kc.Refusal("enough")
