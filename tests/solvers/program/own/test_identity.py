"""Rules that compare by identity are refused with their line, wherever they are called; others are not."""

import enum
import functools
import operator
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.solvers.audit.traced_sample import check_sample
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.trace import trace


class Vote(kc.Enum):
    """A vote."""

    NO = enum.auto()
    YES = enum.auto()
    ABSENT = enum.auto()


@frozen
class Count:
    """How many votes there are."""

    yes: Any


def _is_yes(vote: Any) -> bool:
    return vote is Vote.YES


class Rules:
    """Rules that keep what they were made with."""

    def counts(self, vote: Any) -> bool:
        """Whether a vote counts."""
        return vote is not Vote.NO


def _more(state: Count, counts: bool) -> Count:
    return Count(kc.choose(counts, kc.minimum(state.yes + 1, 5), state.yes))


def of(effect: Any, **fields: Any) -> kc.System:
    """A system whose only action takes a vote."""
    system = kc.System(
        name="votes", summary="Votes are counted.", layout=Count(kc.ints(0, 5)), initial=[Count(0)],
        actions=[kc.Action("vote", effect, None, {"vote": tuple(Vote)})],
        properties=[kc.always("none", "nobody votes yes", lambda state: state.yes == 0)],
    )  # fmt: skip
    return evolve(system, **fields)


def right(state: Count, vote: Any, other: Any = None) -> Count:
    """A rule that compares values."""
    return _more(state, vote == Vote.YES) if other is None else state


THREE, RULES = Count(3), Rules()

TABLE = {"by table": lambda state, vote: _more(state, vote is Vote.YES)}

WRONG = {
    "in the effect": of(lambda state, vote: _more(state, vote is Vote.YES)),
    "in a function that it calls": of(lambda state, vote: _more(state, _is_yes(vote))),
    "in a method": of(lambda state, vote: _more(state, RULES.counts(vote))),
    "in a table": of(lambda state, vote: TABLE["by table"](state, vote)),
    "behind a partial": of(functools.partial(lambda counts, state, vote: _more(state, counts(vote)), _is_yes)),
    "in a property": of(right, properties=lambda _: [
        kc.always("none", "nobody votes yes", lambda state: state.yes is not THREE)]),
    "in a description": of(right, initial=lambda _: [
        kc.all_where(lambda state: kc.any_of(state.yes == 0, state.yes is THREE))]),
    "of two classes": of(lambda state, vote: _more(state, type(state) is Count)),
    "of another object": of(lambda state, vote: _more(state, vote is state)),
}  # fmt: skip


@pytest.mark.parametrize("free", [False, True], ids=["explorers", "provers"])
@pytest.mark.parametrize("where", WRONG)
def test_a_comparison_by_identity_is_refused(where: str, free: bool) -> None:
    """A rule that runs, and compares by identity with anything but None, is named by its line and the mend."""
    with pytest.raises(UntraceableRule, match=r"test_identity\.py:\d+: `.* is .*` asks .* with =="):
        check_sample(trace(WRONG[where], WRONG[where].setting(), free=free))


def never(state: Count, vote: Any) -> Count:
    """A rule that is not called."""
    return _more(state, vote is Vote.YES)


def test_a_comparison_that_no_rule_makes_is_nothing() -> None:
    """`is None`, and what does not run while a system is traced, are no fault."""
    named = functools.partial(lambda other, state, vote: right(state, vote), never)
    for system in (of(right), of(named), of(lambda state, vote: never(state, vote) if vote is None else state)):
        traced = trace(system, system.setting())
        check_sample(traced)
        assert len(traced.kinds) == 1


@pytest.mark.parametrize("asked", [
    lambda vote: getattr(vote, "name", "") == "YES", lambda vote: hasattr(vote, "_value_"),
], ids=["name", "value"])  # fmt: skip
def test_what_only_a_member_has_is_refused(asked: Any) -> None:
    """A word says of itself neither the name nor the value of a member, though the rule has an answer ready."""
    system = of(lambda state, vote: _more(state, asked(vote)))
    with pytest.raises(UntraceableRule, match=r"test_identity\.py:\d+: a symbolic word was asked for _?(name|value_)"):
        trace(system, system.setting())


@pytest.mark.parametrize("free", [False, True], ids=["explorers", "provers"])
def test_a_sample_asks_every_value(free: bool) -> None:
    """A rule that decides silently on a value that is neither the first nor the last is found by the sample."""
    system = of(lambda state, vote: _more(state, operator.is_(vote, Vote.YES)))
    with pytest.raises(SystemFault, match=r"action vote, effect on .* says 1 on ints and 0 when traced"):
        check_sample(trace(system, system.setting(), free=free))
