"""A judgement of mutants that nothing kills."""

from __future__ import annotations

from attrs import frozen

REDUNDANT, SCOPE = "redundant", "scope"
KINDS = (REDUNDANT, SCOPE)

ANY = ""


@frozen
class Judgement:
    """What it means that mutants survive.

    Attributes:
        kind: `redundant`: other checks or the model see to it; `scope`: this scope is too small to show it. Where
            something observable is wrong and no property says so, a property is missing: there is no kind for that.
        system: the system; empty: each whose rules have it.
        group: the action, or `module:rule`.
        part: the condition, as the table shows it; empty: every one of the group.
        change: `dropped`, `always` or `never`; empty: each.
        why: a sentence.
    """

    kind: str
    system: str
    group: str
    part: str
    change: str
    why: str

    def about(self, system: str, group: str, part: str, change: str) -> bool:
        """Whether this judges the mutant."""
        wanted = (self.system or system, self.group, self.part or part, self.change or change)
        return wanted == (system, group, part, change)


def about(kind: str, system: str, why: str, *places: tuple[str, str, str]) -> tuple[Judgement, ...]:
    """One sentence about several mutants, each as group, condition, change."""
    return tuple(Judgement(kind, system, *place, why) for place in places)
