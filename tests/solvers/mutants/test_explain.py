"""Mutants of conditions: which are found, what each changes and breaks, as rules changed by hand say too."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.system import Action, Setting, System
from kraftcheck.model.language.terms import Term, Truth, Word
from kraftcheck.model.language.words import (
    BRANCH,
    CONJUNCT,
    DISJUNCT,
    Maybe,
    all_of,
    any_of,
    choose,
    implies,
    none_of,
    pick,
    word,
)
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.mutants import LEFT
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.machine_code.transition import NO_ACTION
from kraftcheck.solvers.mutants import counterexamples
from kraftcheck.solvers.mutants import explore as mutant_recoverability
from kraftcheck.solvers.mutants.counterexamples import Disproof
from kraftcheck.solvers.mutants.explore import (
    BaselineFault,
    GoalLost,
    Killed,
    LeavesDomain,
    MutantExplanation,
    MutantOutcome,
    Survived,
    Undecided,
    explain,
)
from kraftcheck.solvers.mutants.mutate import (
    ALWAYS,
    DROPPED,
    GUARD,
    NEVER,
    Mutant,
    Mutated,
    MutatingGraph,
    Mutations,
    mutate,
)
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted
from kraftcheck.solvers.reference import terms as interpret
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.search.levels import Search
from tests.gates import GATE, LOCK, Gate
from tests.shared.commands import kraftcheck
from tests.shared.explored import values_of
from tests.shared.samples import one_in
from tests.toys import STUCK, TWO_PHASE

ELECTIONS = SYSTEMS["elections"]

FREE = System(
    name="free",
    summary="A counter that one guard keeps small.",
    initial=lambda setting: [0],
    layout=lambda setting: Range(0, 80),
    actions=lambda setting: [
        Action("on", lambda state: choose(state < 10, state + 1, 0)),
        Action("back", lambda state: choose(state < 80, state + 1, 0), lambda state: {"far": state < 5}),
    ],
)
"""11 states; 81 once its guard is dropped."""

BUDGET = SearchBudget(1 << 28, max_states=1_000_000, cache_dir=cache_folder())


def explained(system: System, setting: Setting, **more: Any) -> MutantExplanation:
    """An explanation with the tests' cache."""
    return explain(system, setting, more.pop("budget", BUDGET), **more)


def outcomes(found: MutantExplanation) -> dict[tuple[str, str, str], MutantOutcome]:
    """The outcomes by group, condition and change."""
    return {(m.group.rpartition(":")[2], m.part, m.change): outcome for m, outcome in found.outcomes}


def test_two_phase_commit_is_carried_by_its_checks() -> None:
    """Committing before all are prepared is inconsistent in 3 steps; what carries nothing survives."""
    found = outcomes(explained(TWO_PHASE, TWO_PHASE.setting("3")))
    killed = {(a, b): len(o.steps) for (a, b, _), o in found.items() if isinstance(o, Killed)}
    assert killed == {
        ("TMCommit", "all are prepared"): 3, ("TMCommit", "undecided"): 10, ("TMAbort", "guard"): 10,
        ("TMRcvPrepared", "rm promised"): 6, ("RMChooseToAbort", "guard"): 9,
        ("RMRcvCommitMsg", "commit sent"): 2, ("RMRcvAbortMsg", "abort sent"): 9,
    }  # fmt: skip
    assert {o.by for o in found.values() if isinstance(o, Killed)} == {("consistent",)}
    assert [(a, b) for (a, b, _), o in found.items() if o == Survived("transitions")] == [
        ("TMRcvPrepared", "undecided"), ("TMRcvPrepared", "news"), ("RMPrepare", "guard"), ("RMRcvCommitMsg", "news"),
        ("RMRcvAbortMsg", "news"),
    ]  # fmt: skip


