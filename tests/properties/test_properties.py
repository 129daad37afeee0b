"""Properties: the catalogue is honest, each can fail, tells losses from logs, and asks no rule that it judges."""

import functools
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.systems.lookup import functions
from kraftcheck.model.language.layout import cap_of, leaves
from kraftcheck.model.language.system import Fairness, Property, Setting, System
from kraftcheck.model.language.words import NO_LEADER, all_of, choose, negate, rules_of
from kraftcheck.model.partition import change, election
from kraftcheck.model.partition.election import Candidates, Election
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elections import system as elections
from kraftcheck.model.systems.elections import triggers
from kraftcheck.model.systems.elr_index.system import ELR_INDEX
from kraftcheck.model.systems.replication import state as replication
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS, find
from kraftcheck.properties.kinds import (
    CatalogueError,
    always,
    eventually,
    happens,
    sometimes,
    step,
    validate,
    weak_fairness,
)
from kraftcheck.properties.register import verdicts as expected_verdicts
from kraftcheck.properties.register.rules import READINGS
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted

ELECTIONS = SYSTEMS["elections"]

SCOPES = ("tiny", "small", "directories")  # scopes in the order of their size; between them they have every action


def setting(scope: str, rules: str = "fixed") -> Setting:
    """A setting of `elections`."""
    return ELECTIONS.setting(scope, rules=parse(rules))


def all_claims() -> dict[str, Property]:
    """Every property of any scope, by id."""
    return {claim.id: claim for scope in SCOPES for claim in ELECTIONS.properties(setting(scope, "kip"))}


CLAIMS = all_claims()


def holds(state: Any) -> bool:
    """A predicate that says nothing."""
    return True


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ([always("a", "A.", holds, "x", ("v",)), step("a", "B.", holds, "x", ("v",))], "property a is listed twice"),
        ([always("a", "A.", holds, "x", ("w",))], "property a names the unknown variant w"),
        ([step("a", "A.", holds, "x", ("v+w",))], "property a names the unknown variant w"),
        ([always("a", "A.", holds)], "property a names no variant that refutes it"),
        ([step("a", "A.", holds)], "property a names no variant that refutes it"),
    ],
)
def test_a_dishonest_catalogue_is_refused(claims: list[Property], message: str) -> None:
    """Duplicates, unknown variants and claims that nothing is known to refute are errors by id."""
    with pytest.raises(CatalogueError, match=message.replace("+", r"\+")):
        validate(claims, {"v"})


def test_an_honest_catalogue_is_kept_in_order() -> None:
    """Goals need no refuting variant; combinations of known variants are welcome."""
    claims = [
        always("a", "A.", holds, "x", ("v", "v+u")),
        sometimes("b", "B.", holds),
        happens("c", "C.", holds),
        step("d", "D.", holds, "x", ("u",)),
    ]
    assert list(validate(claims, {"u", "v"})) == claims
    assert [claim.kind for claim in claims] == ["always", "sometimes", "happens", "step"]


def test_every_property_says_what_it_claims() -> None:
    """A property has a sentence, and a claim of safety has a source and a refuting variant."""
    for claim in CLAIMS.values():
        assert len(claim.sentence) > 15, claim.id
        assert not claim.sentence.endswith("."), claim.id
        if claim.kind in ("always", "step", "recovers"):
            assert claim.source, claim.id
            assert claim.refuted_by, claim.id


def test_unknown_systems_get_the_nearest_name() -> None:
    """`find` knows every system by name and suggests one for a misspelling."""
    assert {name: find(name) for name in SYSTEMS} == SYSTEMS
    with pytest.raises(ValueError, match="did you mean elections"):
        find("election")


@pytest.mark.parametrize("scope", SCOPES)
def test_every_property_is_expected_to_hold_under_the_mended_rules(scope: str) -> None:
    """`kraftcheck check` explores the scope under `fixed` and expects nothing but `holds`; no cap may cut it short."""
    assert expected_verdicts.EXPECTED["elections", scope, "fixed"] == {}
    assert [path for path, domain in leaves(ELECTIONS.layout(setting(scope))) if cap_of(domain)] == []


IMPORTED = """
import sys
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS
assert "zk-jbod" in SYSTEMS and "fair-zk-jbod" in FAIR_SYSTEMS
SYSTEMS["elections"]
print(*sorted(name for name in sys.modules if name.startswith("kraftcheck.model.systems.") and name.count(".") == 3))
"""


