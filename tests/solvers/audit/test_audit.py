"""The audit: what compiled code says is compared with the rules on ints, whatever the verdict."""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attrs import evolve, frozen
from llvmlite import ir

from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.system import Action, Setting, System
from kraftcheck.model.language.terms import Term
from kraftcheck.model.language.words import Word, all_of, negate
from kraftcheck.properties.kinds import always, happens, sometimes, step
from kraftcheck.solvers.audit.comparison import BlockEngine, NativeEngine, StateComparison
from kraftcheck.solvers.audit.sampling import Sampling
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.blocks.tasks import load_block_kernel
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.machine_code import compile as native
from kraftcheck.solvers.machine_code import lower, objectcode
from kraftcheck.solvers.machine_code.irtools import word
from kraftcheck.solvers.machine_code.objectcode import CompileEffort, ObjectCache
from kraftcheck.solvers.machine_code.transition import KindFunction
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.search.levels import ExpansionRound
from kraftcheck.solvers.search.symmetry import reduced
from tests import toys

LAST = 40
WHOLE = Sampling(states=1000)  # all of the states of the systems here, in all of their action instances


@frozen
class Meter:
    """A number that goes up, and one that is turned."""

    level: Word
    turn: Word


def meter(
    guard: Callable[..., Any] = lambda s, by: s.level < LAST - 3, effect: Callable[..., Any] | None = None,
    claims: Callable[[], list[Any]] = list,
) -> System:  # fmt: skip
    """A meter with an action of each kind: one that is guarded, one that its domain cuts, one that turns."""

    def rise(s: Meter, by: Word) -> Meter:
        return evolve(s, level=s.level + by)

    return System(
        name="meter",
        summary="a level that rises",
        layout=lambda _: Meter(ints(0, LAST), ints(0, 3)),
        initial=lambda _: [Meter(0, 0)],
        actions=lambda _: [
            Action("rise", effect or rise, guard, {"by": range(1, 4)}),
            Action("turn", lambda s, to: evolve(s, turn=to), lambda s, to: negate(s.turn == to), {"to": range(4)}),
            Action("jump", lambda s: evolve(s, level=s.level + 30), lambda s: s.turn == 3),
        ],
        properties=lambda _: claims(),
    )


def explored(system: System, sampling: Sampling | None = None, **options: Any) -> Exploration:
    """The exploration of a system at its default scope, nothing cached."""
    given = {} if sampling is None else {"sampling": sampling}
    return explore(trace(system, system.setting(None)), SearchBudget(**given, **options), clock=time.perf_counter)


def test_right_rules_pass_and_every_transition_is_counted() -> None:
    """The audit of a whole small space compares each of its states and transitions, and finds no difference."""
    found = explored(meter(), WHOLE)
    initial = 1
    assert (found.audit.states, found.audit.transitions) == (found.distinct, found.generated - initial)
    assert found.audit.exhaustive
    assert found.pruned == {"level": 30}


def is_int(value: Any) -> bool:
    """What Python decides on the type of a value."""
    return type(value) == int  # noqa: E721


@pytest.mark.parametrize(
    ("system", "says"),
    [
        (meter(guard=lambda s, by: is_int(s.level)), "rise"),
        (meter(guard=lambda s, by: negate(id(s.level) == id(s.turn))), "rise"),
        (meter(effect=lambda s, by: s if is_int(by) else evolve(s, turn=2)), "rise"),
        (meter(claims=lambda: [always("small", "it is small", lambda s: not is_int(s.level) or s.level < 9)]), "small"),
        (meter(claims=lambda: [sometimes("shows", "it is shown", lambda s: negate(is_int(s.level)))]), "shows"),
        (meter(claims=lambda: [step("up", "it rises", lambda t: not is_int(t.after.level))]), "up"),
        (meter(claims=lambda: [happens("turns", "it turns", lambda t: is_int(t.after.level))]), "turns"),
    ],
    ids=["guard type", "guard id", "effect", "always", "sometimes", "step", "happens"],
)
def test_rules_that_python_decides_on_terms_are_found(system: System, says: str) -> None:
    """A guard, effect or property that is another on terms than on ints ends the exploration, naming it."""
    with pytest.raises(EngineDisagreement, match=says):
        explored(system)


