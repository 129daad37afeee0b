"""Provers and bounds: no step that leaves a domain is left out unsaid, and logs without end mean what others do."""

import functools
import itertools
import threading
import time
from collections.abc import Callable, Container, Iterator
from typing import Any

import pytest
import z3
from attrs import evolve, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

import kraftcheck as kc
from kraftcheck.ci.prove import command
from kraftcheck.ci.prove.command import check_endless
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import Range, endless, filled, ints
from kraftcheck.model.language.sequences import Sequence, every, first_place, last_place
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import Action, Property, Setting, System
from kraftcheck.model.language.terms import Graph, Term, Word
from kraftcheck.model.language.words import all_of, any_of, choose
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.replication.endless import EndlessLog
from kraftcheck.model.systems.replication.log import VACANT, Log
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.kinds import always
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted, Unknown, Verdict
from kraftcheck.solvers.smt.induction import obligations, prove
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Effort, Obligation, Questions, new_solver
from kraftcheck.solvers.smt.reading.z3_endless import NOT_SHOWN, EndlessEngine
from kraftcheck.solvers.smt.runs.bounded import check_bounded, check_inductive
from kraftcheck.solvers.smt.smtlib import ActionQueries, second_answer
from kraftcheck.solvers.smt.spacer import Horn, capped, domain_obligations, infer
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.verdicts import SearchEvidence, judge
from kraftcheck.solvers.smt.worker import SolverSession
from kraftcheck.solvers.smt.z3terms import Z3Reader
from tests.shared.capped import CAPPED, DRAINED, LOW, UNCAPPED, WIDER, WITHIN, tank
from tests.shared.commands import kraftcheck
from tests.shared.samples import one_in
from tests.solvers.smt.asking import premises_of

EFFORT = Effort(timeout=60)
CLAIMS = ("below-six", "no-leap")
MEND = "widen it, or declare its cap"

JUMPS = tank("jumps", Range(0, 5), 2)  # by even levels, it leaves its domain from 4


def theory_of(system: System) -> Theory:
    """A system traced for provers."""
    return theory(system, system.setting())


def bmc(system: System, depth: int) -> dict[str, Verdict]:
    """Bounded model checking."""
    return check_bounded(theory_of(system), CLAIMS, depth, EFFORT, threading.Event())


def inductive(system: System, k: int) -> dict[str, Verdict]:
    """k-induction."""
    return check_inductive(theory_of(system), CLAIMS, k, EFFORT, threading.Event())


def proven(system: System) -> dict[str, Verdict]:
    """Induction, without a search; that a claim says what the domains say is not asked."""
    whole = theory_of(system)
    asked = evolve(whole, program=evolve(whole.program, premises={}))
    proof = prove(lambda: asked, effort=EFFORT, clock=time.monotonic)
    return {one.verdict.claim: one.verdict.verdict for one in judge(proof, SearchEvidence())}


def test_bounded_runs_end_where_a_domain_is_left() -> None:
    """Nothing is said of runs that are longer than the way to the fault; until there, and under a cap, it is."""
    found = bmc(UNCAPPED, 9)
    told = f"no counterexample of at most 5 steps; level may leave its domain in step 6: {MEND}"
    assert found == dict.fromkeys(CLAIMS, Incomplete(told))
    assert bmc(UNCAPPED, 5) == dict.fromkeys(CLAIMS, Incomplete("no counterexample of at most 5 steps"))
    assert bmc(CAPPED, 9) == dict.fromkeys(CLAIMS, Incomplete("no counterexample of at most 9 steps"))
    assert bmc(WITHIN, 9) == dict.fromkeys(CLAIMS, Incomplete("no counterexample of at most 9 steps"))


class Undecided:
    """A solver that gives up some of the questions of a run, and must not be asked again then."""

    def __init__(self, right: Any, asked: Iterator[int], given_up: Container[int]) -> None:
        self._right, self._asked, self._given_up, self._over = right, asked, given_up, False
        self.add, self.push, self.pop = right.add, right.push, right.pop

    def check(self) -> Any:
        """The answer of the right one, unless this question is given up."""
        assert not self._over, "asked again"
        self._over = next(self._asked) in self._given_up
        return z3.unknown if self._over else self._right.check()

    def reason_unknown(self) -> str:
        """Why."""
        return "given up"


