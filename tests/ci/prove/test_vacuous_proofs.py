"""A proof of a claim that says nothing of any reachable state is no pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc


@frozen
class Pair:
    """Two words, of which the second stays 0."""

    x: kc.Word
    y: kc.Word


def pair(claim: Callable[[Any], Any]) -> kc.System:
    """A user's system whose first word counts round, with one claim."""
    return kc.System(
        "pair", "a pair", [Pair(0, 0)],
        [kc.Action("count", lambda s: Pair(kc.choose(s.x == 5, 0, s.x + 1), s.y))],
        Pair(kc.ints(0, 5), kc.ints(0, 5)), [kc.always("claim", "the claim", claim)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("claim", "search", "verdict", "code"),
    [
        (lambda s: kc.implies(s.y == 3, s.y == 4), 1000, "Vacuous", 21),
        (lambda s: kc.implies(s.x == 4, s.x + s.y < 10), 1000, "Holds", 0),
        (lambda s: s.x < 6, 1000, "Vacuous", 21),
        (lambda s: kc.implies(s.x == 4, s.y == 1), 1000, "Refuted", 12),
    ],
    ids=["never", "once", "the domains", "refuted"],
)
def test_a_proof_looks_for_what_the_claim_speaks_of(claim: Any, search: int, verdict: str, code: int) -> None:
    """What is inductive holds only if the search of the scope does not call it vacuous."""
    asked = kc.prove(pair(claim), search_states=search)
    assert (type(asked.verdicts["claim"]).__name__, asked.exit_code) == (verdict, code)


def test_a_lemma_may_say_what_the_domains_say() -> None:
    """A lemma serves the proof of other claims: it is not vacuous where the domains alone make it true."""
    system = pair(lambda s: kc.implies(s.x == 4, s.x + s.y < 10))
    helped = evolve(system, lemmas=[kc.always("small", "the first word is small", lambda s: s.x < 6)])
    asked = kc.prove(helped, search_states=1000)
    assert {name: type(one).__name__ for name, one in asked.verdicts.items()} == {"claim": "Holds", "small": "Holds"}
