"""The audit of a reduction of orders tries on ints what is said to be independent."""

from typing import Any

import pytest
from attrs import evolve, frozen

from kraftcheck.model.language.system import Step
from kraftcheck.solvers.audit.comparison import Dependence, find_dependence
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.orders import Orders
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.search.orders import by_orders
from tests.toys import TWO_PHASE

NOTHING = Orders((), (), ((), ()), (1, 2), (), 0)  # two instances, said to be independent


@frozen
class Rule:
    """An instance: from which numbers it can be taken, and what it makes of them."""

    enabled: Any
    effect: Any


@pytest.mark.parametrize(
    ("rules", "what"),
    [
        ((Rule(lambda s: True, lambda s: s + 1), Rule(lambda s: True, lambda s: s * 2)), "different states"),
        ((Rule(lambda s: True, lambda s: s + 1), Rule(lambda s: s == 1, lambda s: s)), "decides whether"),
        ((Rule(lambda s: True, lambda s: s + 1), Rule(lambda s: s == 2, lambda s: s)), "decides whether"),
        ((Rule(lambda s: True, lambda s: s + 1), Rule(lambda s: True, lambda s: s + 2)), None),
    ],
)
def test_what_does_not_commute_is_found(rules: tuple[Rule, Rule], what: str | None) -> None:
    """Two orders that end apart, and a step that enables or disables another, are told; steps that commute are not."""

    def take(state: int, number: int) -> tuple[bool, Step | None]:
        rule = rules[number]
        return rule.enabled(state), Step(state, rule.effect(state), "", {}) if rule.enabled(state) else None

    found = find_dependence(NOTHING, {n: take(1, n) for n in range(2)}, take)
    assert (found is None) == (what is None)
    assert not isinstance(found, Dependence) or (what or "") in found.what


def test_a_search_with_a_false_independence_ends_without_a_verdict() -> None:
    """Where every two steps are said to be independent, the audit names a pair and ends the run."""
    program = by_orders(trace(TWO_PHASE, TWO_PHASE.setting()))
    assert program.orders is not None
    orders = evolve(program.orders, dependent=tuple(1 << n for n in range(program.instances)))
    with pytest.raises(EngineDisagreement, match=r"are taken for independent, and .* on ints|visited no successor"):
        explore(evolve(program, orders=orders), clock=lambda: 0.0)