def test_each_kind_of_outcome() -> None:
    """A toy shows each outcome: killed, a domain left, a goal lost, survival with and without effect."""
    found = outcomes(explained(GATE, GATE.setting(None)))
    assert found == {
        ("open", "shut", DROPPED): Survived("transitions"),
        ("shut", "is open", DROPPED): Survived("transitions"),
        ("shut", "nobody is inside", DROPPED): Killed(("empty-when-shut",), ("open()", "enter()", "shut()"), True),
        ("enter", "room", DROPPED): Survived("transitions"),
        ("leave", "someone", DROPPED): Survived("transitions"),
        ("room", "state.open", DROPPED): Killed(("empty-when-shut",), ("enter()",), True),
        ("room", "state.inside < MOST", DROPPED): LeavesDomain(("inside",), ("open()", *["enter()"] * 4), True),
        ("enter", "room(state)", ALWAYS): Survived("none"),
        ("enter", "room(state)", NEVER): GoalLost(("full",)),
        ("leave", "state.inside > 0", ALWAYS): Survived("none"),
        ("leave", "state.inside > 0", NEVER): Survived("transitions"),
    }  # fmt: skip


def test_what_never_heals_is_killed_by_recovers_alone() -> None:
    """A toy without a forbidden state: only `recovers` kills, in the shortest way; no case to heal is a goal lost."""
    found = outcomes(explained(LOCK, LOCK.setting(None)))
    stuck = ("can-open",)
    assert found == {
        ("open", "is shut", DROPPED): Survived("transitions"),
        ("open", "key is outside", DROPPED): Survived("none"),
        ("close", "is open", DROPPED): Survived("transitions"),
        ("put_key", "is open", DROPPED): Killed(stuck, ("close()", "put_key()"), True),
        ("take_key", "is open", DROPPED): Survived("transitions"),
        ("close", "state.key_inside", ALWAYS): GoalLost((), stuck),
        ("close", "state.key_inside", NEVER): Killed(stuck, ("put_key()", "close()"), True),
    }
    told = kraftcheck("explain", "tests.gates:LOCK", "--quiet", "--json", "-").document()
    assert {m["outcome"]: m.get("idle", m.get("by")) for m in told["systems"][0]["mutants"]} == {
        "survives": None, "killed": [*stuck], "goal lost": [*stuck],
    }  # fmt: skip


def test_ints_look_for_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that is said never to heal, but does on ints, is a fault and no verdict."""
    original = mutant_recoverability.graph_findings

    def forged(search: Search, stop: threading.Event) -> Any:
        found = original(search, stop)
        shut = next(n for n, state in identified(search) if search.kernel.program.layout.unpack(state).state.shut)
        way = search.store.run_to(shut)
        return tuple(
            evolve(one, unrecoverable=way) if search.kernel.program.initial != mutated else one for one in found or ()
        )

    mutated = mutate(LOCK, LOCK.setting(None)).program.initial
    monkeypatch.setattr("kraftcheck.solvers.mutants.explore.graph_findings", forged)
    with pytest.raises(EngineDisagreement, match="can-open recovers on ints"):
        explained(LOCK, LOCK.setting(None))


def identified(search: Search) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The states of a search with their ids."""
    for shard, part in enumerate(search.store.shards):
        for index, row in enumerate(part.states[: part.count].tolist()):
            yield index * SHARDS + shard, tuple(row)


def without(system: System, action: str, part: str) -> System:
    """The system with a guard's conjunct taken out by hand."""

    def change(one: Action) -> Action:
        def guard(state: Any, **arguments: Any) -> Any:
            return {name: truth for name, truth in one.guards(state, arguments).items() if name != part}

        return evolve(one, guard=guard) if one.name == action else one

    return evolve(system, actions=lambda setting: [change(one) for one in system.actions(setting)])


def by_hand(system: System, setting: Setting) -> dict[str, int]:
    """What an exploration of a system refutes first, with the length of the trace; `recovers` only if nothing else."""
    result = explore(
        trace(system, setting), SearchBudget(cache_dir=cache_folder(), keep=False), clock=time.perf_counter
    )
    refuted = [v for v in result.verdicts if isinstance(v.verdict, Refuted)]
    asked = [v for v in refuted if v.kind != "recovers"] or refuted
    found = {v.claim: v.depth or 0 for v in asked}
    return {claim: depth for claim, depth in found.items() if depth == min(found.values())}


def agree(outcome: MutantOutcome, wanted: dict[str, int]) -> None:
    """A mutant breaks exactly what another exploration refutes first."""
    got = {claim: len(outcome.steps) for claim in outcome.by} if isinstance(outcome, Killed) else {}
    assert got == wanted


