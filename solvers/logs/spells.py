"""Violations of a log as spells: what one event brought about, until when, and which choice of the rules is its cause.

A choice of the rule set is the cause of a violation if the event, decided again without it, does not bring it about:
the same event, at the same state, by the rules with that choice as it is right.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from attrs import define, field, frozen

from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.state import Controller, Place
from kraftcheck.model.partition.registration import DirectoryMismatch
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import CHOICES, RIGHT, RuleSet, variant_name, variants
from kraftcheck.properties.register.defects import SEEN
from kraftcheck.solvers.logs.explain.explain import Explanation, ReplayedBatch
from kraftcheck.solvers.logs.explain.guesses import candidates, hidden_candidates
from kraftcheck.solvers.logs.explain.judge import STAYS, LogViolation, broken_invariants, judge, log_properties
from kraftcheck.solvers.logs.explain.state import Batch, CompactBatch, State
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch

Broken: TypeAlias = tuple[str, str, int]  # a property, and the topic and index of a partition


@define(eq=False)
class Spell:
    """The promises that one event broke."""

    offset: int  # of the last record of the batch after which it does not hold
    time: int | None  # when that was written, in milliseconds since 1970; None where the log has no times
    event: str  # what wrote it, in words; empty where nothing explains it
    switches: tuple[str, ...]  # the choices of the rule set that are the cause; empty where none alone is
    # other choices of the rule set of which it is known that they break one of the properties
    suspects: tuple[str, ...]
    properties: list[str] = field(factory=list)  # what does not hold, in the order of the system's
    partitions: list[tuple[str, int]] = field(factory=list)  # where, as topic and index
    parts: list[str] = field(factory=list)  # what of the properties does not hold, as far as that has a name
    # the last record of the batch after which all of it holds again; None: it does not at the end
    until: int | None = None
    ended: int | None = None  # when that was written, as `time`

    def add(self, violation: LogViolation) -> None:
        """Count a violation among what the event broke."""
        self.properties = [*dict.fromkeys((*self.properties, violation.property))]
        self.partitions = [*dict.fromkeys((*self.partitions, (violation.topic, violation.partition)))]
        named = (part for part in violation.parts if part != violation.property)
        self.parts = [*dict.fromkeys((*self.parts, *named))]


@frozen
class _Cause:
    """The event that broke something, and the choices without which it would not have."""

    event: str
    switches: tuple[str, ...]
    suspects: tuple[str, ...]


class SpellFollower:
    """The spells of a log, followed from batch to batch.

    Args:
        state: the state after the batch at hand.
    """

    def __init__(self, state: Callable[[], State]) -> None:
        self._state = state
        self.spells: list[Spell] = []
        self._open: dict[Broken, Spell] = {}
        self._before: Controller | None = None

    def follow(self, replayed: ReplayedBatch | MemoisedBatch) -> None:
        """Follow one more batch; before the next is replayed."""
        if isinstance(replayed, ReplayedBatch):
            if replayed.undone is not None or replayed.batch.control:
                return
            if replayed.explanation is not None and replayed.violations:
                self._begin(replayed.explanation, replayed.rules)
        if not self._open:
            self._before = None
            return
        after = self._state()
        if after.transaction is None:
            self._end(after.controller, replayed.batch, replayed.rules)
        self._before = after.controller

    def _begin(self, explanation: Explanation, rules: RuleSet) -> None:
        batch, begun = explanation.batch, dict[_Cause, Spell]()
        for violation, cause in _causes(explanation, rules):
            key = violation.property, violation.topic, violation.partition
            if key in self._open:
                continue
            spell = begun.get(cause) or Spell(
                batch.last_offset, batch.time, cause.event, cause.switches, cause.suspects,
                until=batch.last_offset, ended=batch.time,
            )  # fmt: skip
            begun[cause] = spell
            spell.add(violation)
            kinds = {claim.id: claim.kind for claim in log_properties(rules)}
            if kinds.get(violation.property, "always") == "always":  # the others that a log shows are of states too
                self._open[key], spell.until, spell.ended = spell, None, None
        self.spells += begun.values()

    def _end(self, after: Controller, batch: Batch | CompactBatch, rules: RuleSet) -> None:
        before = self._before
        same = (
            before is not None
            and before.image.registrations is after.image.registrations
            and before.configs is after.configs
        )
        for key, spell in list(self._open.items()):
            name, topic, index = key
            topic_id = after.topic_id(topic)
            p = None if topic_id is None else after.image.partition(topic_id, index)
            if topic_id is not None and p is not None:
                if before is not None and same and before.image.partition(topic_id, index) is p:
                    continue
                if name in broken_invariants(after, Place(topic_id, index, p), rules):
                    continue
            del self._open[key]
            if spell not in self._open.values():
                spell.until, spell.ended = batch.last_offset, batch.time


def _causes(explanation: Explanation, rules: RuleSet) -> Iterator[tuple[LogViolation, _Cause]]:
    """The violations after each event of a batch, with what caused them; each once."""
    states, seen = explanation.states, set[LogViolation]()
    spans = [(number, step.start, step.end) for number, step in enumerate(explanation.steps)]
    if not explanation.explained and explanation.prefix < len(states) - 1:
        spans = [*spans, (-1, explanation.prefix, len(states) - 1)]
    for number, start, end in spans:
        if end >= len(states) or states[end].transaction is not None:
            continue
        before, after, records = states[start], states[end], explanation.records[start:end]
        step = explanation.steps[number] if number >= 0 and before.transaction is None else None
        if before.transaction is not None:
            records, before = (*before.transaction.records(), *records), before.transaction.before
        candidate = None if step is None else step.candidate
        broken = judge(before.controller, after.controller, records, candidate, rules)
        found = [one for one in broken if one not in seen]
        seen.update(found)
        without = {} if step is None else _without_each(explanation, start, step.name, rules, found)
        for violation in found:
            key = violation.property, violation.topic, violation.partition
            causes = tuple(name for name, left in without.items() if left is not None and key not in left)
            known = (name for name in without if variant_breaks(name, violation.property, rules))
            suspects = () if causes else tuple(known)
            yield violation, _Cause("" if step is None else step.name, causes, suspects)


def variant_breaks(variant: str, claim: str, rules: RuleSet) -> bool:
    """Whether it is known of a choice that it breaks a property; of the exception that logs show, of none."""
    if claim == STAYS:
        return False
    refuting = (one.refuted_by for one in log_properties(rules) if one.id == claim)
    return any(variant in one for one in refuting) or any((claim, variant) == seen[1:] for seen in SEEN)


def on_purpose(variant: str) -> bool:
    """Whether a release makes a choice on purpose, which is no defect of it."""
    reason: str = variants()[variant].metadata["reason"]
    return reason.startswith("deliberate")


def _without_each(
    explanation: Explanation, start: int, event: str, rules: RuleSet, found: Collection[LogViolation]
) -> Mapping[str, set[Broken] | None]:
    """What an event still breaks without each choice that may be to blame.

    Where one that is made on purpose may be, every other choice is asked too, so that it is blamed alone or not at all;
    and so they are where none is known to break what is broken.
    """
    claims = {violation.property for violation in found}
    wrong = [variant_name(name) for name in CHOICES if rules.value(name) != RIGHT.value(name)]
    by_claim = {claim: [name for name in wrong if variant_breaks(name, claim, rules)] for claim in claims}
    known = dict.fromkeys(name for names in by_claim.values() for name in names)

    def asked(names: Iterable[str]) -> dict[str, set[Broken] | None]:
        sets = {name: name.replace("-", "_") for name in names}
        return {
            name: _broken_by(explanation, start, event, rules, rules.switched(**{value: RIGHT.value(value)}))
            for name, value in sets.items()
        }

    keys = {(one.property, one.topic, one.partition) for one in found}
    meant = asked(name for name in wrong if on_purpose(name)) if claims else {}
    blamed = any(left is not None and not keys <= left for left in meant.values())
    return {**meant, **asked(wrong if blamed or not all(by_claim.values()) else known)}


def _broken_by(
    explanation: Explanation, start: int, event: str, rules: RuleSet, decided_by: RuleSet
) -> set[Broken] | None:
    """What an event breaks where other rules decide what it writes; None where these know no such event, or resign."""
    before = state = explanation.states[start]
    for guesses in (candidates, hidden_candidates):
        for candidate in guesses(before, explanation.records[start:], decided_by):
            if candidate.name != event:
                continue
            try:
                records = tuple(candidate.records())
            except RequestError:
                return set()
            except (Resignation, ReplayError, DirectoryMismatch):
                return None
            for record in records:
                state = state.after(record, decided_by)
            broken = judge(before.controller, state.controller, records, candidate, rules) if records else ()
            return {(one.property, one.topic, one.partition) for one in broken}
    return None
