"""The rule sets that `--rules` may name for a system: Kafka's, or those of a system with choices of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from attrs import field, frozen

from kraftcheck.model.language.system import ScopeError, System
from kraftcheck.model.rules.ruleset import GROUP_OF, GROUPS, PRESETS, RuleSet, consistent, variant_name, variants
from kraftcheck.model.rules.spelling import Spelling, spelt

BASE = "base"  # the only preset of a system with choices of its own: each as its class has it, which is off
KAFKA = "kafka-4.0"  # the preset of the shipped systems where none is named


@frozen
class Vocabulary:
    """The presets and variants of a system's rule sets."""

    presets: Mapping[str, Any]  # rule sets by name
    choices: Mapping[str, attrs.Attribute[bool]]  # by variant name, as the command line spells it
    default: str  # the preset where none is named
    declared: tuple[str, ...] = field(default=())  # for Kafka's choices, the groups that the system reads

    def spelling(self, text: str) -> Spelling:
        """The parts of a rule set's name; raises `ScopeError` for an unknown one."""
        return spelt(text, self.presets, self.choices)

    def rules(self, spelling: Spelling) -> Any:
        """The rule set that is spelt; of a choice named twice the last counts."""
        preset = self.presets[spelling.preset]
        choices = {self.choices[name].name: on for name, on in spelling.switches}
        return preset.switched(**choices) if isinstance(preset, RuleSet) else attrs.evolve(preset, **choices)

    def parse(self, text: str) -> Any:
        """The rule set of that name; raises `ScopeError` as `spelling` does, and for variants that contradict."""
        found = self.spelling(text)
        rules = self.rules(found)
        return consistent(rules, found) if isinstance(rules, RuleSet) else rules

    def value(self, preset: str, variant: str) -> bool:
        """Whether a preset has a variant."""
        return self.has(self.presets[preset], variant)

    def has(self, rules: Any, variant: str) -> bool:
        """Whether a rule set has a variant."""
        choice = self.choices[variant].name
        return rules.value(choice) if isinstance(rules, RuleSet) else bool(getattr(rules, choice))

    def group(self, variant: str) -> str:
        """The group of a variant; empty for choices of one's own."""
        return GROUP_OF.get(self.choices[variant].name, "") if self.declared else ""

    def reads(self, variant: str) -> bool:
        """Whether the system says that it reads a variant: it is of a declared group, or one's own."""
        return self.group(variant) in ("", *self.declared)


def vocabulary(system: System) -> Vocabulary | None:
    """The words of `--rules` for a system; None where it takes no rule set.

    Raises:
        ScopeError: when `System.rules` is neither a frozen record of booleans nor groups of Kafka's choices, which may
            have such a record besides.
    """
    declared = system.rules
    if isinstance(declared, type):
        choices = _own(system.name, declared)
        return Vocabulary({BASE: declared()}, choices, BASE)
    if not isinstance(declared, tuple):
        raise ScopeError(f"{system.name}: rules is {declared!r}; {_MEND}")
    if not declared:
        return None
    places = {group: name for name, group in GROUPS.items()}
    groups, own = tuple(places[group] for group in declared if group in places), [*{*declared} - {*places}]
    if len(own) > 1 or not groups:
        raise ScopeError(f"{system.name}: rules names {own[-1]!r}; {_MEND}")
    presets, choices = PRESETS, variants()
    for record in own:
        more = _own(system.name, record)
        if twice := sorted(choices.keys() & more.keys()):
            raise ScopeError(f"{system.name}: the choice {twice[0]} is one of Kafka's; give it another name")
        presets = {name: attrs.evolve(rules, own=record()) for name, rules in presets.items()}
        choices = {**more, **choices}
    return Vocabulary(presets, choices, system.base or KAFKA, groups)


_MEND = (
    "give a frozen attrs class of booleans, or a tuple of groups of kraftcheck.model.rules, with one such class at most"
)


def _own(system: str, record: type) -> dict[str, attrs.Attribute[bool]]:
    """The choices of a user's record by variant name."""
    if not isinstance(record, type) or not attrs.has(record) or not attrs.fields(record):
        raise ScopeError(f"{system}: rules is {getattr(record, '__name__', repr(record))}; {_MEND}")
    for choice in attrs.fields(record):
        if choice.default is not False:
            named = f"{record.__name__}.{choice.name}"
            raise ScopeError(f"{system}: the choice {named} is not False by default; make it so")
    return {variant_name(choice.name): choice for choice in attrs.fields(record)}
