"""`kraftcheck prove`: exit codes, refusals, smallest counterexamples, and claims that say nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.ci.prove.question import run_proof, search_evidence
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.questions import run, search_budget
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.exploration.explore import Exploration
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Refuted, Unknown
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.verdicts import NOT_DECIDED, UNREACHABLE, ClaimJudgement, judge
from tests.shared.any_number import ABORTED, COMMITTED, TWO_PHASE
from tests.shared.commands import kraftcheck
from tests.toys import Place

TINY = ("prove", "elections", "--scope", "tiny", "--quiet", "--workers", "1")


def test_a_defect_is_refuted_with_its_shortest_trace() -> None:
    """Under the snapshot's rules a reachable counterexample refutes the property, with the explorer's trace."""
    ran = kraftcheck(*TINY, "--rules", "kafka-4.0", "--property", "leader-active", "--json", "-")
    told = ran.document()
    assert told["exit_code"] == ran.code == 12
    (claim,) = [one for one in told["claims"] if one["id"] == "leader-active"]
    assert (claim["verdict"], claim["depth"]) == ("refuted", 1)
    assert {query["result"] for query in claim["queries"]} == {"proven", "not inductive"}
    assert (told["command"], told["engine"], told["complete"]) == ("prove", "z3", True)


def test_without_a_search_nothing_is_refuted() -> None:
    """With --search 0 a counterexample stays undecided, and the exit code is that of unknown."""
    ran = kraftcheck(*TINY, "--rules", "kafka-4.0", "--property", "leader-active", "--search", "0")
    assert ran.code == 22
    assert "counterexample to induction, not decided (--search 0)" in ran.text
    assert "some state" in ran.out


def test_out_of_time_is_unknown() -> None:
    """A query without time is no proof: exit 22."""
    ran = kraftcheck("prove", "elections", "--brokers", "5", "--replication", "5", "--rules", "fixed", "--quiet",
                     "--workers", "1", "--property", "elr-empty-at-min-isr", "--timeout", "0.001")  # fmt: skip
    assert ran.code == 22
    assert "no answer: " in ran.text


@pytest.mark.parametrize(
    ("claim", "flags", "code", "says"),
    [
        ("isr-elr-disjoint", ("--k", "1"), 0, "holds"),
        ("leader-active", ("--k", "2"), 22, "not 2-inductive: a run of 2 steps from some state"),
        ("isr-elr-disjoint", ("--pdr",), 0, "Spacer's strengthening of isr-elr-disjoint, checked to be inductive:"),
        ("isr-elr-disjoint", ("--pdr", "--timeout", "0.001"), 22, "unknown"),
        ("isr-elr-disjoint", ("--bmc", "2"), 20, "no counterexample of at most 2 steps"),
    ],
)
def test_without_lemmas(claim: str, flags: tuple[str, ...], code: int, says: str) -> None:
    """K-induction, Spacer and bounded checking say what they found; what is not proven is no pass."""
    ran = kraftcheck(*TINY, "--rules", "fixed", "--property", claim, *flags)
    assert (ran.code, ran.err) == (code, "")
    assert says in ran.text
    assert ran.last.endswith(f"(exit {code})")


def test_a_claim_of_steps_is_vacuous_where_none_is_taken(tmp_path: Path) -> None:
    """Where no initial state enables an action, k-induction says no more of a claim of steps than induction does."""
    (tmp_path / "stuck.py").write_text(
        "from attrs import frozen\nimport kraftcheck as kc\n@frozen\nclass Count:\n    value: int\n"
        "down = kc.Action('down', lambda s: s, lambda s: s.value < 0)\n"
        "SYSTEM = kc.System(name='stuck', summary='stays', layout=Count(kc.ints(0, 3)), initial=[Count(0)],\n"
        "    actions=[down], properties=[kc.step('falls', 'falls', lambda t: t.after.value < 0)],\n"
        "    quiescent=lambda s: True)\n"
    )
    for flags in ((), ("--k", "2")):
        ran = kraftcheck("prove", f"{tmp_path}/stuck.py:SYSTEM", "--quiet", "--workers", "1", *flags)
        assert (ran.code, "vacuous" in ran.out) == (21, True), ran.text


def test_workers_prove_the_system_that_was_asked_about(tmp_path: Path) -> None:
    """A module that builds another system in a worker process gets no verdict from it."""
    (tmp_path / "twofaced.py").write_text(
        "import multiprocessing\nfrom attrs import evolve, frozen\nimport kraftcheck as kc\n"
        "LAST = 3 if multiprocessing.parent_process() is None else 1\n"
        "@frozen\nclass Count:\n    value: int\n"
        "up = kc.Action('up', lambda s: evolve(s, value=s.value + 1), lambda s: s.value < LAST)\n"
        "SYSTEM = kc.System(name='twofaced', summary='counts', layout=Count(kc.ints(0, 3)), initial=[Count(0)],\n"
        "    actions=[up], properties=[kc.always('low', 'at most 1', lambda s: s.value <= 1)],\n"
        "    quiescent=lambda s: True)\n"
    )
    line = ("prove", f"{tmp_path}/twofaced.py:SYSTEM", "--search", "0", "--quiet")
    assert "a worker process made another system" in kraftcheck(*line, "--workers", "2").refusal()
    assert kraftcheck(*line, "--workers", "1").code == 22


BUDGET = search_budget(1, 1 << 30, keep=True)


def few_abort(most: int, once_committed: bool) -> kc.System:
    """Two-phase commit with the claim that so many abort at most: always, or once a commit is decided."""

    def claim(state: Any) -> Any:
        few = state.aborted.size() <= most
        return kc.implies(state.decision == COMMITTED, few) if once_committed else few

    return evolve(
        TWO_PHASE,
        properties=lambda _: [kc.always("few-abort", "few abort", claim)],
        lemmas=lambda setting: [one for one in TWO_PHASE.lemmas(setting) if one.id == "committed-by-decision"],
    )


def judged(system: kc.System, most: int = 5_000_000) -> tuple[Proof, ClaimJudgement]:
    """The proof for any number of managers, and what it finds of the first claim."""
    request = ProofRequest(system, None, {"managers": ANY}, None)
    proof = run_proof(request, Effort(timeout=30), (), 1, quiet=True)

    def explore(program: Program, states: int) -> Exploration:
        return run(program, evolve(BUDGET, max_states=states), quiet=True)

    evidence = search_evidence(request, proof, most, explore)
    return proof, judge(proof, evidence)[0]


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_what_is_not_inductive_is_shown_with_the_fewest(most: int) -> None:
    """The step takes one manager more than the claim allows, two at least, and begins where what is proven holds."""
    proof, found = judged(few_abort(most, once_committed=True))
    assert isinstance(found.verdict.verdict, Unknown)
    assert "not proven for any number: give_up" in found.verdict.verdict.reason
    cti = found.counterexample
    assert cti is not None
    assert (cti.numbers, cti.reach) == (f"managers {max(2, most + 1)}", UNREACHABLE)
    (step,) = cti.step.steps
    assert (step.action, step.state.aborted.size()) == ("give_up", most + 1)
    assert proof.assumed() == ["committed-by-decision"]
    assert proof.theory.claim("committed-by-decision").holds(cti.step.initial)


def test_few_assume_what_is_proven() -> None:
    """Lemmas exclude that who aborts meets who has committed; so the step that breaks the claim takes a fourth one."""

    def claim(state: Any) -> Any:
        few = kc.implies(state.decision == ABORTED, state.aborted.size() <= 3)
        return kc.all_of(kc.any_of(state.aborted.is_empty(), state.committed.is_empty()), few)

    system = evolve(TWO_PHASE, properties=lambda _: [kc.always("both", "consistent, and few abort", claim)])
    proof, found = judged(system, most=0)
    assert "abort" in [answer.obligation.action for answer in proof.failures("both")]
    assert found.counterexample is not None
    assert found.counterexample.numbers == "managers 4"


def test_what_four_refute_is_refuted() -> None:
    """A number that has a counterexample is explored: a claim that two and three managers keep, and four do not."""
    _, found = judged(few_abort(3, once_committed=False))
    assert isinstance(found.verdict.verdict, Refuted)
    assert len(found.verdict.verdict.trace.steps) == 4
    assert found.counterexample is not None
    assert found.counterexample.reach == "reachable"


def test_without_a_counterexample_there_is_none() -> None:
    """A claim that five managers keep stays unknown, with the steps that are not proven."""
    _, found = judged(few_abort(5, once_committed=True))
    assert isinstance(found.verdict.verdict, Unknown)
    assert found.verdict.verdict.reason.startswith("no answer: give_up")
    assert found.counterexample is None


def test_what_is_not_looked_up_is_not_decided() -> None:
    """Without a search, or with one that was cut, the counterexample is shown and not called unreachable."""
    for most, reason in ((0, "--search 0"), (2, "state limit 2")):
        _, found = judged(few_abort(0, once_committed=True), most)
        assert found.counterexample is not None
        assert found.counterexample.reach == NOT_DECIDED
        assert reason in found.counterexample.where


def test_the_command_prints_the_step() -> None:
    """`kraftcheck prove` shows the numbers, the state and the step; a rule that is not proven ends with exit 22."""
    ran = kraftcheck("prove", "tests.shared.any_number:UNSUPPORTED", "--managers", "any", "--quiet", "--workers", "1")
    assert ran.code == 22
    assert "consistent: counterexample to induction with managers 2, unreachable (not among all 56 states" in ran.text
    assert "aborted: {} -> {" in ran.text
    assert "to exclude the state add a lemma: `lemmas=` of the system" in ran.text
    assert "--pdr" not in ran.text


STRIDES = kc.System(
    name="strides", summary="a step of two, from 0 to 6 and back",
    layout=Place(kc.ints(0, 7)), initial=[Place(0)],
    actions=[kc.Action("stride", lambda s: Place(kc.choose(s.node >= 6, s.node - 6, s.node + 2)))],
    properties=[kc.always("never-5", "five is never reached", lambda s: s.node != 5)],
)  # fmt: skip


def test_what_is_not_inductive_has_a_next_step() -> None:
    """Beside the state that nothing reaches `prove` names what excludes it: with `--pdr` the claim holds."""
    line = ("prove", f"{__name__}:STRIDES", "--quiet")
    ran = kraftcheck(*line, "--workers", "1")
    assert ran.code == 22
    assert "; or let --pdr search one" in ran.text
    assert kraftcheck(*line, "--pdr").code == 0


FOUR = evolve(
    TWO_PHASE, bounds=[kc.Bound("managers", 4, 5, "number of resource managers", takes_any=True)],
    scopes={"default": {"managers": 4}},
)  # fmt: skip


def test_the_least_may_be_more_than_few() -> None:
    """A system that takes no fewer than four is asked about four, and proven for any number."""
    words = ("prove", "tests.ci.prove.test_cli_prove:FOUR", "--managers", "any", "--quiet", "--workers", "1")
    assert kraftcheck(*words, "--search", "10000").code == 0


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
    ids=[
        "never",
        "once",
        "the domains",
        "refuted",
        "unasked, never",
        "unasked, once",
        "unasked, the domains",
        "cut, never",
        "cut, once",
        "a disjunction",
        "every state",
    ],
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


LIES = {
    "low": kc.always("low", "the hand is low", lambda s: s.hand <= 0),
    "late": kc.always("late", "the hand is not at the end", lambda s: s.hand != 3),
    "idle": kc.always("idle", "the hand is a number", lambda s: s.hand >= 0),
}
"""A lemma that a step refutes, one that is true and does not follow from itself, and one that is proven."""


@frozen
class Hand:
    """A hand."""

    hand: kc.Word


def lying(*lemmas: str) -> kc.System:
    """A hand that goes to and fro between 0 and 1; from 2 it would go on to 4."""
    return kc.System(
        "lying", "a hand", layout=Hand(kc.ints(0, 4)), initial=[Hand(0)],
        actions=[kc.Action("tick", lambda s: Hand(kc.choose(s.hand == 0, 1, kc.choose(s.hand == 2, 3, kc.choose(
            s.hand == 1, 0, 4)))))],
        properties=[kc.always("ends", "the hand never ends", lambda s: s.hand != 4)],
        lemmas=[LIES[name] for name in lemmas],
    )  # fmt: skip


def test_a_false_lemma_is_named_where_another_claim_is_asked_for() -> None:
    """A refuted lemma, and one that fell with it, are named beside the claim that is not proven; others are not."""
    result = kc.prove(lying("low", "late", "idle"), properties=["ends"])
    assert result.document["refuted_lemmas"] == {"low": 1}
    said = [note for note in str(result).splitlines() if "lemma" in note]
    assert said == ["low, a lemma, is refuted in 1 step, so nothing may rest on it: --property low shows how",
                    "late, a lemma, is not proven: --property late shows why"]  # fmt: skip


def test_lemmas_that_are_asked_for_are_judged() -> None:
    """A lemma that is asked for has a verdict, and no line besides."""
    result = kc.prove(lying("low"), properties=["ends", "low"])
    assert (result.document["refuted_lemmas"], [n for n in str(result).splitlines() if "a lemma" in n]) == ({}, [])
    assert type(result.verdict("low")) is kc.Refuted
