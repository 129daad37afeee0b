"""Shipped systems with rules or choices of a user: changed there, nowhere else, on every engine."""

import inspect
import itertools
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from attrs import evolve, field, frozen

import kraftcheck as kc
from kraftcheck.ci.prove import request
from kraftcheck.ci.systems.added import DECIDED
from kraftcheck.ci.systems.lookup import properties_of
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal.commands import EXIT_DISAGREEMENT
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.words import NOTED, RuleError
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.solvers.audit import traced_sample
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.smt.theory import theory
from tests.ci.systems.waiting import waiting
from tests.documentation.console import files_of
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT
from tests.toys import CLOCK

RULE = "election.elr.only-when-isr-empty"


def isr_and_elr(self: Any, rules: Any, rule: Any) -> Any:
    """Members of the ELR may lead beside members of the ISR."""
    return rule(self, rules).plus(self.elr.keep(self.acceptable))


def as_it_is(self: Any, rules: Any, rule: Any) -> Any:
    """What the rule says."""
    return rule(self, rules)


def changed(by: Any = isr_and_elr, rule: str = RULE) -> Any:
    """`elections` with one rule replaced."""
    return kc.kafka("elections", base="fixed").override(rule, by)


def program_of(system: kc.System) -> str:
    """What a system is at its smallest scope, without the goals that a change shows something."""
    chosen = subject(system, "tiny", {}, "fixed")
    claims = [claim for claim in chosen.system.properties(chosen.setting) if not claim.id.startswith(DECIDED)]
    return fingerprint(trace(evolve(chosen.system, properties=lambda _: claims), chosen.setting))


def test_a_replaced_rule_breaks_what_rests_on_it() -> None:
    """A search judges the rule of the user, on compiled code and on ints, and says in the title where it is written."""
    found = kc.explore(changed(), scope="tiny")
    refuted = {claim for claim, verdict in found.verdicts.items() if isinstance(verdict, kc.Refuted)}
    assert refuted == {"isr-leavers-stay-eligible", "elr-elected-last"}
    assert f"rules fixed with {RULE} of test_changed.py:" in str(found)
    assert found.document["changes"] == [changed().changes[0]]