@pytest.mark.parametrize(
    ("given_up", "told"),
    [
        ([], "no counterexample of at most 1 steps"),
        ([1], "no counterexample of at most 1 steps"),
        ([1, 2], f"no counterexample of at most 0 steps; level may leave its domain in step 1: {MEND}"),
    ],
)
def test_a_domain_that_z3_gives_up_may_be_left(given_up: list[int], told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Z3 gave up, of all fields and then of one, counts as left, and another solver is asked what comes next."""
    asked = itertools.count()
    place = "kraftcheck.solvers.smt.runs.bounded.new_solver"
    monkeypatch.setattr(place, lambda *given: Undecided(new_solver(*given), asked, given_up))
    found = check_bounded(theory_of(WITHIN), ["below-six"], 1, EFFORT, threading.Event())
    assert found == {"below-six": Incomplete(told)}


def test_bounded_runs_find_what_is_behind_the_bound_once_there_is_room() -> None:
    """With room for 6 the run of six steps is a counterexample."""
    found = bmc(WIDER, 9)
    lengths = [len(one.trace.steps) for one in found.values() if isinstance(one, Refuted)]
    assert lengths == [6, 6]


def test_a_cap_does_not_declare_the_lower_bound_to_provers() -> None:
    """Below the domain a step is a fault in the first step, whatever the cap says."""
    for system in (LOW, DRAINED):
        (told,) = {one.cut for one in bmc(system, 4).values() if isinstance(one, Incomplete)}
        assert told == f"no counterexample of at most 0 steps; level may leave its domain in step 1: {MEND}"
        assert {type(one) for one in inductive(system, 2).values()} == {Incomplete}
        assert {type(one) for one in proven(system).values()} == {Incomplete}


def test_k_induction_shows_the_domains_as_well() -> None:
    """Within reach a fault is incomplete, else unknown; a guard proves the domain, and a cap is told."""
    assert {type(one) for one in inductive(UNCAPPED, 7).values()} == {Incomplete}
    early = inductive(UNCAPPED, 2)
    assert early == dict.fromkeys(
        CLAIMS, Unknown(f"not 2-inductive: level may leave its domain in step 2 from some state: {MEND}")
    )
    assert inductive(WITHIN, 1) == dict.fromkeys(CLAIMS, Holds("any number of steps, by 1-induction"))
    assert inductive(CAPPED, 1) == dict.fromkeys(
        CLAIMS, Holds("any number of steps, by 1-induction; steps beyond the bound on level are left out")
    )


def test_induction_shows_the_domains_as_well() -> None:
    """Where a step may leave the domain nothing is proven; under a cap it is, and the bound is named."""
    assert proven(UNCAPPED) == dict.fromkeys(CLAIMS, Incomplete(f"level may leave its domain: {MEND}"))
    assert proven(CAPPED) == dict.fromkeys(
        CLAIMS, Holds("any number of steps of capped; steps beyond the bound on level are left out")
    )
    assert proven(WITHIN) == dict.fromkeys(CLAIMS, Holds("any number of steps of within"))


def test_spacer_shows_the_domains_as_well() -> None:
    """Spacer infers nothing where a step leaves a domain, and holds under a cap and with a guard."""
    kinds = [type(infer(theory_of(system), "below-six", EFFORT).verdict) for system in (UNCAPPED, LOW, CAPPED, WITHIN)]
    assert kinds == [Unknown, Unknown, Holds, Holds]


@pytest.mark.parametrize("cap", ["", "it is looked at up to three"])
def test_a_level_that_its_bits_let_begin_anew_leaves_its_domain(cap: str) -> None:
    """A fourth level of two bits is 0 for Spacer, whose strengthening is confirmed only where a cap declares it."""
    claim = Property("known", "always", "O.", lambda state: any_of(state.level != 1, state.level < 2))
    wraps = evolve(tank("wraps", Range(0, 3, cap=cap), 1), properties=lambda _: [claim])
    assert Horn(theory_of(wraps), "known").confirms(z3.BoolVal(True), EFFORT) is bool(cap)


def test_a_lemma_can_prove_the_domain() -> None:
    """A domain that only an invariant keeps is proven with it: even levels up to 4 leave no step out."""
    kept = evolve(
        JUMPS,
        actions=lambda setting: [
            evolve(action, guard=lambda state: state.level != 4) for action in JUMPS.actions(setting)
        ],
        lemmas=lambda setting: [
            Property("even", "always", "The level is even.", lambda state: state.level & 1 == 0)
        ],
    )  # fmt: skip
    assert {type(one) for one in proven(JUMPS).values()} == {Incomplete}
    assert {type(one) for one in proven(kept).values()} == {Holds}


@frozen
class Pair:
    """A level with a cap, a level without, and whether the second has left its domain."""

    capped: Word
    other: Word
    left: Word


LEAK = System(
    name="leak", summary="One level rises beyond its cap, and beside it the other one doubles.",
    layout=lambda setting: Pair(Range(0, 3, cap="it is looked at up to three"), Range(0, 1), Range(0, 1)),
    initial=lambda setting: [Pair(0, 0, 0)],
    actions=lambda setting: [
        Action("fill", lambda s: Pair(s.capped, 1, s.left)),
        Action("rise", lambda s: Pair(s.capped + 1, s.other * 2, choose(s.other * 2 > 1, 1, s.left))),
    ],
    properties=lambda setting: [
        Property("empty", "always", "The other level is 0: until it is filled.", lambda s: s.other == 0),
        Property("kept", "always", "It has not left its domain.", lambda s: s.left == 0),
    ],
)  # fmt: skip


def test_fields_are_shown_to_stay_once_more_when_an_invariant_falls() -> None:
    """A field that only a fallen invariant kept within its domain is told, beside one that left its cap before."""
    proof = prove(lambda: theory_of(LEAK), effort=EFFORT, clock=time.monotonic)
    assert (proof.unproven, proof.rounds) == (("empty",), 2)
    assert (proof.bounded(), proof.faults()) == (["capped", "other"], ["other"])
    assert not proof.proven("kept")


def test_a_cap_is_told_that_only_a_fallen_invariant_kept() -> None:
    """A proof that leaves steps out does not say that it leaves out none, though these seemed impossible at first."""
    low = Property("low", "always", "It is low.", lambda s: s.capped <= 2)
    properties = [low, *LEAK.properties(LEAK.setting())[1:]]
    rise = Action("rise", lambda s: Pair(s.capped + 1, s.other, s.left))
    rising = evolve(LEAK, actions=lambda setting: [rise], properties=lambda setting: properties)
    proof = prove(lambda: theory_of(rising), effort=EFFORT, clock=time.monotonic)
    assert (proof.unproven, proof.proven("kept"), proof.bounded()) == (("low",), True, ["capped"])


@pytest.mark.parametrize(
    ("system", "faults", "caps"), [(UNCAPPED, ["level"], 0), (CAPPED, [], 1), (DRAINED, ["level"], 1)]
)
def test_each_side_of_a_domain_is_a_fault_or_a_cap(system: System, faults: list[str], caps: int) -> None:
    """What no cap declares is to be shown; what one declares is named as left out."""
    program = theory_of(system).program
    assert sorted({path for kind in program.kinds for path in domain_obligations(program, kind)}) == faults
    assert len(capped(program)) == caps


@frozen
class Three:
    """A capped field, one without a cap, and one that is wrong where that is left."""

    a: Word
    b: Word
    c: Word


BESIDE_A_CAP = kc.System(
    name="beside", summary="Fields that leave their domains.", initial=[Three(0, 0, 0)],
    layout=Three(kc.ints(0, 3, cap="a few"), kc.ints(0, 5), kc.ints(0, 100)),
    actions=[
        kc.Action("up", lambda s: Three(choose(s.b == 0, s.a + 1, s.a), s.b + 1, choose(s.b + 1 > 5, 50, 0))),
        kc.Action("reset", lambda s: Three(s.a, 0, s.c), lambda s: s.b > 0),
    ],
    properties=[kc.always("small", "c is small", lambda s: s.c <= 5),
                kc.always("below", "b is not yet at its end", lambda s: (s.b - 5) * (s.b - 5) >= 1)],
)  # fmt: skip
"""Where a false invariant would keep a field in its domain, beside one that leaves its own by a cap."""


def test_a_domain_beside_a_cap_rests_on_what_is_proven() -> None:
    """No field stays in its domain by an invariant that nobody has asked for, and that does not hold."""
    subject = theory_of(BESIDE_A_CAP)
    for only in ((), ("small",)):
        proof = prove(lambda: subject, effort=EFFORT, clock=time.monotonic, only=only)
        assert (proof.proven("small"), proof.faults(), proof.bounded()) == (False, ["b"], ["a", "b"])


def test_a_second_solver_is_asked_of_domains(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim holds by a second solver only if that decides also that no field leaves its domain."""
    pytest.importorskip("cvc5")
    words = ("prove", "tests.ci.prove.test_certificates:LOCK", "--second-solver", "cvc5", "--quiet", "--workers", "1")
    assert kraftcheck(*words).code == 0
    monkeypatch.setattr(command, "_undecided", lambda *_: {"domains": "take"})
    ran = kraftcheck(*words, "-v")
    assert (ran.code, "cvc5 has no answer: domains, take" in " ".join(ran.text.split())) == (22, True)


@pytest.mark.parametrize("engine", [("--k", "1"), ("--pdr",), ("--bmc", "1")], ids=lambda engine: engine[0])
@pytest.mark.parametrize(("name", "fields"), [("CAPPED", ["level"]), ("WIDER", [])])
def test_what_a_cap_leaves_out_is_in_the_document(name: str, fields: list[str], engine: tuple[str, ...]) -> None:
    """Each engine names the fields beyond whose cap steps are left out, as it does on screen."""
    ran = kraftcheck("prove", f"tests.shared.capped:{name}", "--quiet", "--json", "-", *engine)
    assert ran.document()["bounded_by"] == fields
    assert [f"steps beyond the bound on {field} are left out" in ran.err for field in fields] == [True] * len(fields)


REPLICATION = SYSTEMS["replication"]
PATIENCE = Effort(timeout=120)
ROOM = 4  # entries of the bounded logs that are compared with endless ones

SAMPLE = {
    "fetch": ("consistent-reads", "logs-match", "watermark-within-log", "watermark-monotone"),
    "apply_metadata": ("leader-complete", "candidates-complete"),
    "crash": ("acknowledged-survives", "lemma-log-matching"),
}
BROKEN = one_in(2, [
    ("truncate-to-high-watermark", "apply_metadata", "leader-complete"),
    ("kip101-epoch-lookup", "fetch", "logs-match"),
    ("watermark-may-fall", "fetch", "watermark-monotone"),
])  # fmt: skip


def unbounded(rules: str) -> Setting:
    """Replication with logs without bound."""
    return REPLICATION.setting("tiny", {"unbounded": 1}, parse(rules), proof=True)


@functools.cache
def subject(rules: str = "fixed") -> Theory:
    """The theory of replication with logs without bound."""
    return theory(REPLICATION, unbounded(rules))


def session(of: Theory, action: str) -> SolverSession:
    """A session about an action that may assume every invariant."""
    questions = Questions(of)
    premises = questions.premises(action, [claim.id for claim in of.invariants])
    return SolverSession(questions, premises, PATIENCE, time.monotonic)


@pytest.mark.parametrize("action", SAMPLE)
def test_a_sample_is_proven_without_bound_on_offsets(action: str) -> None:
    """Claims about what fetches, crashes and metadata do hold for any number of records."""
    asked = session(subject(), action)
    for claim in SAMPLE[action]:
        assert asked.ask(Obligation(claim, action)).result == PROVEN, claim


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken[0])
def test_a_variant_breaks_the_proof(broken: tuple[str, str, str]) -> None:
    """What is proven of the right rules is not of those with a defect, and no state is claimed to show it."""
    variant, action, claim = broken
    assert claim in SAMPLE[action]
    found = session(subject(f"fixed+{variant}"), action).ask(Obligation(claim, action))
    assert (found.result, found.reason, found.counterexample) == (UNDECIDED, NOT_SHOWN, None)


