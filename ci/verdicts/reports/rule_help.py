"""The help of a property: its sentence and source, the rules that it checks, the variants that break it."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.ci.systems.rule_index import entries
from kraftcheck.ci.verdicts.reports.escaping import markdown
from kraftcheck.ci.verdicts.reports.judged import JudgedProperty
from kraftcheck.ci.verdicts.reports.places import Place, place


@frozen
class CheckedRule:
    """A rule that a property checks.

    Attributes:
        id, says, source: of the rule.
        place: where it is written.
    """

    id: str
    says: str
    source: str
    place: Place


def checked_rules(one: JudgedProperty) -> list[CheckedRule]:
    """The rules that a property names; none for a user's property, which names none of them."""
    if one.claim is None or not one.claim.rules:
        return []
    by_id = {entry.rule.id: entry for entry in entries()}
    found = [by_id[id_] for id_ in one.claim.rules if id_ in by_id]
    return [
        CheckedRule(entry.rule.id, entry.rule.says, entry.rule.source, place(entry.file, entry.line)) for entry in found
    ]


def help_text(one: JudgedProperty) -> str:
    """The help as plain text."""
    return "\n".join(_lines(one, plain=True))


def help_markdown(one: JudgedProperty) -> str:
    """The help as Markdown."""
    return "\n\n".join(_lines(one, plain=False))


def _lines(one: JudgedProperty, plain: bool) -> list[str]:
    def shown(text: str) -> str:
        return text if plain else markdown(text)

    lines = [shown(one.sentence)]
    if one.claim is not None and one.claim.source:
        lines.append(shown(f"Source: {one.claim.source}."))
    if one.claim is not None and one.claim.refuted_by:
        lines.append(shown(f"Variants that break it: {', '.join(one.claim.refuted_by)}."))
    for rule in checked_rules(one):
        line = shown(f"Rule {rule.id}: {rule.says} ({rule.source}; {rule.place.path}:{rule.place.line})")
        lines.append(line if plain else f"- {line}")
    return lines