def test_guards_dropped_by_hand_break_the_same() -> None:
    """For every second guard of two-phase commit, the system without it is refuted alike."""
    setting = TWO_PHASE.setting("3")
    for mutant, outcome in explained(TWO_PHASE, setting).outcomes[::2]:
        agree(outcome, by_hand(without(TWO_PHASE, mutant.group, mutant.part), setting))


VARIANTS = {
    "fixed+completion-keeps-removing":
        ("kraftcheck.model.partition.change:_completed", "choose(done, removing.none(), removing)", NEVER),
    "fixed+no-bump-on-replica-removal":
        ("kraftcheck.model.partition.change:bump_on_removal", "change.leader.set_when(removed, p.leader)", NEVER),
    "fixed+recovering-isr-may-grow": ("alter_partition", "a RECOVERING partition has one member", DROPPED),
}  # fmt: skip
"""Rule variants that are mutants too: rule set to group, call and change."""


@pytest.fixture(scope="module")
def elections() -> MutantExplanation:
    """The mutants of `elections` that are rule variants too."""
    setting = ELECTIONS.setting("tiny", rules=parse("fixed"))
    wanted = set(VARIANTS.values())
    return explained(ELECTIONS, setting, leave=LEFT, selected=lambda _, m: (m.group, m.call, m.change) in wanted)


@pytest.mark.parametrize("rules", one_in(3, VARIANTS))
def test_variants_and_mutants_break_the_same(elections: MutantExplanation, rules: str) -> None:
    """Where a rule set leaves out what a mutant drops, both are refuted alike: one traced on its own, one mutated."""
    wanted = by_hand(ELECTIONS, ELECTIONS.setting("tiny", rules=parse(rules)))
    assert wanted
    [outcome] = [o for m, o in elections.outcomes if (m.group, m.call, m.change) == VARIANTS[rules]]
    agree(outcome, wanted)


def test_mutant_zero_is_the_system(elections: MutantExplanation) -> None:
    """Without a mutant at work the kernel of all mutants counts what the system's own kernel counts."""
    plain = explore(
        trace(ELECTIONS, ELECTIONS.setting("tiny", rules=parse("fixed"))),
        SearchBudget(cache_dir=cache_folder()),
        clock=time.perf_counter,
    )
    assert (elections.base.distinct, elections.base.generated) == (plain.distinct, plain.generated)
    assert dict(zip((k.action.name for k in elections.mutations.program.kinds), elections.base.fired,
                    strict=True)) == dict(plain.fired)  # fmt: skip
    assert elections.refuted == ()


def test_results_do_not_depend_on_threads() -> None:
    """Several mutants at a time give what one at a time gives."""
    setting = TWO_PHASE.setting("3")
    assert explained(TWO_PHASE, setting, budget=evolve(BUDGET, threads=3)).outcomes == explained(
        TWO_PHASE, setting).outcomes  # fmt: skip


def test_a_cut_search_is_no_survival() -> None:
    """A mutant with more states than the limit is undecided, unless it was killed before; so is all after a stop."""
    setting = FREE.setting(None)
    found = outcomes(explained(FREE, setting, budget=evolve(BUDGET, max_states=40)))
    assert isinstance(found["back", "far", DROPPED], Undecided)
    assert outcomes(explained(FREE, setting))["back", "far", DROPPED] == Survived("states")
    setting = TWO_PHASE.setting("3")
    stop = threading.Event()

    def note(done: int, of: int, what: str) -> None:
        if done == 2:
            stop.set()

    stopped = explained(TWO_PHASE, setting, stop=stop, progress=note)
    words = [type(outcome) for _, outcome in stopped.outcomes]
    assert words.count(Undecided) == len(words) - 2


def test_a_base_that_is_cut_is_refused() -> None:
    """Where the rules as they are exceed the limit nothing is said of mutants."""
    with pytest.raises(BaselineFault, match="state limit 100"):
        explained(TWO_PHASE, TWO_PHASE.setting("3"), budget=evolve(BUDGET, max_states=100))


def test_what_is_broken_anyway_is_no_evidence() -> None:
    """A claim that the rules as they are refute kills no mutant."""
    found = explained(STUCK, STUCK.setting(None))
    assert found.refuted == ("deadlock",)
    assert not any(isinstance(outcome, Killed) for _, outcome in found.outcomes)