def test_the_shipped_system_stays_as_it_is() -> None:
    """Whoever replaces a rule changes his own system alone, also while another thread runs with his rule."""
    plain, own = subject("elections", "tiny", {}, "fixed"), changed()
    before = program_of(plain.system)
    found: list[str] = []
    threads = [threading.Thread(target=lambda s=one: found.append(program_of(s))) for one in (own, plain.system) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.count(before) == 2
    assert len(set(found)) == 2
    assert program_of(plain.system) == before


def test_two_changes_of_one_rule_stand_side_by_side() -> None:
    """Two systems replace the same rule by different ones, and each runs with its own."""

    def nobody(self: Any, rules: Any) -> Any:
        return self.isr.minus(self.isr)

    first, second = changed(), changed(nobody)
    programs = [program_of(one) for one in (first, second, first, second)]
    assert programs[:2] == programs[2:]
    assert programs[0] != programs[1]


def test_several_rules_are_replaced_in_one_system() -> None:
    """Overrides add up, and the title names each."""

    def no_member(c: Any, rules: Any) -> Any:
        return False

    both = changed().override("election.last-known.alive", no_member)
    assert len(both.changes) == 2
    assert len({program_of(one) for one in (both, changed(), changed(no_member, "election.last-known.alive"))}) == 3


def test_ints_take_the_rule() -> None:
    """Engines on ints step by the replaced rule: the trace of the search is one of theirs, and no shipped one."""
    own = subject(changed(), "tiny", {}, None, ["elr-elected-last"])
    broken = kc.explore(changed(), scope="tiny", properties=["elr-elected-last"]).verdicts["elr-elected-last"]
    assert isinstance(broken, kc.Refuted)
    ends = []
    for system in (own.system, subject("elections", "tiny", {}, "fixed").system):
        actions = {action.name: action for action in Integers(system, own.setting).actions}
        state = broken.trace.initial
        for step in broken.trace.steps:
            state = actions[step.action].outcome(state, step.arguments).state
        ends.append(state == broken.trace.steps[-1].state)
    assert ends == [True, False]


@pytest.mark.parametrize("bounds", [{}, {"brokers": kc.ANY}], ids=["two brokers", "any number"])
def test_a_proof_reads_the_rule(bounds: dict[str, int]) -> None:
    """What a prover reads of a changed system, for any number of brokers too, is another theory."""
    found = []
    for system in (changed(), kc.kafka("elections", base="fixed")):
        of = subject(system, "tiny", bounds, "fixed", proof=True)
        found.append(fingerprint(theory(of.system, of.setting).program))
    assert found[0] != found[1]


def by_shape(state: Any) -> Any:
    """Whether the leader is in the ISR, asked of states of few brokers alone."""
    return True if hasattr(state.replicas, "ranks") else kc.implies(state.leader >= 0, state.isr.has(state.leader))


def of_each(state: Any) -> Any:
    """The same of each state."""
    return kc.implies(state.leader >= 0, state.isr.has(state.leader))


PLAIN = kc.kafka("elections", base="fixed")
ASKED_BY_SHAPE = {
    "property led": PLAIN.property(kc.always("led", "the leader is in the ISR", by_shape)),
    "action fence, guard": PLAIN.guard("fence", lambda state, broker: by_shape(state)),
}
"""Systems with a part that says nothing of any number, by the part."""


@pytest.mark.parametrize("part", ASKED_BY_SHAPE)
def test_what_is_added_goes_one_way_for_any_number(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user adds to a shipped system is compared with few for any number, where a rule goes another way there."""
    monkeypatch.setattr(request, "NUMBERS", 1)
    monkeypatch.setattr(traced_sample, "asked_of_shape", lambda way: "")
    with pytest.raises(Refusal, match=f"test_changed.py:[0-9]+: {part} goes another way with brokers 2"):
        request.ProofRequest(ASKED_BY_SHAPE[part], "tiny", {"brokers": kc.ANY}, "fixed").compare()


def test_a_rule_that_is_added_asks_no_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that tells any number by a shape is refused, also where it takes the same way."""
    monkeypatch.setattr(request, "NUMBERS", 1)
    few = kc.always("few", "at most 3 are in sync", lambda state: kc.any_of(
        kc.all_of(hasattr(state.replicas, "ranks"), of_each(state)), state.isr.size() <= 3))  # fmt: skip
    with pytest.raises(Refusal, match=r"test_changed.py:[0-9]+: it asks hasattr: property few may tell few from any"):
        request.ProofRequest(PLAIN.property(few), "tiny", {"brokers": kc.ANY}, "fixed").compare()


def test_a_property_of_ones_own_is_asked_for_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shipped system with a property added is compared with few brokers, whose states have other fields."""
    monkeypatch.setattr(request, "NUMBERS", 1)
    follow, few = traced_sample._Ways.compare_rules, list[int]()
    monkeypatch.setattr(traced_sample._Ways, "compare_rules",
                        lambda self, of: few.append(of.program.setting["brokers"]) or follow(self, of))  # fmt: skip
    own = PLAIN.property(kc.always("led", "the leader is in the ISR", of_each))
    request.ProofRequest(own, "tiny", {"brokers": kc.ANY}, "fixed").compare()
    assert few == [2]


def test_a_change_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    """A verdict about a rule that is as it was would be one about the shipped system: the command refuses it."""
    (tmp_path / "idlekip.py").write_text(
        "import kraftcheck as kc\n\n\ndef same(self, rules, rule):\n    return rule(self, rules)\n\n\n"
        f'KIP = kc.kafka("elections", base="fixed").override("{RULE}", same)\n'
    )
    ran = kraftcheck("explore", f"{tmp_path}/idlekip.py:KIP", "--scope", "tiny", "--quiet")
    assert ran.refusal().startswith(f"idlekip.py:4: in the place of {RULE} it changes nothing in ")
    assert f"with {RULE} of idlekip.py:4" in kraftcheck("list", f"{tmp_path}/idlekip.py:KIP").out


def _now_and_then(self: Any, rules: Any, rule: Any) -> Any:
    return self.elr if next(TICKS) % 2 else rule(self, rules)


def _leaderless(state: Any) -> Any:
    object.__setattr__(state, "leader", -1)
    return state


TICKS = itertools.count()
OWN = r"^test_changed.py:\d+: "


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: changed(_now_and_then), "action .*, effect gave two answers to the same question.* calls$"),
        (
            lambda: changed(lambda self, rules, rule: self.elr if self.isr.is_empty() else rule(self, rules)),
            "a symbolic word was used as a condition",
        ),
        (
            lambda: changed(lambda self, rules, rule: self.elr if type(self.leader) in (int,) else rule(self, rules)),
            ".* on ints",
        ),
        (lambda: PLAIN.action(kc.Action("nap", _leaderless)), "action nap, effect changes the state"),
        (lambda: PLAIN.action(lambda setting: kc.Action("", _leaderless)), "'' is no name of an action"),
        (lambda: PLAIN.property(lambda setting: kc.always("a\tb", "", _leaderless)), "'a.*b' is no id of a property"),
        (lambda: PLAIN.scope("", brokers=2), "'' is no name of a scope"),
    ],
)
def test_a_fault_of_a_change_begins_with_its_line(make: Callable[[], kc.System], fault: str) -> None:
    """What tracing finds, in the change or in a shipped action that calls it, begins with the author's file and
    line."""
    with pytest.raises(kc.Refusal, match=OWN + fault) as refused:
        program(subject(make(), "tiny", {}, "fixed"))
    assert "triggers.py" not in str(refused.value)


@pytest.mark.parametrize(
    ("rule", "by", "fault"),
    [
        ("election.elr.only-when-isr-emtpy", isr_and_elr, f"no rule has the id .*did you mean {RULE}"),
        (RULE, lambda self: self.isr, r"which takes \(self, rules\), it takes \(self\); give it the same parameters"),
        (RULE, len, "is no function; write one with def or lambda"),
    ],
)
def test_what_cannot_replace_a_rule_is_refused(rule: str, by: Any, fault: str) -> None:
    """An unknown id, other parameters and what is no function are refused with the mend."""
    with pytest.raises(RuleError, match=fault):
        changed(by, rule)


def test_a_changed_system_says_what_it_is() -> None:
    """Its text names the system, the rule set and the change with its line, in one line."""
    assert re.fullmatch(rf"kraftcheck\.kafka\('elections', base='fixed'\) with {RULE} of test_changed\.py:\d+",
                        repr(changed()))  # fmt: skip


def test_a_rule_is_replaced_once() -> None:
    """A second function for the same rule is refused, by the place of the first."""
    with pytest.raises(RuleError, match=r"test_changed.py:\d+ replaces the rule .* already; replace it once"):
        changed().override(RULE, as_it_is)


@pytest.mark.parametrize(
    ("name", "base", "fault"),
    [("election", "fixed", "did you mean elections"), ("elections", "kafka-4.9", "unknown rule set")],
)
def test_a_base_that_there_is_not_is_refused(name: str, base: str, fault: str) -> None:
    """A system and a rule set that do not exist are refused with the nearest names."""
    with pytest.raises(kc.Refusal, match=fault):
        kc.kafka(name, base=base)


def test_a_rule_that_is_replaced_by_itself_is_the_same() -> None:
    """A function, a method and a rule with many parameters, replaced by what calls them, give the same program."""
    before = program_of(kc.kafka("elections", base="fixed"))
    kinds = ("election.clean.keeps-valid-leader", "elr.within-replicas", RULE)
    for rule in kinds:
        names = ", ".join(inspect.signature(NOTED[rule]).parameters)
        scope: dict[str, Any] = {}
        exec(f"def same({names}, rule):\n    return rule({names})\n", scope)
        assert program_of(changed(scope["same"], rule)) == before, rule


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


PAGE = (ROOT / "docs" / "how-to" / "variants.md").read_text(encoding="utf-8")
OWN_NAME = "features:FEATURES"
OWN_TEXT = files_of((ROOT / "docs" / "tutorial" / "five-proposals.md").read_text(encoding="utf-8"))["features.py"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder outside the package that holds the page's module."""
    (tmp_path / "features.py").write_text(OWN_TEXT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    yield tmp_path
    sys.modules.pop("features", None)


def module() -> ModuleType:
    """The page's module, imported."""
    subject(OWN_NAME, None, {}, None)
    return sys.modules["features"]


@pytest.mark.usefixtures("folder")
def test_the_choices_of_the_page_do_what_they_say() -> None:
    """The mend makes what base refutes hold, the other choice breaks it, and both are switched at once."""
    (both,) = re.findall(r"`--rules\s+(\S+)`", PAGE)
    rules = ("base", both.rpartition("+")[0], both)
    assert [kraftcheck("explore", OWN_NAME, "--rules", one, "--quiet").code for one in rules] == [13, 0, 12]
    told = kraftcheck("explore", OWN_NAME, "--json", "-", "--quiet").document()
    verdicts = {row["id"]: row["verdict"] for row in told["properties"]}
    assert verdicts == {"voters-understand": "holds", "level-can-be-raised": "refuted", "deadlock": "holds"}
    assert told["rules"] == "base"


@pytest.mark.usefixtures("folder")
def test_the_setting_has_the_users_record() -> None:
    """`setting.rules` is of the user's class, by the default preset, by switches, and without the command line."""
    own = module()
    assert own.FEATURES.setting().rules == subject(OWN_NAME, None, {}, None).setting.rules == own.FeatureRules()
    mended = subject(OWN_NAME, None, {}, "base+marked-are-ignored")
    assert mended.setting.rules == own.FeatureRules(marked_are_ignored=True)
    assert "--rules base+marked-are-ignored" in mended.command()


@pytest.mark.usefixtures("folder")
def test_list_shows_the_users_choices() -> None:
    """Preset, and variants with their sentences; as text and as a document."""
    out = kraftcheck("list", OWN_NAME).out
    assert "base: each choice of the system off" in out
    assert "a mark stays when the controller registers again" in out
    told = kraftcheck("list", OWN_NAME, "--json", "-").document()
    assert [one["name"] for one in told["variants"]] == ["marked-are-ignored", "mark-survives-return"]
    assert list(told["rules"]) == ["base"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("fixed", "unknown rule set 'fixed'; did you mean base?"),
        ("base+marked-are", "unknown variant 'marked-are' in 'base+marked-are'; did you mean marked-are-ignored"),
        ("base-mark-survives-return", "--rules base-mark-survives-return: mark-survives-return is off in base already"),
    ],
)
def test_unknown_and_idle_switches_are_refused(rules: str, message: str) -> None:
    """As with Kafka's rules, a name that is not known, and a switch of what is so already."""
    assert kraftcheck("explore", OWN_NAME, "--rules", rules).refusal().startswith(message)


@frozen
class Idle:
    unread: bool = False


def test_a_choice_that_changes_nothing_is_refused() -> None:
    """A choice that no part of the system reads gets no verdict."""
    chosen = subject("tests.toys:CLOCK", None, {}, None)
    unread = evolve(CLOCK, rules=Idle)
    chosen = evolve(chosen, whole=unread, rules="base+unread", setting=unread.setting(rules=Idle(unread=True)))
    with pytest.raises(Refusal, match=r"base\+unread: unread changes nothing in .* --scope default, nor at another"):
        check_switches(chosen)


@frozen
class OnByDefault:
    wrong: bool = True


@frozen
class Numbered:
    wrong: int = field(default=0)


@pytest.mark.parametrize("rules", [True, OnByDefault, Numbered, int, (OnByDefault,), (PartitionRules, OnByDefault)])
def test_what_declares_no_choices_is_refused(rules: object) -> None:
    """A truth, a class that is no record of choices that are off, and groups that are not Kafka's: one line."""
    with pytest.raises(Refusal, match=r"^clock: "):
        properties_of("clock", evolve(CLOCK, rules=rules), CLOCK.setting())


@pytest.mark.usefixtures("folder")
def test_a_refuting_variant_has_to_exist() -> None:
    """`refuted_by` names choices of the system."""
    system = module().FEATURES
    claims = [evolve(claim, refuted_by=("marked",)) for claim in system.properties(system.setting())]
    with pytest.raises(Refusal, match="refuted_by names the unknown variant 'marked'; did you mean marked-are-ignored"):
        properties_of(OWN_NAME, evolve(system, properties=lambda _: claims), system.setting())
