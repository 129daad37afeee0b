"""Every kind of claim, true and false, of one system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc


@frozen
class Count:
    """A number, its double, and whether a step was taken."""

    n: kc.Word
    twice: kc.Word
    begun: kc.Truth


def double(s: Count) -> kc.Truth:
    """What holds of every state."""
    return s.twice == 2 * s.n


COUNTER = kc.System(
    name="counter",
    summary="A number rises, and begins again.",
    layout=Count(kc.ints(0, 3), kc.ints(0, 6), kc.truth()),
    initial=[Count(0, 0, False)],
    actions=[
        kc.Action("rise", lambda s: Count(s.n + 1, s.twice + 2, True), lambda s: s.n < 3),
        kc.Action("reset", lambda s: Count(0, 0, True), lambda s: s.n == 3),
    ],
    fairness=[kc.weak_fairness("rise"), kc.weak_fairness("reset")],
    lemmas=[kc.always("double", "the second number is twice the first", double)],
)


def never(s: Count) -> kc.Truth:
    """What no state satisfies."""
    return s.twice == 1


def rises(t: kc.Step) -> kc.Truth:
    """What holds of every step but one."""
    return t.after.n > t.before.n


def _pair(kind: Any, right: Any, wrong: Any) -> tuple[Any, Any]:
    return kind("claim", "a claim", right), kind("claim", "a claim", wrong)


CLAIMS: Mapping[str, tuple[Any, Any]] = {
    "always": _pair(kc.always, double, lambda s: s.n < 2),
    "step": _pair(kc.step, lambda t: kc.any_of(rises(t), t.after.n == 0), rises),
    "sometimes": _pair(kc.sometimes, lambda s: s.n == 3, never),
    "happens": _pair(kc.happens, lambda t: t.after.n == 0, lambda t: t.after.n == t.before.n),
    "recovers": _pair(kc.recovers, lambda s: s.n == 0, never),
    "eventually": _pair(kc.eventually, lambda s: s.n == 3, never),
    "always_eventually": _pair(kc.always_eventually, lambda s: s.n == 3, never),
    "eventually_always": _pair(kc.eventually_always, lambda s: s.begun, lambda s: s.n == 0),
    "leads_to": (kc.leads_to("claim", "a claim", lambda s: s.n == 1, lambda s: s.n == 3),
                 kc.leads_to("claim", "a claim", lambda s: s.n == 1, never)),
    "refines": (kc.refines("claim", "a claim", COUNTER, lambda s: s),
                kc.refines("claim", "a claim", COUNTER, lambda s: Count(3 - s.n, 6 - s.twice, s.begun))),
}  # fmt: skip
"""By the kind: a claim that holds of the counter, and one that does not."""


def systems(kind: str) -> tuple[kc.System, kc.System]:
    """The counter with the claim that holds, and with the one that does not."""
    right, wrong = (claim if isinstance(claim, tuple) else (claim,) for claim in CLAIMS[kind])
    return evolve(COUNTER, properties=list(right)), evolve(COUNTER, properties=list(wrong))


SEARCHED, GOAL, WALKED = "holds or is refuted", "is shown or vacuous", "is refuted"
LEFT, REFUSED = "not judged", "refused"
"""What an engine does with a claim."""

_SAFETY = (SEARCHED, SEARCHED, WALKED, WALKED)
_GOALS = (GOAL, LEFT, GOAL, GOAL)
_LIVENESS = (SEARCHED, REFUSED, LEFT, REFUSED)

JUDGED: Mapping[str, tuple[str, str, str, str]] = {
    "always": _SAFETY, "step": _SAFETY, "refines": _SAFETY, "sometimes": _GOALS, "happens": _GOALS,
    "recovers": (SEARCHED, LEFT, LEFT, LEFT), "eventually": _LIVENESS, "always_eventually": _LIVENESS,
    "eventually_always": _LIVENESS, "leads_to": _LIVENESS,
}  # fmt: skip
"""By the kind: what `explore`, `prove`, `simulate` and Hypothesis do."""
