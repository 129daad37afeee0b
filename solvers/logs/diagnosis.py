"""What else could have written the batches that a rule set does not explain: another release, or one choice of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import frozen

from kraftcheck.model.rules.ruleset import CHOICES, RELEASES, RuleSet, variant_name
from kraftcheck.solvers.logs.explain.explain import Explanation, explain
from kraftcheck.solvers.logs.explain.state import State

SEARCHED = 2  # batches for which every choice is asked; for others those that have explained one before
NAMED = 3  # rule sets that are named, those that explain most first


@frozen
class Diagnosis:
    """A rule set that explains batches which the one taken does not."""

    change: str  # a release, or a choice of the rule set switched: `kafka-4.0.2`, `+NAME`, `-NAME`
    explained: int  # how many of the batches it explains
    tried: int  # of how many, those that can be replayed

    @property
    def is_release(self) -> bool:
        """Whether it is a whole release, and not one choice."""
        return self.change[0] not in "+-"


def diagnose(unexplained: Sequence[Explanation], rules_at: Callable[[State], RuleSet]) -> tuple[Diagnosis, ...]:
    """The releases and single choices that explain most of some batches, the best first; empty where none explains any.

    A release is preferred to a choice that explains as many. Each batch is decided again at its own place, so that what
    explains one says nothing of others.

    Args:
        unexplained: the batches, as they were found.
        rules_at: the rule set that was taken at a state.
    """
    batches = [one for one in unexplained if not one.replay_error]
    found = _explaining(batches, rules_at, lambda rules: RELEASES, len(batches))
    if batches and max(found.values(), default=0) < len(batches):
        found |= _explaining(batches, rules_at, lambda rules: dict(_switched(rules)), SEARCHED)
    ordered = sorted(found, key=lambda change: (-found[change], change[0] in "+-", change))
    return tuple(Diagnosis(change, found[change], len(batches)) for change in ordered[:NAMED])


def _explaining(
    batches: Sequence[Explanation], rules_at: Callable[[State], RuleSet],
    changes: Callable[[RuleSet], Mapping[str, RuleSet]], searched: int,
) -> dict[str, int]:  # fmt: skip
    """How many batches each change explains: all are asked of the first, and of others what has explained one."""
    found: dict[str, int] = {}
    for number, one in enumerate(batches):
        rules = rules_at(one.states[0])
        for change, other in changes(rules).items():
            asked = other != rules and (number < searched or change in found)
            if asked and explain(one.states[0], one.batch, other).explained:
                found[change] = found.get(change, 0) + 1
    return found


def _switched(rules: RuleSet) -> Iterator[tuple[str, RuleSet]]:
    """The rule set with each choice of the controller switched."""
    for name in CHOICES:
        if not (hasattr(rules.partition, name) or hasattr(rules.controller, name)):
            continue
        on = bool(rules.value(name))
        yield f"{'-' if on else '+'}{variant_name(name)}", rules.switched(**{name: not on})