def test_a_rule_that_changes_between_calls_is_found() -> None:
    """An effect that is another after some calls is traced as it was at first, and asked as it is later."""
    calls = [0]

    def rise(s: Meter, by: Word) -> Meter:
        calls[0] += 1
        return evolve(s, turn=min(calls[0] // 4, 3))

    with pytest.raises(EngineDisagreement, match=r"rise.* leads to turn = "):
        explored(meter(effect=rise))


def test_a_system_that_changes_between_calls_is_found() -> None:
    """A system that gives other actions, or other initial states, when asked again is no definition."""
    plain, asked = meter(), [0]

    def fewer(setting: Setting) -> Any:
        asked[0] += 1
        return tuple(plain.actions(setting))[: 4 - asked[0]]

    with pytest.raises(SystemFault, match="actions gave others when asked again"):
        explored(evolve(plain, actions=fewer))
    starts = iter([[Meter(0, 0)], [Meter(1, 0)]])
    with pytest.raises(EngineDisagreement, match="initial state level = 1, turn = 0"):
        explored(evolve(plain, initial=lambda _: next(starts)))


def test_a_rule_that_raises_on_ints_is_a_disagreement() -> None:
    """What raises on ints alone has no traceback of its own: the state is named."""

    def raising(s: Meter, by: Word) -> Any:
        return s.level < LAST - 3 if isinstance(s.level, Term) else s.level.nothing  # type: ignore[attr-defined]

    with pytest.raises(EngineDisagreement, match=r"raise AttributeError: .*; in the state level = \d+, turn = \d"):
        explored(meter(guard=raising))


Operator = Callable[[ir.IRBuilder, Any, Any], Any]


def miscompiled(monkeypatch: pytest.MonkeyPatch, op: str, made: Operator) -> None:
    """Compile an operator as another one."""
    right = lower.lower_operator

    def wrong(b: ir.IRBuilder, term: Term, values: Any) -> Any:
        return made(b, *values) if term.op == op else right(b, term, values)

    monkeypatch.setattr(lower, "lower_operator", wrong)


def at_most(b: ir.IRBuilder, one: Any, other: Any) -> Any:
    """`<=` for `<`."""
    return b.icmp_signed("<=", one, other)


def one_more(b: ir.IRBuilder, one: Any, other: Any) -> Any:
    """A sum that is one too large, modulo 8."""
    return b.and_(b.add(b.add(one, other), word(1)), word(7))


@pytest.mark.parametrize(
    ("op", "made", "claims", "says"),
    [
        ("lt", at_most, list, r"rise\(by=\d\) is not enabled on ints, and is taken"),
        ("add", one_more, list, r"rise\(by=\d\) leads to level = \d+ on ints, and to \d+ by the engine"),
        ("sub", lambda b, one, other: b.add(one, other),
         lambda: [always("odd", "it is odd", lambda s: negate(s.level - 1 == 7))], "odd is (true|false) on ints"),
        ("sub", lambda b, one, other: b.add(one, other),
         lambda: [sometimes("seen", "it is seen", lambda s: s.level - 1 == 7)], "seen is (true|false) on ints"),
        ("sub", lambda b, one, other: b.add(one, other),
         lambda: [step("grows", "it grows", lambda t: negate(t.after.level - t.before.level == 2))],
         r"grows, of rise\(by=\d\), is (true|false) on ints"),
        ("sub", lambda b, one, other: b.add(one, other),
         lambda: [happens("leaps", "it leaps", lambda t: t.after.level - t.before.level == 2)],
         r"leaps, of rise\(by=\d\), is (true|false) on ints"),
    ],
    ids=["guard", "effect", "always", "sometimes", "step", "happens"],
)  # fmt: skip
def test_a_wrong_kernel_is_found(
    op: str, made: Operator, claims: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator that is compiled as another is found where a guard, an effect or a property reads it."""
    system = meter(claims=claims)
    assert explored(system, WHOLE).audit.states > 1
    miscompiled(monkeypatch, op, made)
    with pytest.raises(EngineDisagreement, match=says):
        explored(system, WHOLE)


@pytest.mark.parametrize("change", [-1, 1])
def test_wrong_pruning_is_found(change: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that cuts a transition too many or too few at the end of a domain is found."""

    def outside(self: Any, scope: Any, slot: int) -> Any:
        value = scope.value(self._kind.after[slot])
        return self._b.icmp_unsigned(">", value, word(LAST + change))

    monkeypatch.setattr(KindFunction, "_leaves_domain", outside)
    with pytest.raises(EngineDisagreement, match="jump"):
        explored(meter(), WHOLE)


def test_a_lost_deadlock_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that takes a stuck state for a quiescent one is found."""
    system = evolve(meter(), actions=lambda setting: tuple(meter().actions(setting))[:1])
    assert explored(system).verdict("deadlock").depth == 13
    monkeypatch.setattr("kraftcheck.solvers.machine_code.transition.record_claim", lambda *_: None)
    with pytest.raises(EngineDisagreement, match="has a successor or is quiescent is false on ints, and true"):
        explored(system, WHOLE)


def test_a_lost_state_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that drops candidates is complete by its own account; a successor that it did not visit is named."""
    right, numbers = ExpansionRound.count, itertools.count()

    def losing(self: ExpansionRound) -> Sequence[int]:
        if next(numbers) == 3:  # each level is one round
            for piece in self.pieces:
                piece.counts[:16] = 0
        return right(self)

    monkeypatch.setattr(ExpansionRound, "count", losing)
    with pytest.raises(EngineDisagreement, match="leads to a state that the search did not visit"):
        explored(meter(), WHOLE)


def audit_of(threads: int, sampling: Sampling) -> Any:
    """The audit of a larger toy, its time aside."""
    found = explored(evolve(toys.HASTY, name="hasty"), sampling, threads=threads, keep=False)
    return evolve(found.audit, seconds=0.0)


def test_the_sample_is_a_matter_of_the_seed_alone() -> None:
    """One and two threads audit the same states and instances; another seed others, of the same number of states."""
    alone = audit_of(1, Sampling())
    assert alone == audit_of(2, Sampling())
    other = audit_of(1, Sampling(seed=1))
    assert other.sample != alone.sample
    assert audit_of(1, Sampling(states=20, seed=3)) == audit_of(2, Sampling(states=20, seed=3))
    assert audit_of(1, Sampling(states=20, seed=3)).states == 20


def test_every_action_that_led_to_a_new_state_is_audited() -> None:
    """The default sample has a transition of each action that found a state, however rare that action is."""
    plain = meter(effect=lambda s, by: evolve(s, level=s.level + 1))

    def top_up(s: Meter) -> Meter:
        return evolve(s, level=LAST - 1 if isinstance(s.turn, Term) else LAST)

    def actions(setting: Setting) -> list[Action]:
        rare = Action("rare", top_up, lambda s: all_of(s.level == LAST - 3, s.turn == 2))
        return [*list(plain.actions(setting))[:2], rare]

    with pytest.raises(EngineDisagreement, match=r"rare\(\) leads to level = 40 on ints, and to 39 by the engine"):
        explored(evolve(plain, actions=actions))


def test_reduced_states_are_audited() -> None:
    """With symmetry, successors on ints are compared as the states that stand for them; a wrong one is found."""
    program = reduced(trace(toys.TWO_PHASE, toys.TWO_PHASE.setting("5")))
    found = explore(program, SearchBudget(sampling=Sampling(states=10_000)), clock=time.perf_counter)
    assert found.audit.states == found.distinct
    assert found.audit.transitions == found.generated - 1


def test_both_codes_of_a_long_search_are_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that went over to better code is compared by both: a fault of the first alone is found."""
    monkeypatch.setattr(objectcode, "WORTH", {CompileEffort.MOST: 10})
    assert explored(meter()).audit.states > 1
    made, right = [0], native.load_kernel

    def load(*given: Any, **options: Any) -> Any:
        made[0] += 1
        with pytest.MonkeyPatch.context() as patch:
            if made[0] == 1:
                miscompiled(patch, "lt", at_most)
            return right(*given, **options)

    monkeypatch.setattr(native, "load_kernel", load)
    with pytest.raises(EngineDisagreement, match="rise"):
        explored(meter(), WHOLE)
    assert made == [2]


@pytest.mark.parametrize("system", [meter(), toys.HASTY, toys.VALVE, toys.DIGRAPH])
def test_the_code_of_jobs_notes_what_the_search_notes(system: System) -> None:
    """For each state of a toy, the functions on blocks give the claims, successors, cuts and marks of the search."""
    program = trace(system, system.setting(None))
    native_engine = NativeEngine(native.load_kernel(program))
    blocks = BlockEngine(program, load_block_kernel(block_spec(program, 6, ObjectCache(None))))
    states = list(explore(program, clock=time.perf_counter).states())
    assert [blocks(state) for state in states] == [native_engine(state) for state in states]


def test_wrong_code_of_jobs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in the functions on blocks alone is found, though the search's own code is right."""
    program = trace(meter(), meter().setting(None))
    right = NativeEngine(native.load_kernel(program))
    miscompiled(monkeypatch, "lt", at_most)
    wrong = BlockEngine(program, load_block_kernel(block_spec(program, 6, ObjectCache(None))))
    comparison = StateComparison(program)
    last = program.layout.pack(Meter(LAST - 3, 0))
    assert comparison.state(last, right(last), range(program.instances)) == 3
    with pytest.raises(EngineDisagreement, match="rise"):
        comparison.state(last, wrong(last), range(program.instances))