def test_an_unconfirmed_counterexample_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A counterexample that ints deny raises, it is not reported."""
    original = counterexamples.disproof

    def forged(search: Search, mutations: Mutations, mutant: Mutant, number: int) -> Disproof:
        innocent = next(identity for identity in range(1, 99) if search.store.shards[identity % SHARDS].count)
        search.claims[number] = innocent % SHARDS << 16 | NO_ACTION
        return original(search, mutations, mutant, number)

    monkeypatch.setattr("kraftcheck.solvers.mutants.explore.disproof", forged)
    with pytest.raises(EngineDisagreement):
        explained(TWO_PHASE, TWO_PHASE.setting("3"))


def rule(a: Truth, b: Truth, n: Word) -> list[Any]:
    """Each way to decide, once."""
    field = Maybe(a, 1)
    return [
        choose(a, 1, 2), all_of(a, b), any_of(a, b), implies(a, b), none_of(a, b), word(b),
        field.or_else(7), field.set_when(b, 3).value, field.clear_when(b).present,
        pick((4, 5), n, 6), all_of(*(n == place for place in range(2))),
    ]  # fmt: skip


def traced() -> tuple[MutatingGraph, list[Any]]:
    """The rule on a mutating graph: variables mutant, a, b, n."""
    graph = MutatingGraph()
    mutant = graph.variable("mutant", 0, 99)
    a, b, n = graph.truth_variable("a"), graph.truth_variable("b"), graph.variable("n", 0, 2)
    with graph.within("act", mutant):
        return graph, rule(a, b, n)


def test_every_way_to_decide_is_found_once() -> None:
    """Branches, conjuncts and disjuncts of a rule are told as written; lookups and collections are none."""
    graph, _ = traced()
    assert [(m.kind, m.part, m.call, m.change) for m in graph.mutants] == [
        (BRANCH, "a", "choose(a, 1, 2)", ALWAYS),
        (BRANCH, "a", "choose(a, 1, 2)", NEVER),
        (CONJUNCT, "a", "all_of(a, b)", DROPPED),
        (CONJUNCT, "b", "all_of(a, b)", DROPPED),
        (DISJUNCT, "a", "any_of(a, b)", DROPPED),
        (DISJUNCT, "b", "any_of(a, b)", DROPPED),
        (DISJUNCT, "a", "implies(a, b)", DROPPED),
        (DISJUNCT, "b", "implies(a, b)", DROPPED),
        (DISJUNCT, "a", "none_of(a, b)", DROPPED),
        (DISJUNCT, "b", "none_of(a, b)", DROPPED),
        (BRANCH, "b", "word(b)", ALWAYS),
        (BRANCH, "b", "word(b)", NEVER),
        (BRANCH, "field is present", "field.or_else(7)", ALWAYS),
        (BRANCH, "field is present", "field.or_else(7)", NEVER),
        (BRANCH, "b", "field.set_when(b, 3)", ALWAYS),
        (BRANCH, "b", "field.set_when(b, 3)", NEVER),
        (BRANCH, "b", "field.clear_when(b)", ALWAYS),
        (BRANCH, "b", "field.clear_when(b)", NEVER),
    ]
    assert {m.group for m in graph.mutants} == {"tests.solvers.mutants.test_explain:rule"}


@pytest.mark.parametrize(("a", "b"), [(False, False), (False, True), (True, False), (True, True)])
def test_each_mutant_changes_one_answer(a: bool, b: bool) -> None:
    """On ints a mutant gives what the rule gives with that condition dropped, and changes no other answer."""
    graph, answers = traced()

    def told(number: int) -> list[int]:
        found = values_of(graph, [number, a, b, 0])
        return [int(found[x.index]) if isinstance(x, Term) else int(x) for x in answers]

    right = [int(x) for x in rule(a, b, 0)]
    assert told(0) == right
    wrong = {
        1: (0, 1), 2: (0, 2), 3: (1, b), 4: (1, a), 5: (2, b), 6: (2, a), 7: (3, b), 8: (3, not a),
        9: (4, not b), 10: (4, not a), 11: (5, 1), 12: (5, 0), 13: (6, 1), 14: (6, 7), 15: (7, 3), 16: (7, 1),
        17: (8, 0), 18: (8, a),
    }  # fmt: skip
    assert sorted(wrong) == [m.number for m in graph.mutants]
    for number, (place, answer) in wrong.items():
        assert told(number) == [*right[:place], int(answer), *right[place + 1 :]], graph.mutants[number - 1]


def test_a_condition_is_one_mutation_in_all_actions() -> None:
    """A rule that guard and effect share is mutated in both at once; guards belong to their action."""
    mutations = mutate(GATE, GATE.setting(None))
    shared = [m for m in mutations.mutants if m.group == "tests.gates:room"]
    assert [(m.part, mutations.actions_of[m.number]) for m in shared] == [
        ("state.open", ("enter",)),
        ("state.inside < MOST", ("enter",)),
    ]
    kind = next(k for k in mutations.program.kinds if k.action.name == "enter")
    guarded, full = kind.guard["room"], mutations.program.layout.pack(Mutated(Gate(3, True), shared[1].number))
    variables = dict(zip((v.index for v in mutations.program.state),
                         mutations.program.layout.split(full), strict=True))  # fmt: skip
    assert interpret.evaluated([guarded], variables)[guarded.index] == 1
    assert interpret.successor(mutations.program, kind.first, tuple(variables.values()))[0] == 4
    assert [(m.group, m.part) for m in mutations.mutants if m.kind == GUARD] == [
        ("open", "shut"), ("shut", "is open"), ("shut", "nobody is inside"), ("enter", "room"), ("leave", "someone"),
    ]  # fmt: skip


def test_what_is_left_is_not_mutated() -> None:
    """A module, a function, or a class with its methods can be left as it is."""
    setting = GATE.setting(None)
    assert {m.group for m in mutate(GATE, setting, ("tests.gates:room",)).mutants} >= {"tests.gates:enter", "shut"}
    for left in (("tests.gates:room",), ("tests.gates",)):
        assert "tests.gates:room" not in {m.group for m in mutate(GATE, setting, left).mutants}
    assert {m.kind for m in mutate(GATE, setting, ("tests.gates",)).mutants} == {GUARD}


def settings() -> list[tuple[System, Setting]]:
    """Systems to mutate."""
    shipped = [(s, s.setting("tiny", rules=parse("fixed"))) for s in SYSTEMS.values() if "tiny" in s.scopes]
    return [(GATE, GATE.setting(None)), (TWO_PHASE, TWO_PHASE.setting(None)), *shipped]


@pytest.mark.parametrize(("system", "setting"), settings(), ids=lambda x: getattr(x, "name", ""))
def test_mutants_are_numbered_by_identity(system: System, setting: Setting) -> None:
    """No two mutants have one key, numbers are dense, and properties read no mutant's number."""
    mutations = mutate(system, setting)
    assert len({m.key for m in mutations.mutants}) == len(mutations.mutants)
    assert [m.number for m in mutations.mutants] == list(range(1, len(mutations.mutants) + 1))
    program, plain = mutations.program, trace(system, setting)
    claims = (*program.always_terms, *program.sometimes_terms, program.quiescent)
    assert program.state[-1].index not in {term.index for term in closure(claims)}
    assert [k.action.name for k in program.kinds] == [k.action.name for k in plain.kinds]
    assert [list(k.guard) for k in program.kinds] == [list(k.guard) for k in plain.kinds]


def test_mutants_do_not_run_on_ints() -> None:
    """The wrapped rules refuse ints, instead of running unmutated."""
    program = mutate(GATE, GATE.setting(None)).program
    action, arguments = program.instance(0)
    with pytest.raises(TypeError, match="does not run on ints"):
        action.guards(Mutated(Gate(0, False), 1), arguments)


def test_initial_states_name_the_mutant() -> None:
    """The program of a mutant starts in the system's initial states with its number, and shares the graph."""
    mutations = mutate(TWO_PHASE, TWO_PHASE.setting(None))
    third = mutations.of(3)
    states = [third.layout.unpack(words) for words in third.initial]
    assert [(s.state, s.mutant) for s in states] == [(s, 3) for s in TWO_PHASE.initial(mutations.program.setting)]
    assert evolve(third, initial=mutations.program.initial) == mutations.program
