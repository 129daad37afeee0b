"""What is proven of any number is of each: a system whose rules differ between `any` and numbers is refused."""

import contextvars
import types
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.symbolic import NumberError
from kraftcheck.model.language.system import ANY


@frozen
class Some:
    """A set, a word for each, and who is on."""

    chosen: Any
    level: Any
    on: kc.Word


def nobody(s: Some) -> dict[str, Any]:
    """Nobody is anywhere."""
    level = kc.each(kc.keys(s.level), lambda k: kc.get(s.level, k) == 0)
    return {"chosen": s.chosen.is_empty(), "level": level, "on": s.on < 0}


def listed(b: Any) -> list[Any]:
    """The state in which nobody is anywhere."""
    return [Some(kc.IntSet(), (0,) * b["n"], -1)]


def initial(b: Any) -> list[Any]:
    """Where it is any, as a description."""
    return [kc.all_where(nobody)] if b["n"] == ANY else listed(b)


def choosing(b: Any, more: Callable[[Any], Any] = lambda b: True, effect: Any = None) -> list[kc.Action]:
    """An action that chooses one of those who are on, with a further condition."""
    put = effect or (lambda s, who: s.chosen.plus(s.chosen.just(who)))
    return [
        kc.Action("choose", lambda s, who: evolve(s, chosen=put(s, who)), lambda s, who: {
            "on": s.on == who, "more": more(b)}, {"who": kc.numbers_below(b["n"])}),
        kc.Action("stay", lambda s: s),
    ]  # fmt: skip


def system(**parts: Any) -> kc.System:
    """Nobody is ever on, so that nobody is chosen."""
    given = {
        "name": "some", "summary": "A set of any number.", "initial": initial, "actions": choosing,
        "bounds": [kc.Bound("n", 2, 7, "n", takes_any=True)], "scopes": {"default": {"n": 2}},
        "layout": lambda b: Some(kc.set_below(b["n"]), kc.map_below(b["n"], kc.ints(0, 1)), kc.word_below(b["n"], -1)),
        "properties": [kc.always("none", "nobody is chosen", lambda s: s.chosen.is_empty())],
        "lemmas": [kc.always("off", "nobody is on", lambda s: s.on < 0)],
    }  # fmt: skip
    return kc.System(**{**given, **parts})


def prove(made: kc.System) -> str:
    """The verdict on the one claim, for any number."""
    (row,) = kc.prove(made, search_states=0, cache=False, n="any").rows
    return row.verdict


def test_what_is_of_each_number_is_proven() -> None:
    """The system itself holds."""
    assert kc.prove(system(), cache=False, n="any").exit_code == 0


ASKS: dict[str, Callable[[Any], Any]] = {
    "equal": lambda n: n == ANY,
    "other": lambda n: n != ANY,
    "a number": lambda n: n == 5,
    "int": int,
    "repr": repr,
    "member": lambda n: n in (ANY, 3),
    "key": lambda n: {ANY: 1}.get(n),
    "text": lambda n: f"{n}",
    "bits": lambda n: n & 1,
    "number": lambda n: f"{n:d}",
    "range": range,
    "size": lambda n: len("x" * n),
    "more": lambda n: n >= 5,
    "words": lambda n: kc.equal(n, 5),
    "smaller": lambda n: kc.minimum(n, 5),
    "kept": lambda n: n.bit_length(),
    "eval": lambda n: eval("n == 5", {"n": n}),
    "named": lambda n: eval(compile("n == 5", kc.__file__, "eval"), {"n": n, "__name__": "kraftcheck.ci.main"}),
}


@pytest.mark.parametrize("ask", ASKS)
def test_a_bound_that_is_any_is_not_told_from_a_number(ask: str) -> None:
    """Whatever Python can ask of it is refused, in a rule and where the parts of a system are made."""
    bounds = system().setting(None, {"n": ANY}, proof=True)
    told = [] if ask in ("equal", "other", "member", "key") else [evolve(bounds, told=True)["n"]]
    for asked in (bounds["n"], bounds.bounds["n"], *told):
        with pytest.raises((NumberError, TypeError, AttributeError)):
            ASKS[ask](asked)


@pytest.mark.parametrize("part", ["guard", "actions", "properties", "layout"])
def test_a_part_that_compares_a_bound_with_any_is_refused_with_its_line(part: str) -> None:
    """Only `initial` may, which describes the states of any number."""
    unlike = {
        "guard": {"actions": lambda b: choosing(b, lambda b: b["n"] == ANY)},
        "actions": {"actions": lambda b: choosing(b)[b["n"] == ANY:]},
        "properties": {"properties": lambda b: system().properties(b)[b["n"] == 9:]},
        "layout": {"layout": lambda b: system().layout(b) if b["n"] == ANY else None},
    }[part]  # fmt: skip
    with pytest.raises(Refusal, match=r"test_numbers\.py:\d+: the bound n is any, and a rule counts with it"):
        prove(system(**unlike))


HIDDEN = contextvars.ContextVar("HIDDEN", default=lambda s: isinstance(s.level, tuple))