@pytest.mark.parametrize("action", one_in(10, [action.name for action in REPLICATION.actions(unbounded("fixed"))]))
def test_premises_do_not_refute_themselves(action: str) -> None:
    """From what the proofs about an action assume, false does not follow."""
    engine = session(subject(), action)._engine
    assert isinstance(engine, EndlessEngine)
    assert engine.refute([subject().program.graph.constant(False)]).result == UNDECIDED


@frozen
class Rows:
    """Two endless sequences, and a number between them."""

    low: Any
    n: Any
    high: Any


def each(row: Any, first: int, rest: int) -> Any:
    """That a sequence has one word at place 0, and another at all others."""
    return every(row.graph, lambda at: row.at(at) == choose(at == 0, first, rest))


@pytest.mark.parametrize("numbers", [(0,), (0, 1)])
def test_what_an_initial_state_is_filled_with_is_known(numbers: tuple[int, ...]) -> None:
    """Of each sequence, in one initial state or in more: what it has at its first place and at all others."""
    claims = {"low": lambda s: each(s.low, 3, 5), "high": lambda s: each(s.high, 2, 2), "n": lambda s: s.n < 2,
              "other": lambda s: each(s.low, 3, 3), "first": lambda s: each(s.high, 4, 2)}  # fmt: skip
    system = System(
        name="rows", summary="Rows.", layout=Rows(endless(0, 7), ints(0, 3), endless(0, 7)),
        initial=[Rows(filled(3, 5), n, filled(2, 2)) for n in numbers], actions=[Action("stay", lambda s: s)],
        properties=[always(name, name, claim) for name, claim in claims.items()],
    )  # fmt: skip
    of = theory(system, system.setting(None, {}, proof=True))
    found = prove(lambda: of, effort=Effort(timeout=10), clock=time.monotonic)
    assert {name for name in claims if found.proven(name)} == {"low", "high", "n"}


