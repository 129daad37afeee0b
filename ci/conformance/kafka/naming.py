"""The rule set that a build is: looked for on the cases on which it differs from another, then asked in full."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from attrs import frozen

from kraftcheck.ci.conformance.kafka.change.cases import OUTSIDERS
from kraftcheck.ci.conformance.kafka.change.checks import DRIVER, MAX_RANDOM_FACTOR, CheckRow, ShownCause
from kraftcheck.ci.conformance.kafka.change.models import change_on_ints, model_of
from kraftcheck.ci.conformance.kafka.fuzz.run import DIED, FEW_ELECTED, FuzzDifference, Played
from kraftcheck.model.rules import ruleset

MOST_ASKED = 6  # how many rule sets are asked in full: each costs as much as the first comparison
GROUPS = ("partition", "controller")  # the groups whose choices the controller's classes can show


@frozen
class CaseWitness:
    """A case of a check, with the whole of Kafka's answer by column."""

    check: str
    case: dict[str, Any]
    kafka: dict[str, Any]

    @classmethod
    def of(cls, check: str, cause: ShownCause, rules: ruleset.RuleSet) -> CaseWitness:
        """That of a shown cause: where Kafka's answer does not differ, it is that of the rules it was compared with."""
        return cls(check, cause.case, {**_answer(check, cause.case, rules), **cause.expected})

    @property
    def asked(self) -> str:
        """The kind of the request, or the check, that is answered so."""
        return self.check

    def agrees(self, rules: ruleset.RuleSet) -> bool:
        """Whether a rule set gives Kafka's answer."""
        return _answer(self.check, self.case, rules) == self.kafka


@frozen
class SequenceWitness:
    """A sequence of requests, of the release `like`, at whose last one Kafka's answer differs."""

    like: str
    difference: FuzzDifference

    @property
    def asked(self) -> str:
        """The kind of the request."""
        return self.difference.exchanges[-1].request.kind

    def agrees(self, rules: ruleset.RuleSet) -> bool:
        """Whether a rule set gives Kafka's answer; one that draws other requests has decided otherwise before."""
        few, known = self.difference.begin.endswith(FEW_ELECTED), self.difference.exchanges
        played = Played.of(self.like, rules, self.difference.plan, few)
        if len(played.exchanges) < len(known):
            return False
        return all(
            (mine.request.line, mine.model) == (theirs.request.line, theirs.kafka.partition("#")[0])
            for mine, theirs in zip(played.exchanges, known, strict=False)
        )


Witness: TypeAlias = CaseWitness | SequenceWitness  # a case with Kafka's answer, which some rule set does not give


def _answer(check: str, case: dict[str, Any], rules: ruleset.RuleSet) -> dict[str, Any]:
    slots = MAX_RANDOM_FACTOR + 2 * OUTSIDERS
    model = change_on_ints(slots, rules) if check == "change" else model_of(check, slots, rules)
    return model.outputs.read(model.answer(model.inputs.table([case]))[0])


def case_witnesses(rows: Iterable[CheckRow], rules: ruleset.RuleSet) -> list[Witness]:
    """What checks have shown; what kills the driver is the answer of no rule set, and left to the full asking."""
    shown = ((row.check, cause) for row in rows for cause in row.shown if cause.columns != (DRIVER,))
    return [CaseWitness.of(check, cause, rules) for check, cause in shown]


def sequence_witnesses(like: str, differences: Iterable[FuzzDifference]) -> list[Witness]:
    """What a fuzz has shown."""
    kept = (one for one in differences if not one.exchanges[-1].kafka.startswith(DIED))
    return [SequenceWitness(like, one) for one in kept]


@frozen
class FullAnswer:
    """A rule set asked in full: how many cases, how many differ, some of those, whether the build ended too often."""

    cases: int
    differing: int
    witnesses: list[Witness]
    ended: bool = False


@frozen
class Naming:
    """What was looked for, and found."""

    name: str | None  # the rule set that a build is in all cases asked; None where none was found
    cases: int  # in how many
    tried: int  # how many rule sets were tried on the differing cases
    witnesses: int  # how many differing cases there are
    asked: int  # how many rule sets were asked in full
    beside: tuple[str, ...]  # other rule sets that the differing cases do not tell from it
    whole: bool  # whether every candidate was tried

    def lines(self, build: object) -> list[str]:
        """The naming for a reader."""
        if self.name is None:
            extent = "" if self.whole else "; not all were tried"
            said = f"{build} is no rule set" if self.whole else f"no rule set is found yet that {build} is"
            return [f"{said}: {self.tried:,} were tried on {self.witnesses} cases that differ, "
                    f"{self.asked} in full{extent}"]  # fmt: skip
        text = [f"{build} is {self.name} in {self.cases:,} of {self.cases:,} cases"]
        if self.beside:
            text.append(f"  what differs does not tell it from {', '.join(self.beside)}")
        return text


def candidates(base: str) -> Iterator[tuple[str, ...]]:
    """Rule sets in tiers, of releases and mends, the base with one or two choices changed, without contradictions."""
    yield tuple(name for name in (*ruleset.RELEASES, ruleset.MENDED, "fixed") if name != base)
    names = [ruleset.variant_name(name) for name in ruleset.CHOICES if ruleset.GROUP_OF[name] in GROUPS]
    changed = {name: ruleset.otherwise(ruleset.parse(base), name) for name in names}
    against = {name: ruleset.contradicting(name) for name in names}
    yield tuple(f"{base}{one}" for one in changed.values())
    pairs = (pair for pair in itertools.combinations(names, 2) if pair[1] not in against[pair[0]])
    yield tuple(f"{base}{changed[one]}{changed[other]}" for one, other in pairs)


def named(
    base: str, witnesses: Sequence[Witness], ask: Callable[[str], FullAnswer | None], first: str | None = None,
    seconds: float = 120.0,
) -> Naming:  # fmt: skip
    """The rule set that a build is: candidates that agree with `witnesses` unlike `base`, asked in full."""
    known, tried, asked, deadline = list(witnesses), 0, 0, time.monotonic() + seconds
    tiers = candidates(base) if first is None else itertools.chain([(first,)], candidates(base))
    for tier in tiers if known else ():
        left = list[str]()
        for name in tier:
            if time.monotonic() > deadline:
                return Naming(None, 0, tried, len(known), asked, (), False)
            tried += 1
            if agrees(name, known):
                left.append(name)
        while left and asked < MOST_ASKED:
            answer, asked = ask(left[0]), asked + 1
            if answer is None:
                return Naming(None, 0, tried, len(known), asked, (), False)
            if not answer.differing:
                rules = ruleset.parse(left[0])
                beside = tuple(name for name in left[1:] if ruleset.parse(name) != rules)
                return Naming(left[0], answer.cases, tried, len(known), asked, beside, True)
            known += answer.witnesses
            left = [name for name in left[1:] if agrees(name, known)]
        if left:
            return Naming(None, 0, tried, len(known), asked, (), False)
    return Naming(None, 0, tried, len(known), asked, (), bool(known))


def agrees(name: str, known: Sequence[Witness]) -> bool:
    """Whether a rule set answers these cases as the build does."""
    rules = ruleset.parse(name)
    return all(witness.agrees(rules) for witness in reversed(known))