def test_each_name_leads_to_the_system_of_that_name() -> None:
    """A system is found by the name that it has, twice the same object, and by no other name."""
    for catalogue in (SYSTEMS, FAIR_SYSTEMS):
        assert [system.name for system in catalogue.values()] == list(catalogue)
        assert all(catalogue[name] is catalogue[name] for name in catalogue)
    assert "elections" not in FAIR_SYSTEMS
    assert SYSTEMS.get("election") is None


def test_claims_change_no_behaviour() -> None:
    """A system of the catalogue has the actions and the bounds of the one that it is made of, and claims beside."""
    found = SYSTEMS["elr-index"]
    assert isinstance(found, System)
    assert (found.bounds, found.scopes, found.rules) == (ELR_INDEX.bounds, ELR_INDEX.scopes, ELR_INDEX.rules)
    setting = found.setting(rules=parse("fixed"))
    assert [action.name for action in found.actions(setting)] == [action.name for action in ELR_INDEX.actions(setting)]
    assert found.properties(setting)
    assert not ELR_INDEX.properties(setting)


def test_a_system_is_imported_when_it_is_looked_up() -> None:
    """Whether a name is there imports nothing, and one system brings no other, as ZooKeeper's."""
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    packages = {name.split(".")[3] for name in done.stdout.split()}
    assert "elections" in packages
    assert not packages & {"zk_controller", "zk_jbod", "broker_ids", "replication", "kraft", "directories"}


LOSS = ("loss-is-paid-for", "unclean-only-when-allowed", "no-survivor-passed-over")