def test_other_solvers_read_the_queries() -> None:
    """Z3 and cvc5 refute a query about endless logs from its text, and do not without its denial."""
    of, asked = subject(), Obligation("watermark-within-log", "fetch")
    names = [claim.id for claim in of.invariants]
    text = ActionQueries(of, "fetch", True, names, PATIENCE, time.monotonic).text(asked)
    assert [second_answer(solver, text, PATIENCE) for solver in ("z3", "cvc5")] == ["unsat", "unsat"]
    open_text = "\n".join(line for line in text.splitlines() if ":named |denial " not in line)
    assert second_answer("z3", open_text, PATIENCE) == "sat"


def said(entries: tuple[int, ...], other: tuple[int, ...], goal: Callable[[Any, Any], Any]) -> bool:
    """Whether Z3 proves a goal of two endless logs that hold these entries."""
    graph = Graph()
    names = [Sequence.of_state(graph, name, VACANT, 7) for name in ("one", "two")]
    logs = [EndlessLog(s, sum(e > VACANT for e in held)) for s, held in zip(names, (entries, other), strict=True)]
    holds = {
        f"{name} {place}": graph.lift(sequence.at(place) == entry)
        for name, (sequence, held) in enumerate(zip(names, (entries, other), strict=True))
        for place, entry in enumerate(held) if entry > VACANT
    }  # fmt: skip
    read, terms = Z3Reader(), tuple(sequence.symbol for sequence in names if sequence.symbol is not None)
    given_ = premises_of(read, terms, holds)
    return EndlessEngine(given_, PATIENCE, read, time.monotonic).refute([graph.lift(goal(*logs))]).result == PROVEN