class Proxy:
    """What decides by itself."""

    def __init__(self, of: Any) -> None:
        self.of = of

    def __bool__(self) -> bool:
        return issubclass(type(self.of), tuple)


def nine_at_most(s: Some) -> dict[str, Any]:
    """Nobody is anywhere, and there are at most nine."""
    return {**nobody(s), "few": kc.each(kc.keys(s.level), lambda k: k < 9)}


DIFFERENT: dict[str, dict[str, Any]] = {
    "a beginning of at most nine": {"initial": lambda b: [kc.all_where(nine_at_most)] if b["n"] == ANY else listed(b)},
    "a beginning without fifty-seven": {"initial": lambda b: [kc.all_where(lambda s: {
        **nobody(s), "other": kc.count(kc.keys(s.level), lambda k: True) != 57})] if b["n"] == ANY else listed(b)},
    "a described beginning of at most nine": {"initial": lambda b: [
        kc.all_where(nine_at_most if b["n"] == ANY else nobody)]},
    "an initial state more": {"initial": lambda b: initial(b) if b["n"] == ANY else [
        *listed(b), Some(kc.IntSet.of((1,)), (0,) * b["n"], -1)]},
    "an initial state of five": {"initial": lambda b: initial(b) if b["n"] == ANY or b["n"] != 5 else [
        *listed(b), Some(kc.IntSet.of((4,)), (0,) * b["n"], -1)]},
    "a class": {"actions": lambda b: choosing(b, effect=lambda s, who: (
        s.chosen.just(who) if isinstance(s.level, tuple) else s.chosen))},
    "a class, and the same": {"actions": lambda b: choosing(b, effect=lambda s, who: (
        s.chosen if isinstance(s.level, tuple) else s.chosen.plus(s.chosen)))},
    "a class by eval": {"actions": lambda b: choosing(b, effect=eval(
        "lambda s, who: s.chosen.just(who) if 'tuple' in str(type(s.level)) else s.chosen", {}))},
    "a variable": {"actions": lambda b: choosing(b, effect=lambda s, who: (
        s.chosen.just(who) if HIDDEN.get()(s) else s.chosen))},
    "a proxy": {"actions": lambda b: choosing(b, effect=lambda s, who: (
        s.chosen.just(who) if Proxy(s.level) else s.chosen))},
    "many places": {"actions": lambda b: choosing(b, effect=lambda s, who: (
        s.chosen.just(who) if getattr(s.level, "__len__", lambda: 0)() > 90 else s.chosen))},
    "an error": {"actions": lambda b: [*choosing(b), *_unless_any(b)]},
    "a claim": {"properties": [kc.always("none", "nobody is chosen", lambda s: (
        s.chosen.has(0) if issubclass(type(s.level), tuple) else s.chosen.is_empty()))]},
}  # fmt: skip


def _unless_any(b: Any) -> list[kc.Action]:
    try:
        return [kc.Action("more", lambda s: s, lambda s: False)] * (b["n"] * 0 + 1)
    except NumberError:
        return []


@pytest.mark.parametrize("name", DIFFERENT)
def test_rules_that_differ_with_few_are_refused(name: str) -> None:
    """What Python says of a map or of a state with few is not what it says with any number: no proof is of it."""
    with pytest.raises(Refusal, match=r"on ints|of each|for any number|only|was asked for __len__|may tell any number"):
        prove(system(**DIFFERENT[name]))