@pytest.fixture(scope="session")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for compiled code that lives as long as the tests."""
    return tmp_path_factory.mktemp("code")


def refuted(place: tuple[str, str, dict[str, int], str], code: Path, wanted: Callable[[Property], bool]) -> set[str]:
    """The properties of some kind that a system at a scope under a rule set breaks, the whole space explored."""
    name, scope, bounds, rules = place
    system = find(name)

    def claims(setting: Setting) -> list[Property]:
        return [claim for claim in system.properties(setting) if wanted(claim)]

    setting = system.setting(scope, bounds, parse(rules))
    assert claims(setting)
    traced = trace(evolve(system, properties=claims), setting)
    found = explore(traced, SearchBudget(threads=1, cache_dir=code, keep=False), clock=time.perf_counter)
    assert found.cut is None
    return {v.claim for v in found.verdicts if isinstance(v.verdict, Refuted)}


def of_loss(claim: Property) -> bool:
    """Whether a property is about loss."""
    return claim.id in LOSS


@pytest.mark.parametrize("variant", ["unclean-election-unasked", "last-known-elected-beside-elr"])
@pytest.mark.parametrize("place", [("replication", "tiny", {}), ("elections", "tiny", {}),
                                   ("directories", "small", {"crashes": 0, "records": 0}),
                                   pytest.param(("kraft", "tiny", {}), marks=pytest.mark.slow),
                                   pytest.param(("kraft", "tiny", {"elr": 1, "min-isr": 2, "unclean-stops": 1,
                                                                   "loss": 1}), marks=pytest.mark.slow)],
                         ids=lambda place: f"{place[0]}-{len(place[2])}")  # fmt: skip
def test_an_election_that_nobody_allowed_breaks_every_claim_about_loss(
    place: tuple[str, str, dict[str, int]], variant: str, code: Path
) -> None:
    """Wherever a system can meet the variant, each of its claims about loss is refuted."""
    name, scope, bounds = place
    has = {claim.id for claim in find(name).properties(find(name).setting(scope, bounds, parse("fixed")))} & {*LOSS}
    # Without ELR, or with min ISR 1, nothing is beside an ELR.
    without = variant == "last-known-elected-beside-elr" and (name == "directories" or place == ("kraft", "tiny", {}))
    assert refuted((*place, f"fixed+{variant}"), code, of_loss) == (set() if without else has)


def over_isr(c: Candidates, rules: Any) -> Any:
    """The last known leader is electable while the ISR has members."""
    return all_of(c.last_known.size() == 1, c.acceptable.has(c.last_known.first()))


def without_elr(c: Candidates, rules: Any) -> Any:
    """Members of the ELR are not eligible."""
    return c.isr.keep(c.acceptable)


def said(unclean: bool) -> Callable[..., Election]:
    """An election that always calls itself clean, or unclean."""
    elect = election.elect

    def of(*given: Any) -> Election:
        return evolve(elect(*given), unclean=unclean)

    return of


def outsider_first(c: Candidates, preferred: bool, unclean: Any, last_known: Any, rules: Any) -> Election:
    """Where unclean elections are allowed, one is held though a member could lead."""
    found = election.elect(c, preferred, unclean, last_known, rules)
    outside = c.replicas.minus(c.isr).minus(c.elr).first_in(c.acceptable)
    passes_over = all_of(unclean, outside != NO_LEADER)
    return Election(
        choose(passes_over, outside, found.leader), choose(passes_over, True, found.unclean), found.last_known
    )


def allowed(state: Any) -> Any:
    """Every topic allows unclean elections."""
    return evolve(PERMITS(state), unclean=True)


def forgets(inputs: Any, enabled: Any, rules: Any) -> Any:
    """Nobody who leaves the ISR becomes eligible."""
    found = POPULATE(inputs, enabled, rules)
    return evolve(found, elr=found.elr.none())


def lost_at_once(before: Any, after: Any, proposed: Any) -> Any:
    """The mark of an outsider is set by every election."""
    return negate(before.leader == after.leader)


PERMITS, POPULATE = triggers.permits, change.populate
TINY, PLANE = ("elections", "tiny", {}), ("replication", "tiny", {})
MUTANTS = (
    (election, "_last_known_electable", over_isr, (*TINY, "fixed"), "unclean-only-when-allowed"),
    (election, "_last_known_electable", over_isr, (*PLANE, "fixed"), "no-survivor-passed-over"),
    (Candidates, "valid", without_elr, (*TINY, "fixed"), "unclean-only-when-allowed"),
    (change, "elect", said(False), (*TINY, "fixed"), "loss-is-marked"),
    (change, "elect", said(True), (*TINY, "fixed"), "recovering-after-unclean-election"),
    (change, "elect", outsider_first, (*TINY, "fixed"), "unclean-only-when-allowed"),
    (triggers, "permits", allowed, (*TINY, "fixed"), "unclean-only-when-allowed"),
    (elections, "leaderless_and_unclean", elections.leaderless, (*TINY, "fixed"), "unclean-only-when-allowed"),
    (change, "populate", forgets, (*PLANE, "fixed"), "loss-is-paid-for"),
    (replication, "outsider_leads", lost_at_once, (*PLANE, "fixed"), "loss-is-paid-for"),
)  # fmt: skip
"""Rules that allow what nobody has allowed, or misname what they do: where, what instead, and what must break."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: f"{one[2].__name__}-{one[3][0]}")
def test_a_rule_cannot_excuse_itself(mutant: Any, code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rule that turns a clean situation into an allowed loss, or permission into a waiver, breaks a promise."""
    where, name, instead, place, claim = mutant
    monkeypatch.setattr(where, name, instead)
    assert claim in refuted(place, code, lambda one: one.id == claim)


def test_permission_and_deaths_are_met() -> None:
    """The goals beside the claims are there and shown: a succession after a death, and a loss that deaths paid for."""
    system = find("replication")
    setting = system.setting("tiny", {"unclean-stops": 2}, parse("fixed"))
    wanted = {"shows-succession", "shows-paid-loss"}
    claims = [claim for claim in system.properties(setting) if claim.id in wanted]
    assert {claim.id for claim in claims} == wanted
    traced = trace(evolve(system, properties=lambda _: claims), setting)
    found = explore(traced, SearchBudget(threads=1, keep=False), clock=time.perf_counter)
    assert {v.claim for v in found.verdicts if isinstance(v.verdict, Holds)} >= wanted


PRESETS = ("fixed", "kip")  # rule sets between which the claims of a system differ

PREFIX = "kraftcheck.model."
NAMES = {f.__code__: (f"{f.__module__.removeprefix(PREFIX)}:{f.__qualname__}", bool(rules_of(f))) for f in functions()}
CODES: dict[CodeType, str] = {
    code: name
    for code, (name, states) in NAMES.items()
    if states or not (name.startswith("language.") or name.endswith("__init__"))
}
"""The functions that state a rule, and the others of the model that are more than words, by their code."""

RULES = {name for name, states in NAMES.values() if states}


class Watch:
    """What properties call while they are asked, noted by what runs in the interpreter."""

    def __init__(self) -> None:
        self.asked: dict[str, set[str]] = {}

    @contextmanager
    def during(self, claim: str) -> Iterator[None]:
        """Calls are noted as those of a claim."""

        def note(frame: FrameType, event: str, _: Any) -> None:
            if event == "call" and frame.f_code in CODES:
                self.asked.setdefault(claim, set()).add(CODES[frame.f_code])

        earlier = sys.getprofile()
        sys.setprofile(note)
        try:
            yield
        finally:
            sys.setprofile(earlier)

    def watched(self, claim: str, part: Callable[..., Any] | None) -> Any:
        """A part of a claim that notes what it calls."""
        if part is None:
            return None

        def asked(*arguments: Any, **named: Any) -> Any:
            with self.during(claim):
                return part(*arguments, **named)

        return asked

    def fair(self, claim: str, fairness: Fairness) -> Fairness:
        """A fairness whose exception notes what it calls."""
        return evolve(fairness, unless=self.watched(claim, fairness.unless))

    def claim(self, one: Property) -> Property:
        """A property of which each part notes what it calls."""
        return evolve(
            one, predicate=self.watched(one.id, one.predicate), when=self.watched(one.id, one.when),
            initially=self.watched(one.id, one.initially), fairness=tuple(self.fair(one.id, f) for f in one.fairness),
        )  # fmt: skip

    def system(self, system: System) -> System:
        """A system with properties and lemmas that note what they call."""

        def claims(setting: Setting) -> list[Property]:
            listed = system.properties(setting)
            lemmas = [one for one in system.lemmas(setting) if one.id not in {claim.id for claim in listed}]
            return [self.claim(one) for one in (*listed, *lemmas)]

        return evolve(
            system, properties=claims, lemmas=lambda setting: (),
            fairness=lambda setting: [self.fair("fairness", one) for one in system.fairness(setting)],
        )  # fmt: skip


def settings(system: System) -> Iterator[Setting]:
    """Settings that have every property of the scopes, each the first with one of its own."""
    seen: set[str] = set()
    for rules in PRESETS:
        for scope in system.scopes:
            setting = system.setting(scope, rules=parse(rules))
            ids = {f"{rules} {one.id}" for one in (*system.properties(setting), *system.lemmas(setting))}
            if ids - seen:
                seen |= ids
                yield setting


def asked_by(system: System) -> dict[str, set[str]]:
    """The functions that the claims of a system call, by claim; each is traced, so that it takes every way."""
    watch = Watch()
    for setting in settings(system):
        trace(watch.system(system), setting)
    return watch.asked


EVERY = {**SYSTEMS, **FAIR_SYSTEMS}


@functools.cache
def asked_by_shipped(name: str) -> dict[str, set[str]]:
    """The same of a shipped system, traced once."""
    return asked_by(EVERY[name])


def rules_asked(asked: dict[str, set[str]]) -> dict[str, set[str]]:
    """The claims that ask rules, with these."""
    return {claim: called & RULES for claim, called in asked.items() if called & RULES}


@pytest.mark.xdist_group("self-reference")
@pytest.mark.parametrize("name", EVERY)
def test_no_property_asks_a_rule(name: str) -> None:
    """No function that states a rule runs while a claim or a fairness is evaluated, however it is called."""
    assert rules_asked(asked_by_shipped(name)) == {}


@pytest.mark.xdist_group("self-reference")
def test_what_properties_read_by_the_model_is_named() -> None:
    """Whatever else of the model runs then is named with what it reads, and nothing else is named."""
    called = {one for name in EVERY for names in asked_by_shipped(name).values() for one in names}
    assert sorted(one for names in READINGS.values() for one in names) == sorted(called)


def of_toy(predicate: Callable[..., Any], **parts: Any) -> System:
    """`elections` with a property and a lemma that ask as given."""
    claims = [step("of-steps", "A claim.", lambda t: predicate(t.after), refuted_by=("x",))]
    lemmas = [always("of-states", "A lemma.", predicate, refuted_by=("x",))]
    return evolve(SYSTEMS["elections"], properties=lambda _: claims, lemmas=lambda _: lemmas, **parts)


@pytest.mark.xdist_group("self-reference")
def test_a_rule_is_found_however_it_is_asked() -> None:
    """The check can fail: for a property and a lemma that call a method of the state, which asks the rule."""
    rule = {"triggers.table:effective_min_isr"}
    found = asked_by(of_toy(lambda s: s.isr.size() < s.effective_min_isr()))
    assert rules_asked(found) == {"of-steps": rule, "of-states": rule}
    assert found["of-states"] == {*rule, "systems.elections.state:Elections.effective_min_isr"}
    assert asked_by(of_toy(lambda s: s.isr.size() < s.min_insync_replicas)) == {}


@pytest.mark.xdist_group("self-reference")
def test_a_rule_is_found_in_a_fairness() -> None:
    """The check can fail: for a fairness whose exception asks a rule."""

    def asks(s: Any, broker: Any) -> Any:
        return s.active().has(broker)

    fair = [weak_fairness("unfence", each=["broker"], unless=asks)]
    live = [eventually("led", "A goal.", lambda s: s.leader >= 0, refuted_by=("x",))]
    toy = evolve(FAIR_SYSTEMS["fair-elections"], properties=lambda _: live, fairness=lambda _: fair)
    assert rules_asked(asked_by(toy)) == {"fairness": {"triggers.leadership:active"}}
