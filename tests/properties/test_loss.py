"""Loss is told from logs and registrations: no rule that calls it allowed, or clean, is believed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.language.system import Property, Setting
from kraftcheck.model.language.words import NO_LEADER, all_of, choose, negate
from kraftcheck.model.partition import change, election
from kraftcheck.model.partition.election import Candidates, Election
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elections import system as elections
from kraftcheck.model.systems.elections import triggers
from kraftcheck.model.systems.replication import state as replication
from kraftcheck.properties.catalogue import find
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted

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
