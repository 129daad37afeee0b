"""A proof of a claim that says nothing of any reachable state is no pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.ci.prove.request import ProofRequest
from tests.shared.commands import kraftcheck


@frozen
class Pair:
    """Two words, of which the second stays 0."""

    x: kc.Word
    y: kc.Word


def pair(claim: Callable[[Any], Any]) -> kc.System:
    """A user's system whose first word counts round, with one claim."""
    return kc.System(
        "pair", "a pair", [Pair(0, 0)],
        [kc.Action("count", lambda s: Pair(kc.choose(s.x == 5, 0, s.x + 1), 0))],
        Pair(kc.ints(0, 5), kc.ints(0, 5)), [kc.always("claim", "the claim", claim)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("claim", "search", "verdict", "code"),
    [
        (lambda s: kc.implies(s.y == 3, s.y == 4), 1000, "Vacuous", 21),
        (lambda s: kc.implies(s.x == 4, s.x + s.y < 9), 1000, "Holds", 0),
        (lambda s: s.x < 6, 1000, "Vacuous", 21),
        (lambda s: kc.implies(s.x == 4, s.y == 1), 1000, "Refuted", 12),
        (lambda s: kc.implies(s.y == 3, s.y == 4), 0, "Unknown", 22),
        (lambda s: kc.implies(s.x == 4, s.x + s.y < 9), 0, "Unknown", 22),
        (lambda s: s.x < 6, 0, "Vacuous", 21),
        (lambda s: kc.implies(s.y == 3, s.y == 4), 2, "Unknown", 22),
        (lambda s: kc.implies(s.x == 1, s.x + s.y < 6), 4, "Holds", 0),
        (lambda s: kc.any_of(kc.negate(s.y == 3), s.y == 4), 1000, "Vacuous", 21),
        (lambda s: s.y == 0, 0, "Holds", 0),
    ],
    ids=["never", "once", "the domains", "refuted", "unasked, never", "unasked, once", "unasked, the domains",
         "cut, never", "cut, once", "a disjunction", "every state"],
)
def test_a_proof_looks_for_what_the_claim_speaks_of(claim: Any, search: int, verdict: str, code: int) -> None:
    """What is inductive holds only if the search of the scope does not call it vacuous."""
    asked = kc.prove(pair(claim), search_states=search)
    assert (type(asked.verdicts["claim"]).__name__, asked.exit_code) == (verdict, code)


@pytest.mark.parametrize("search", [0, 1000])
@pytest.mark.parametrize(("begin", "verdict", "code"), [(0, "Vacuous", 21), (1, "Holds", 0)])
def test_a_claim_about_steps_needs_a_step(begin: int, search: int, verdict: str, code: int) -> None:
    """Where no initial state enables an action no step is taken: a proven claim about steps is vacuous."""
    system = kc.System(
        "pair", "a pair", [Pair(0, begin)],
        [kc.Action("count", lambda s: Pair(kc.choose(s.x == 5, 0, s.x + 1), s.y), lambda s: s.y == 1)],
        Pair(kc.ints(0, 5), kc.ints(0, 1)),
        [kc.step("kept", "the second word stays", lambda t: t.after.y == t.before.y)],
    )  # fmt: skip
    asked = kc.prove(system, search_states=search)
    assert (type(asked.verdicts["kept"]).__name__, asked.exit_code) == (verdict, code)


def test_a_lemma_may_say_what_the_domains_say() -> None:
    """A lemma serves the proof of other claims: it is not vacuous where the domains alone make it true."""
    system = pair(lambda s: kc.implies(s.x == 4, s.x + s.y < 9))
    helped = evolve(system, lemmas=[kc.always("small", "the first word is small", lambda s: s.x < 6)])
    asked = kc.prove(helped, search_states=1000)
    assert {name: type(one).__name__ for name, one in asked.verdicts.items()} == {"claim": "Holds", "small": "Holds"}


NEVER = pair(lambda s: kc.implies(s.y == 3, s.y == 4))
ONCE = pair(lambda s: kc.implies(s.x == 4, s.x + s.y < 9))


@pytest.mark.parametrize("engine", [("--k", "1"), ("--pdr",), ()], ids=["k", "pdr", "induction"])
@pytest.mark.parametrize(
    ("name", "search", "word", "code"),
    [("NEVER", (), "vacuous", 21), ("ONCE", (), "holds", 0), ("ONCE", ("--search", "0"), "unknown", 22)],
    ids=["never", "once", "unasked"],
)
def test_every_proof_needs_a_run(
    engine: tuple[str, ...], name: str, search: tuple[str, ...], word: str, code: int
) -> None:
    """K-induction and Spacer too call nothing proven of which no run satisfies the premise, and say why."""
    asked = kraftcheck("prove", f"{__name__}:{name}", *engine, *search, "--quiet", "--workers", "1", "--json", "-")
    claim = asked.document()["claims"][0]
    assert (claim["verdict"], asked.code) == (word, code)
    if word == "unknown":
        assert claim["detail"] == "proven, but no run shows a state that satisfies its premise (--search 0)"


@frozen
class Marked:
    """The numbers that are marked."""

    marked: kc.IntSet
    both: kc.Truth


def marking(least: int) -> kc.System:
    """Any number of nodes that are marked; the claim speaks of states in which `least` of the first nodes are."""
    def initial(setting: Any) -> Any:
        if setting["nodes"] == kc.ANY:
            return [kc.all_where(lambda s: {"none": s.marked.is_empty(), "not both": kc.negate(s.both)})]
        return [Marked(kc.IntSet(), False)]

    return kc.System(
        name="marking", summary="Nodes are marked.", initial=initial,
        bounds=[kc.Bound("nodes", 2, 4, "number of nodes", takes_any=True)], scopes={"default": {"nodes": 2}},
        layout=lambda setting: Marked(kc.set_below(setting["nodes"]), kc.truth()),
        actions=lambda setting: [
            kc.Action("mark", lambda s, node: evolve(s, marked=s.marked.plus(s.marked.just(node))),
                      lambda s, node: kc.negate(s.marked.has(node)), {"node": kc.numbers_below(setting["nodes"])}),
        ],
        properties=[kc.always("claim", "the claim", lambda s: kc.implies(s.marked.size() >= least, kc.negate(s.both)))],
        lemmas=[kc.always("not-both", "it is never both", lambda s: kc.negate(s.both))], quiescent=lambda s: True,
    )  # fmt: skip


@pytest.mark.parametrize(("least", "verdict"), [(2, "Holds"), (3, "Holds"), (9, "Unknown")])
def test_a_proof_for_any_number_needs_a_run_with_few(least: int, verdict: str) -> None:
    """The fewest nodes show the premise, or one more; where neither does, the verdict is unknown and says how many."""
    asked = kc.prove(marking(least), nodes="any")
    assert type(asked.verdicts["claim"]).__name__ == verdict
    if verdict == "Unknown":
        assert "4 states with nodes 2 have none; 8 states with nodes 3 have none" in str(asked.verdicts["claim"])


RECOVERING = evolve(ONCE, properties=[
    kc.always("zero", "the second word is 0", lambda s: s.y == 0), kc.sometimes("four", "four", lambda s: s.x == 4),
    kc.recovers("again", "the first word is 0 again", lambda s: s.x == 0),
])  # fmt: skip


def test_python_lists_what_proofs_do_not_judge() -> None:
    """The notes of a result name it too."""
    assert any("again (recovers)" in note for note in kc.prove(RECOVERING).summary)


@pytest.mark.parametrize("search", [0, 1000])
def test_a_shipped_claim_is_asked_for_a_run(search: int) -> None:
    """A proven claim of a system that comes with kraftcheck holds only if a run shows a step that it speaks of."""
    claim = "unfenced-candidate-leads"
    asked = kc.prove("elections", properties=[claim], scope="tiny", rules="fixed", search_states=search)
    verdict = asked.verdicts[claim]
    assert (type(verdict).__name__, asked.exit_code) == (("Holds", 0) if search else ("Unknown", 22))


def test_a_shipped_claim_that_a_scope_has_no_step_of_is_vacuous() -> None:
    """Where the whole search of a scope shows none, what comes with kraftcheck is vacuous as what users write is."""
    claim = "new-leader-has-records"
    asked = kc.prove("zk-jbod", properties=[claim], scope="tiny", rules="fixed", disk_failures=0)
    assert (type(asked.verdicts[claim]).__name__, asked.exit_code) == ("Vacuous", 21)
    explored = kc.explore("zk-jbod", scope="tiny", rules="fixed", disk_failures=0)
    assert type(explored.verdicts[claim]).__name__ == "Holds"


@pytest.mark.parametrize(("limit", "verdict", "code"), [(2, "Holds", 0), (7, "Unknown", 22)])
def test_a_bound_beyond_searches_is_searched_with_the_largest(limit: int, verdict: str, code: int) -> None:
    """Where explorers take no such bound, the largest that they take shows what a claim speaks of."""
    system = kc.System(
        "counted", "a counter", lambda _: [Pair(0, 0)],
        lambda setting: [kc.Action("count", lambda s: Pair(s.x + 1, 0), lambda s: s.x < setting["most"])],
        lambda setting: Pair(kc.ints(0, setting["most"]), kc.ints(0, 5)),
        [kc.always("claim", "the claim", lambda s: kc.implies(s.x == limit, s.y == 0))],
        scopes={"small": {"most": 3}}, bounds=(kc.Bound("most", 1, 5, "how far it counts", proven_to=90),),
    )  # fmt: skip
    asked = kc.prove(system, most=80)
    assert (type(asked.verdicts["claim"]).__name__, asked.exit_code) == (verdict, code)


def test_few_participants_show_what_many_would_only_late() -> None:
    """With more participants than few, a search with few is made too; with few there is none besides."""
    many = ProofRequest("elections", "default", {"brokers": 5, "replication": 5}, "fixed").of_few()
    assert many is not None
    assert (many.setting["brokers"], many.setting["replication"]) == (3, 3)
    assert ProofRequest("elections", "default", {"brokers": 3}, "fixed").of_few() is None
    assert ProofRequest("elections", "default", {}, "fixed").of_few() is None