def agrees(entries: tuple[int, ...], other: tuple[int, ...], what: Callable[[Any, Any], Any]) -> None:
    """A word or truth about two logs is the same endless and bounded; and another value is not proven."""
    wanted = what(Log(entries), Log(other))
    assert said(entries, other, lambda a, b: what(a, b) == wanted)
    wrong = (not wanted) if isinstance(wanted, bool) else wanted + 1
    assert not said(entries, other, lambda a, b: what(a, b) == wrong)


def listed(records: list[int]) -> tuple[int, ...]:
    """The entries of a bounded log with these records, in order."""
    return (*sorted(records), *(VACANT,) * (ROOM - len(records)))


records = st.lists(st.integers(1, 3), max_size=ROOM - 1).map(listed)
"""Entries of logs with room for one more record, epochs in order."""

WORDS: dict[str, Callable[[Any, Any, int], Any]] = {
    "end": lambda a, b, n: a.end(),
    "last": lambda a, b, n: a.last(),
    "count_to": lambda a, b, n: a.count_to(n),
    "largest_to": lambda a, b, n: a.largest_to(n),
    "append": lambda a, b, n: a.append(3).agrees(b, n),
    "append, end": lambda a, b, n: a.append(3).last(),
    "truncate": lambda a, b, n: a.truncate(n).end(),
    "truncate, last": lambda a, b, n: a.truncate(n).last(),
    "copy_of": lambda a, b, n: a.copy_of(b).last(),
    "copy_of, end": lambda a, b, n: a.copy_of(b).truncate(n).end(),
    "extended": lambda a, b, n: a.extended(b, b.end(), n > 1).last(),
    "extended, agrees": lambda a, b, n: a.extended(b, b.end(), True).agrees(b, n),
    "agrees": lambda a, b, n: a.agrees(b, n),
    "in_order": lambda a, b, n: a.in_order(True),
    "same_below": lambda a, b, n: a.same_below(b),
    "at": lambda a, b, n: a.at(n - 1 if n else 0),
    "each": lambda a, b, n: all_of(*a.each(lambda offset, entry: entry <= n)),
}