def test_a_beginning_is_compared_as_far_as_there_are_numbers() -> None:
    """Where a number has very many initial states, or none can be listed, no larger one is looked at; then it holds."""

    def many(b: Any) -> list[Any]:
        return listed(b) * (1 if b["n"] < 8 else 2000)

    def no_more(b: Any) -> list[Any]:
        return listed(b) * (1 // (b["n"] < 8))

    for of_number in (many, no_more):
        made = system(initial=lambda b, of=of_number: [kc.all_where(nine_at_most)] if b["n"] == ANY else of(b))
        assert kc.prove(made, search_states=0, cache=False, n="any").exit_code == 0


def tank(**parts: Any) -> kc.System:
    """A tank that is filled up to a limit; with `unbounded` there is none."""
    given = {
        "name": "tank", "summary": "A tank.", "initial": lambda b: [(0,)], "scopes": {"default": {"limit": 2}},
        "bounds": [kc.Bound("limit", 1, 30, "room", freed_by="unbounded"), kc.Bound("unbounded", 0, 1, "no limit")],
        "layout": lambda b: (kc.ints(-1, kc.ANY if b["unbounded"] else b["limit"]),),
        "actions": lambda b: [kc.Action("fill", lambda s: (s[0] + 1,), lambda s: kc.any_of(
            b["unbounded"] > 0, s[0] < b["limit"]))],
        "properties": [kc.always("few", "it is never below empty", lambda s: s[0] >= 0)],
    }  # fmt: skip
    return kc.System(**{**given, **parts})


READS: dict[str, dict[str, Any]] = {
    "a guard": {"actions": lambda b: [kc.Action("fill", lambda s: (s[0] + 1,), lambda s: s[0] < b["limit"])]},
    "a guard of the largest": {"actions": lambda b: [
        kc.Action("fill", lambda s: (s[0] + 1,), lambda s: kc.any_of(b["limit"] < 30, s[0] < 2))]},
    "a guard of one value": {"actions": lambda b: [
        kc.Action("fill", lambda s: (s[0] + 1,), lambda s: kc.any_of(b["limit"] != 17, s[0] < 2))]},
    "an effect": {"actions": lambda b: [kc.Action("fill", lambda s: (kc.minimum(s[0] + 1, b["limit"]),))]},
    "an argument": {"actions": lambda b: [
        kc.Action("fill", lambda s, by: (by,), parameters={"by": range(b["limit"] + 1)})]},
    "an action": {"actions": lambda b: tank().actions(b) * (b["limit"] < 5)},
    "a layout": {"layout": lambda b: (kc.ints(0, b["limit"]),)},
    "a beginning": {"initial": lambda b: [(b["limit"],)]},
    "a claim": {"properties": lambda b: [kc.always("few", "it is never full", lambda s: s[0] <= b["limit"])]},
}  # fmt: skip
"""What counts with a bound though it is said to bound nothing."""


@pytest.mark.parametrize("name", READS)
def test_what_counts_with_a_bound_that_is_any_is_refused(name: str) -> None:
    """A bound is not called any where what is proven is of one of its values; with that value it is none."""
    with pytest.raises(Refusal, match=r"limit is any with unbounded, and with limit \d+ the system is not the same"):
        kc.prove(tank(**READS[name]), search_states=0, cache=False, unbounded=1)
    assert kc.prove(tank(**READS[name]), search_states=0, cache=False).rows


def test_a_bound_that_is_any_takes_no_more_values_than_are_compared() -> None:
    """Of a bound with more values nobody can tell that the system is the same with each."""
    bounds = [kc.Bound("limit", 1, 101, "room", freed_by="unbounded"), *tank().bounds[1:]]
    with pytest.raises(Refusal, match=r"limit is any with unbounded, and takes 101 values, with .* at most 100"):
        kc.prove(tank(bounds=bounds), search_states=0, cache=False, unbounded=1)
    assert kc.prove(tank(bounds=bounds), search_states=0, cache=False).rows


@pytest.mark.parametrize(("most", "said"), [(11, "with limit 7, more 5 the system is not the same"),
                                            (12, "take 108 values together, with each of .* at most 100")])  # fmt: skip
def test_bounds_that_one_frees_are_compared_together(most: int, said: str) -> None:
    """A rule may be another with one value of each; where these are too many to be asked together, it is refused."""
    bounds = [kc.Bound("limit", 1, 9, "room", freed_by="unbounded"), *tank().bounds[1:],
              kc.Bound("more", 1, most, "beside it", freed_by="unbounded")]  # fmt: skip

    def actions(b: Any) -> list[kc.Action]:
        both = (b["limit"], b["more"]) != (7, 5)
        return [kc.Action("fill", lambda s: (s[0] + 1,), lambda s: kc.any_of(both, s[0] < 2))]

    made = tank(bounds=bounds, actions=actions, scopes={"default": {"limit": 2, "more": 1}})
    with pytest.raises(Refusal, match=said):
        kc.prove(made, search_states=0, cache=False, unbounded=1)


_SIX = False


def test_a_part_that_sets_a_global_is_refused() -> None:
    """Rules that read it are compared with what it is of another number."""

    def layout(b: Any) -> Some:
        global _SIX
        _SIX = {range(6): True}.get(kc.numbers_below(b["n"]), False)
        return system().layout(b)

    made = system(layout=layout, initial=[kc.all_where(lambda s: {**nobody(s), "six": kc.negate(_SIX)})])
    with pytest.raises(
        Refusal, match=r"test_numbers: _SIX is set anew where the system is asked for its parts with n 6"
    ):
        prove(made)


def test_what_counts_with_no_bound_that_is_any_is_proven() -> None:
    """The tank holds with the limit, and without it."""
    assert kc.prove(tank(), cache=False, unbounded=1).exit_code == 0
    assert kc.prove(tank(), cache=False).exit_code == 0


def test_a_described_beginning_of_few_is_that_of_any() -> None:
    """Where both are described by a rule that asks what the state is, the two are not one."""

    def begins(s: Some) -> Any:
        return nobody(s) if isinstance(s.level, tuple) else {**nobody(s), "never": s.on < -1}

    with pytest.raises(Refusal, match="it asks isinstance, and so initial may tell"):
        prove(system(initial=[kc.all_where(begins)]))


def test_a_claim_that_eval_makes_is_one_of_its_authors() -> None:
    """A function without a module is no part of kraftcheck, and one that says it is has none of its names."""
    for names in ({}, {"__name__": "kraftcheck.properties.kinds"}):
        claim = types.FunctionType((lambda s: s.on >= -1).__code__, names)
        made = system(properties=[kc.always("none", "nothing is said", claim)])
        assert kc.explore(made, n=2, cache=False).exit_code == 21
