"""No property asks a rule of the model: it would hold whatever that rule says."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.systems.lookup import functions
from kraftcheck.model.language.system import Fairness, Property, Setting, System
from kraftcheck.model.language.words import rules_of
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS
from kraftcheck.properties.kinds import always, eventually, step, weak_fairness
from kraftcheck.properties.register.rules import READINGS
from kraftcheck.solvers.program.trace import trace

pytestmark = pytest.mark.xdist_group("self-reference")  # one process traces each system once

PRESETS = ("fixed", "kip")
"""Rule sets between which the claims of a system differ."""

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


@pytest.mark.parametrize("name", EVERY)
def test_no_property_asks_a_rule(name: str) -> None:
    """No function that states a rule runs while a claim or a fairness is evaluated, however it is called."""
    assert rules_asked(asked_by_shipped(name)) == {}


def test_what_properties_read_by_the_model_is_named() -> None:
    """Whatever else of the model runs then is named with what it reads, and nothing else is named."""
    called = {one for name in EVERY for names in asked_by_shipped(name).values() for one in names}
    assert sorted(one for names in READINGS.values() for one in names) == sorted(called)


def of_toy(predicate: Callable[..., Any], **parts: Any) -> System:
    """`elections` with a property and a lemma that ask as given."""
    claims = [step("of-steps", "A claim.", lambda t: predicate(t.after), refuted_by=("x",))]
    lemmas = [always("of-states", "A lemma.", predicate, refuted_by=("x",))]
    return evolve(SYSTEMS["elections"], properties=lambda _: claims, lemmas=lambda _: lemmas, **parts)


def test_a_rule_is_found_however_it_is_asked() -> None:
    """The check can fail: for a property and a lemma that call a method of the state, which asks the rule."""
    rule = {"triggers.table:effective_min_isr"}
    found = asked_by(of_toy(lambda s: s.isr.size() < s.effective_min_isr()))
    assert rules_asked(found) == {"of-steps": rule, "of-states": rule}
    assert found["of-states"] == {*rule, "systems.elections.state:Elections.effective_min_isr"}
    assert asked_by(of_toy(lambda s: s.isr.size() < s.min_insync_replicas)) == {}


def test_a_rule_is_found_in_a_fairness() -> None:
    """The check can fail: for a fairness whose exception asks a rule."""

    def asks(s: Any, broker: Any) -> Any:
        return s.active().has(broker)

    fair = [weak_fairness("unfence", each=["broker"], unless=asks)]
    live = [eventually("led", "A goal.", lambda s: s.leader >= 0, refuted_by=("x",))]
    toy = evolve(FAIR_SYSTEMS["fair-elections"], properties=lambda _: live, fairness=lambda _: fair)
    assert rules_asked(asked_by(toy)) == {"fairness": {"triggers.leadership:active"}}