@pytest.mark.parametrize("name", WORDS)
@settings(max_examples=6)
@given(one=records, two=records, number=st.integers(0, ROOM))
def test_endless_logs_mean_what_bounded_ones_do(
    name: str, one: tuple[int, ...], two: tuple[int, ...], number: int
) -> None:
    """On logs in order each operation of an endless log has the value that it has on ints, and no other."""
    agrees(one, two, lambda a, b: WORDS[name](a, b, number))


def test_an_unordered_log_is_told() -> None:
    """A log whose epochs fall is not in order, and one with a gap is not, endless or bounded."""
    agrees((2, 1, 0, 0), (0, 0, 0, 0), lambda a, b: a.in_order(True))
    agrees((2, 1, 0, 0), (0, 0, 0, 0), lambda a, b: a.in_order(False))


@pytest.mark.parametrize("singled_out", [first_place, last_place], ids=lambda singled_out: singled_out.__name__)
def test_no_place_is_singled_out_within_a_claim(singled_out: Callable[..., Any]) -> None:
    """`first_place` and `last_place` of a claim about every place are refused: they would depend on the place."""
    graph = Graph()
    sequence = Sequence.of_state(graph, "one", 0, 7)
    with pytest.raises(UntraceableRule, match=rf"{singled_out.__name__}\(\) of any number within each"):
        every(graph, lambda at: singled_out(graph, lambda b: sequence.at(b) > sequence.at(at), 3) == at)


def test_equal_claims_are_one_term() -> None:
    """A claim about every place is the same term when it is made again, nested or not."""
    graph = Graph()
    sequence = Sequence.of_state(graph, "one", 0, 7)

    def sorted_() -> Any:
        return every(
            graph,
            lambda a: every(graph, lambda b: (sequence.at(a) <= sequence.at(b)) | (b < a)),  # type: ignore[operator]
        )

    made = sorted_()
    assert isinstance(made, Term)
    assert sorted_() is made


@pytest.mark.parametrize("solvers", [("bitwuzla", None), ("z3", "bitwuzla")])
def test_solvers_of_bit_vectors_are_refused(solvers: tuple[str, str | None]) -> None:
    """Bitwuzla is refused, as the first solver and as the second, for it knows no ints."""
    with pytest.raises(Refusal, match="bitwuzla knows bit-vectors only"):
        check_endless(subject(), solvers, bounded_only=False)


def test_the_domains_of_endless_fields_are_shown() -> None:
    """That offsets are not negative is an obligation like others, and proven."""
    of = subject()
    questions = Questions(of)
    (asked,) = [one for one in obligations(of, ["domains"]) if one.action == "crash"]
    goals = questions.bounds_of("crash")
    assert any(name.endswith("log.length") for name in goals)
    premises = questions.premises("crash", [claim.id for claim in of.invariants], within=False)
    assert SolverSession(questions, premises, PATIENCE, time.monotonic).ask(asked).result == PROVEN
