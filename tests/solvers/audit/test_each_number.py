"""A system that knows whether a bound is any, or that is another for a number that no proof looks at, is refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, field, frozen

import kraftcheck as kc
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.anynumber import Family, numbers
from kraftcheck.model.language.system import ANY, Bound
from tests.shared.commands import kraftcheck


@frozen
class Desk:
    """A mark for each guest, and who is asked."""

    marks: Any
    at: kc.Word


Known = Callable[[kc.Setting], bool]  # whether a bound is any, by a way that is not refused where it is asked, or is


def _is_in_no_table(b: kc.Setting) -> bool:
    return {range(n): False for n in range(99)}.get(kc.numbers_below(b["n"]), True)


def _is_range(values: Any) -> bool:
    match values:
        case range():
            return False
    return True


KNOWS: dict[str, Known] = {
    "values": lambda b: b.values()["n"] is None,
    "text": lambda b: "any" in b.text(),
    "as initial is asked": lambda b: b.for_initial()["n"] == ANY,
    "evolved": lambda b: evolve(b, told=True)["n"] == ANY,
    "class": lambda b: type(b["n"]).__name__ != "int",
    "instance": lambda b: not isinstance(b["n"], int),
    "attribute": lambda b: not hasattr(b["n"], "real"),
    "default": lambda b: getattr(b["n"], "numerator", None) == None,  # noqa: E711
    "arguments": lambda b: not isinstance(kc.numbers_below(b["n"]), range),
    "set": lambda b: not isinstance(kc.set_below(b["n"]), kc.IntSet),
    "map": lambda b: not isinstance(kc.map_below(b["n"], kc.ints(0, 1)), tuple),
    "word": lambda b: hasattr(kc.word_below(b["n"]), "below"),
    "case": lambda b: _is_range(kc.numbers_below(b["n"])),
    "freed": lambda b: "m" in b.freed,
    "table": _is_in_no_table,
}
"""What only numbers from 9 on would show: no branch is taken, and the fewest are the same."""


def nobody(s: Desk) -> kc.Truth:
    """Nobody is marked."""
    return kc.each(kc.keys(s.marks), lambda k: kc.get(s.marks, k) == 0)


def initial(b: Any, odd: tuple[int, ...] = ()) -> list[Any]:
    """The first is asked; of some numbers the ninth may be."""
    if b["n"] == ANY:
        return [kc.all_where(lambda s: {"first": s.at == 0, "nobody": nobody(s)})]
    return [Desk((0,) * b["n"], at) for at in (0, 8)[: 1 + (b["n"] in odd)]]


def desk(
    guard: Known, effect: Known, claim: Known, argument: Known, domain: Known, step: Known, **parts: Any
) -> kc.System:
    """Everybody is asked in turn; some parts know something of the bounds."""

    def actions(b: kc.Setting) -> list[kc.Action]:
        stops, skips, least = int(guard(b)), int(effect(b)), 9 * argument(b)
        return [kc.Action(
            "ask", lambda s, x: evolve(s, at=kc.choose(kc.all_of(x == 8, skips == 1), 0, x)),
            lambda s, x: kc.negate(kc.all_of(x == 8, stops == 1)),
            {"x": kc.numbers_below(b["n"], least)})]  # fmt: skip

    def properties(b: kc.Setting) -> list[kc.Property]:
        said, stays = int(claim(b)), int(step(b))
        return [kc.always("claim", "the ninth is not asked", lambda s: kc.any_of(s.at != 8, said == 1)),
                kc.step("next", "nor after a step", lambda t: kc.any_of(t.after.at != 8, stays == 1))]  # fmt: skip

    given = {
        "name": "desk", "summary": "Guests are asked.", "initial": initial, "actions": actions,
        "bounds": [kc.Bound("n", 2, 12, "guests", takes_any=True)], "scopes": {"default": {"n": 2}},
        "layout": lambda b: Desk(kc.map_below(b["n"], kc.ints(0, 1)),
                                 kc.ints(0, 40 - 33 * domain(b), cap="the desk is long")),
        "properties": properties, "quiescent": lambda s: True,
    }  # fmt: skip
    return kc.System(**{**given, **parts})


def no(_: kc.Setting) -> bool:
    """Nothing is known."""
    return False


HONEST = dict.fromkeys(("guard", "effect", "claim", "argument", "domain", "step"), no)


def verdicts(made: kc.System, **bounds: int | str) -> str:
    """What is said of any number."""
    return " ".join(row.verdict for row in kc.prove(made, search_states=0, cache=False, **{"n": "any", **bounds}).rows)


def refused(made: kc.System, why: str) -> bool:
    """Whether a proof of any number is refused in a line, though a search with nine refutes what is claimed."""
    assert kc.explore(made, n=9, cache=False, threads=1).refuted
    with pytest.raises(Refusal, match=why) as said:
        verdicts(made)
    return "\n" not in str(said.value)


@pytest.mark.parametrize("way", KNOWS)
def test_a_guard_that_knows_whether_a_bound_is_any_is_refused(way: str) -> None:
    """Where it asks for that, with its line; and however else it knows, since the guard of a number is another one."""
    why = r"guard is another with n 2"
    if way in ("values", "text", "as initial is asked"):
        why = r"test_each_number\.py:\d+: .* may ask which bounds are; give setting"
    elif way == "freed":
        why = r"test_each_number\.py:\d+: it asks freed, and so actions may tell any number from a number"
    assert refused(desk(**{**HONEST, "guard": KNOWS[way]}), why)


@pytest.mark.parametrize("part", HONEST)
def test_a_part_that_knows_whether_a_bound_is_any_is_refused(part: str) -> None:
    """Whatever is made by it is of any number what it is of each, or what is proven is of none."""
    known = _is_in_no_table
    if part in ("claim", "step"):  # of a number it is true, and a search with nine refutes the other one
        made = desk(**{**HONEST, "claim": no if part == "claim" else lambda b: True, part: known})
        assert refused(made, rf"property {'claim' if part == 'claim' else 'next'} is another with n 2")
        return
    says = {"argument": "argument x of action ask", "domain": "the domain of at"}.get(part, f"action ask, {part}")
    assert refused(desk(**{**HONEST, part: known}), rf"{says} is another with n 2")


STATES: dict[str, Callable[[Desk], bool]] = {
    "class": lambda s: type(s.marks).__name__ != "tuple",
    "instance": lambda s: not isinstance(s.marks, tuple),
    "member": lambda s: hasattr(s.marks, "number"),
    "default": lambda s: getattr(s.marks, "number", None) is not None,
    "text of a class": lambda s: s.marks.__doc__[:8] != "Built-in",
    "size": lambda s: s.marks.__sizeof__() < 16,
    "alias": lambda s: (lambda ask: ask(s.marks, "number", None))(getattr) is not None,
}
"""Whether a bound is any, as the state tells it."""


@pytest.mark.parametrize("way", STATES)
def test_a_rule_that_knows_it_by_the_state_is_refused(way: str) -> None:
    """What asks of what class a collection is has its line named, in a function that a rule calls too."""

    def claim(s: Desk) -> kc.Truth:
        return kc.any_of(s.at != 8, int(STATES[way](s)) == 1)

    made = desk(**HONEST, properties=[kc.always("claim", "the ninth is not asked", claim)])
    assert refused(made, r"test_each_number\.py:\d+: it asks \w+, and so property claim may tell any number from a")


def test_a_rule_that_asks_a_library_is_refused() -> None:
    """It may ask anything of a value there; the function is named."""
    claim = kc.always(
        "claim", "it is short", lambda s: kc.any_of(s.at != 8, len(json.dumps(s.marks, default=id)) < 9999)
    )
    assert refused(desk(**HONEST, properties=[claim, kc.always("ninth", "it is not asked", lambda s: s.at != 8)]),
                   r"json/__init__\.py: its dumps is called, and so property claim may tell any number")  # fmt: skip


def test_what_a_step_claims_of_initial_states_is_compared() -> None:
    """It may ask of no class, and is by no name what another claim is."""
    step = kc.step("next", "all is well", lambda t: t.after.at >= 0)
    asks = evolve(step, initially=lambda s: kc.any_of(s.at != 8, int(isinstance(s.marks, tuple)) == 0))
    claims = [asks, kc.always("ninth", "the ninth is not asked", lambda s: s.at != 8)]
    assert refused(desk(**HONEST, properties=claims), r"it asks isinstance, and so property next at the start may tell")
    named = [evolve(step, initially=lambda s: s.at == 0), evolve(step, id="next at the start"), claims[1]]
    assert refused(desk(**HONEST, properties=named), "two rules are called 'property next at the start'; rename")


@frozen
class Ninth(Desk):
    """A desk of nine."""


def test_a_state_of_another_class_is_refused() -> None:
    """A class may hold what no field does."""
    layout = {"layout": lambda b: (Ninth if _nine(b) != kc.map_below(b["n"], kc.ints(0, 1)) else Desk)(
        kc.map_below(b["n"], kc.ints(0, 1)), kc.ints(0, 40, cap="the desk is long"))}  # fmt: skip
    begins = kc.all_where(lambda s: kc.all_of(s.at == 0, nobody(s)))
    assert refused(desk(**HONEST, **layout, initial=lambda b: [begins]),
                   "a state with few has Ninth, and one with any number has Desk there")  # fmt: skip


@frozen
class Call:
    """Who is called, and how."""

    who: int
    how: int = field(eq=False)


VALUED: dict[str, tuple[Any, Any]] = {
    "equal and not the same": ([Call(0, 0)], [Call(0, 1)]),
    "of another condition": (Family(Call(kc.ints(0, 5), kc.ints(0, 0)), lambda x: x.who < 3, lambda: [Call(0, 0)]),
                             Family(Call(kc.ints(0, 5), kc.ints(0, 0)), lambda x: x.who < 6, lambda: [Call(5, 0)])),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUED)
def test_values_of_an_argument_are_the_same_in_every_part(name: str) -> None:
    """Fields that equality leaves out are compared, and the conditions of families."""
    whole, nine = VALUED[name]

    def actions(b: kc.Setting) -> list[kc.Action]:
        values = {range(n): nine if n == 9 else whole for n in range(99)}.get(kc.numbers_below(b["n"]), whole)
        return [kc.Action("ask", lambda s, x: evolve(s, at=x.who + x.how), None, {"x": values})]

    with pytest.raises(Refusal, match=r"action ask(, guard)? is another with n 9 than with any number"):
        verdicts(desk(**HONEST, actions=actions))


def test_values_of_two_classes_are_refused() -> None:
    """A rule is traced with one of them, for a number as well."""
    calls = [Desk((0, 0), 0), Ninth((0, 0), 1)]
    action = kc.Action("ask", lambda s, x: evolve(s, at=x.at), None, {"x": calls})
    with pytest.raises(Refusal, match="action ask: argument x gave a Ninth where the first has a Desk; use one class"):
        kc.prove(desk(**HONEST, actions=[action]), n=2, search_states=0, cache=False)


def test_an_action_that_is_added_to_a_shipped_system_is_compared_with_each_number() -> None:
    """So are claims, fields and what these begin with."""

    def added(system: Any, **by_number: Any) -> Any:
        def of(b: kc.Setting, part: str, other: int = 0) -> int:
            return by_number.get(part, other) if range(3) == kc.numbers_below(b["brokers"]) else other

        def act(b: kc.Setting) -> list[kc.Action]:
            raised = of(b, "action")
            return [kc.Action("act", lambda s: evolve(s, flag=raised), lambda s: s.flag == 0)]

        def claim(b: kc.Setting) -> list[kc.Property]:
            most = of(b, "claim", 1)
            return [kc.always("low", "the flag is low", lambda s: s.flag <= most)]

        return (system.field("flag", lambda b: kc.ints(0, 1 + of(b, "field")), lambda b: of(b, "start")).action(act)
                .property(claim))  # fmt: skip

    for part, said in {"action": "action act, effect", "claim": "property low", "field": "the domain of .*",
                       "start": "initial"}.items():  # fmt: skip
        with pytest.raises(Refusal, match=rf"{said} is another with brokers 3, .* than with any number"):
            kc.prove(added(kc.kafka("elections"), **{part: 1 - (part == "claim")}), brokers="any", scope="tiny",
                     properties=["low"], search_states=0, cache=False)  # fmt: skip


ASK = getattr


def test_a_rule_of_another_number_at_a_rare_value_is_refused() -> None:
    """States hold the numbers that rules name, and so does an argument, together."""

    def guard(s: Desk, x: kc.Word) -> Any:
        return kc.any_of(x != 8, kc.all_of(s.at == 777, int(ASK(s.marks, "number", None) is None) == 1))

    def actions(b: kc.Setting) -> list[kc.Action]:
        return [kc.Action("begin", lambda s: evolve(s, at=777)),
                kc.Action("ask", lambda s, x: evolve(s, at=x), guard, {"x": kc.numbers_below(b["n"])})]  # fmt: skip

    layout = {"layout": lambda b: Desk(kc.map_below(b["n"], kc.ints(0, 1)), kc.ints(0, 1000))}
    assert refused(desk(**HONEST, **layout, actions=actions), r"guard says 1 on ints and 0 when traced, .*at=777")


def test_a_guard_that_is_named_as_an_argument_is_compared() -> None:
    """Each part of a guard is compared, whatever it is called."""

    def actions(b: kc.Setting) -> list[kc.Action]:
        known = int(_is_in_no_table(b))
        return [kc.Action("ask", lambda s, x: evolve(s, at=x), lambda s, x: {"x": kc.any_of(x != 8, known == 0)},
                          {"x": kc.numbers_below(b["n"])})]  # fmt: skip

    assert refused(desk(**HONEST, actions=actions), r"action ask, guard is another with n 2")


def test_each_value_of_a_bound_that_any_frees_is_compared() -> None:
    """With any number it bounds nothing; with nine it does, and a rule may be another with each of its values."""

    def actions(b: kc.Setting) -> list[kc.Action]:
        nine = int((b["m"], kc.numbers_below(b["n"])) == (3, range(9)))
        return [kc.Action("ask", lambda s, x: evolve(s, at=x), lambda s, x: kc.any_of(x != 8, nine == 1), {
            "x": kc.numbers_below(b["n"])})]  # fmt: skip

    bounds = [Bound("n", 2, 12, "guests", takes_any=True), Bound("m", 1, 3, "of them", freed_by="n")]
    claim = [kc.always("claim", "the ninth is not asked", lambda s: s.at != 8)]
    made = desk(**HONEST, actions=actions, bounds=bounds, scopes={"default": {"n": 2, "m": 2}}, properties=claim)
    assert kc.explore(made, n=9, m=3, cache=False, threads=1).refuted
    with pytest.raises(Refusal, match=r"action ask, guard is another with n 9, m 3 than with any number"):
        verdicts(made)


@frozen
class Asked:
    """Who is asked."""

    at: kc.Word


_KEPT: dict[str, Any] = {}


def _once(b: kc.Setting, make: Callable[[], Any]) -> Any:
    """Some part, made once for each scope, whatever the number is."""
    if b.scope not in _KEPT:
        _KEPT[b.scope] = make()
    return _KEPT[b.scope]


def _most(b: kc.Setting) -> int:
    return 2 if _is_in_no_table(b) else len(kc.numbers_below(b["n"]))


KEEPS = kc.System(
    name="keeps", summary="Two are asked.", initial=[Asked(0)],
    actions=lambda b: _once(b, lambda: [kc.Action("ask", lambda s, x: evolve(s, at=x), None, {"x": range(_most(b))})]),
    bounds=[kc.Bound("n", 2, 12, "guests", takes_any=True)], scopes={"default": {"n": 2}},
    layout=lambda b: Asked(kc.word_below(b["n"])), properties=[kc.always("two", "two are asked", lambda s: s.at < 2)],
)  # fmt: skip
LIMITS = evolve(KEEPS, actions=lambda b: [kc.Action("ask", lambda s, x: evolve(s, at=x), lambda s, x: x < _once(
    b, lambda: _most(b)), {"x": kc.numbers_below(b["n"])})])  # fmt: skip


@pytest.mark.parametrize("name", ["KEEPS", "LIMITS"])
def test_what_a_system_keeps_of_another_number_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each number is asked of a process that was asked for no other: what is kept differs."""
    monkeypatch.setattr(f"{__name__}._KEPT", {})
    assert kc.explore(globals()[name], n=4, cache=False, threads=1).refuted
    monkeypatch.setattr(f"{__name__}._KEPT", {})
    answer = kraftcheck("prove", f"{__name__}:{name}", "--n", "any", "--workers", "1")
    assert "with n 3 it is another system once another number was asked for" in answer.refusal()


@pytest.mark.parametrize("flags", [("--k", "1"), ("--pdr",), ("--bmc", "2")])
def test_runs_of_few_steps_take_numbers(flags: tuple[str, ...]) -> None:
    """They compare no number with any, and so refuse a bound that is any, also where no field has a place for each."""
    answer = kraftcheck("prove", f"{__name__}:KEEPS", "--n", "any", *flags)
    assert answer.refusal().startswith("--bmc, --k and --pdr need a number for every bound")


def test_a_global_that_the_layout_sets_is_of_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout of any number is asked before the parts of a number, so that rules read what the number has."""
    kept = {"ninth": False}

    def layout(b: kc.Setting) -> Desk:
        kept["ninth"] = {range(9): True}.get(kc.numbers_below(b["n"]), False)
        return Desk(kc.map_below(b["n"], kc.ints(0, 1)), kc.ints(0, 40, cap="the desk is long"))

    def actions(b: kc.Setting) -> list[kc.Action]:
        return [kc.Action("ask", lambda s, x: evolve(s, at=x), lambda s, x: kc.any_of(x != 8, kept["ninth"]), {
            "x": kc.numbers_below(b["n"])})]  # fmt: skip

    claim = [kc.always("claim", "the ninth is not asked", lambda s: s.at != 8)]
    made = desk(**HONEST, layout=layout, actions=actions, properties=claim)
    assert refused(made, "action ask, guard is another with n 9 than with any number")


def test_a_family_lists_no_more_than_its_condition_says() -> None:
    """Proofs know its condition, and searches go through its list."""
    values = Family(kc.ints(0, 5), lambda x: x < 3, lambda: range(6))
    action = kc.Action("ask", lambda s, x: evolve(s, at=x), None, {"x": values})
    with pytest.raises(Refusal, match="action ask, argument x says 1 on ints and 0 when traced"):
        kc.prove(desk(**HONEST, actions=[action]), n=2, search_states=0, cache=False)


BEYOND: dict[str, tuple[Any, tuple[int, ...]]] = {
    "beyond what it may be": (Family(kc.ints(0, 5), lambda _: True, lambda: range(6)), (7,)),
    "below the least": (numbers(0), (0, -1)),
    "a pair": (numbers(0), ((0, 1),)),  # type: ignore[dict-item]
}
"""Values of any number, and those of nine."""


@pytest.mark.parametrize("name", BEYOND)
def test_values_of_an_argument_lie_within_those_of_any_number(name: str) -> None:
    """One that no number has, when the number is any, is refused."""
    whole, nine = BEYOND[name]

    def actions(b: kc.Setting) -> list[kc.Action]:
        table = {range(n): nine if n == 9 else (0, 1) for n in range(99)}
        return [kc.Action("ask", lambda s, x: evolve(s, at=0), None, {
            "x": table.get(kc.numbers_below(b["n"]), whole)})]  # fmt: skip

    with pytest.raises(Refusal, match=r"argument x of action ask is another with n 9 than with any number"):
        verdicts(desk(**HONEST, actions=actions))


def test_members_that_are_named_may_be_read() -> None:
    """A member by its name, without a value for what has none, says nothing of a class."""
    claim = kc.always("claim", "nobody is marked", lambda s: nobody(Desk(getattr(s, "marks"), s.at)))  # noqa: B009
    assert verdicts(desk(**HONEST, properties=[claim])) == "holds"


def _nine(b: kc.Setting) -> Any:
    marks = kc.map_below(b["n"], kc.ints(0, 1))
    return {(kc.ints(0, 1),) * 9: (kc.ints(0, 1),) * 8}.get(marks, marks)


@pytest.mark.parametrize(("layout", "why"), [
    (lambda b: Desk(_nine(b), kc.ints(0, 40, cap="the desk is long")), "which places marks has is another with n 9"),
    (lambda b: Desk(kc.map_below(b["n"], kc.ints(0, 1)), kc.ints(0, 40, cap="long" * _is_in_no_table(b))),
     "the cap of at is another with n 2"),
], ids=["places", "cap"])  # fmt: skip
def test_fields_that_are_others_with_a_number_are_refused(layout: Callable[..., Any], why: str) -> None:
    """A map has a place for each number below its bound, and what may be left out is the same."""
    begins = kc.all_where(lambda s: {"first": s.at == 0, "nobody": nobody(s)})
    assert refused(desk(**HONEST, layout=layout, initial=lambda b: [begins]), why)


def test_what_is_the_same_with_each_number_is_judged() -> None:
    """The honest desk is refused by nothing, and its false claim is not proven."""
    assert "holds" not in verdicts(desk(**HONEST))
    assert verdicts(desk(**HONEST, properties=[kc.always("claim", "nobody is marked", nobody)])) == "holds"


def later(at: int) -> Callable[[Any], list[Any]]:
    """Initial states that are described for a number as for any, but for a constant."""

    def described(b: Any) -> list[Any]:
        last = 0 if b["n"] == ANY else at
        return [kc.all_where(lambda s: {"at": kc.any_of(s.at == 0, s.at == last), "nobody": nobody(s)})]

    return described


def test_initial_states_of_a_number_are_those_of_any() -> None:
    """Described by another constant, listed for the ninth alone, or described where those of any are listed."""
    still = {"actions": lambda b: [kc.Action("stay", lambda s: s)]}
    assert refused(desk(**HONEST, initial=later(8), **still), r"initial is another with n 2")
    ninth = desk(**HONEST, initial=lambda b: initial(b, (9,)), **still)
    assert refused(ninth, r"initial has .*at=8.* with n 9, and has no such state for any number")


def test_a_number_that_no_search_takes_is_one_of_any() -> None:
    """Of more than the bound allows the ninth may be asked first."""
    with pytest.raises(Refusal, match=r"initial has .*at=8.* with n 13, and has no such state for any number"):
        verdicts(
            desk(**HONEST, initial=lambda b: initial(b, (13,)), actions=lambda b: [kc.Action("stay", lambda s: s)])
        )


def test_a_rule_of_one_number_is_refused() -> None:
    """With nine alone the last is not asked after one guest, which no sampled state need show."""

    def actions(b: kc.Setting) -> list[kc.Action]:
        nine = int({range(9): True}.get(kc.numbers_below(b["n"]), False))
        return [kc.Action("ask", lambda s, x: evolve(s, at=x), lambda s, x: kc.negate(
            kc.all_of(x == 8, s.at == 5, nine == 1)), {"x": kc.numbers_below(b["n"])})]  # fmt: skip

    assert refused(desk(**HONEST, actions=actions), r"action ask, guard is another with n 9 ")


@frozen
class Word:
    """Who is asked."""

    at: kc.Word


def test_a_description_of_a_number_is_beside_one_of_any() -> None:
    """Where states of any number are listed, no description of a number says the same."""

    def begins(b: Any) -> list[Any]:
        return [Word(0)] if b["n"] == ANY else [kc.all_where(lambda s: kc.any_of(s.at == 0, s.at == 8))]

    made = desk(**HONEST, initial=begins, layout=lambda b: Word(kc.word_below(b["n"])),
                actions=lambda b: [kc.Action("stay", lambda s: s)])  # fmt: skip
    assert refused(made, r"initial describes states with n 2, and lists those of any number")


def abstract(**parts: Any) -> kc.System:
    """A number that rises."""
    given = {"name": "abs", "summary": "A number.", "initial": [Word(0)], "quiescent": lambda s: True,
             "bounds": [kc.Bound("n", 2, 12, "n", takes_any=True)], "scopes": {"default": {"n": 2}},
             "layout": lambda b: Word(kc.ints(0, 40)),
             "actions": [kc.Action("on", lambda s: Word(s.at + 1))]}  # fmt: skip
    return kc.System(**{**given, **parts})


def refining(of: kc.System) -> kc.System:
    """A desk whose step is one of a number; from nine guests on it begins at 1."""

    def mapping(s: Desk) -> Word:
        return Word(s.at + kc.choose(kc.some(kc.keys(s.marks), lambda k: k == 8), 1, 0))

    return desk(**HONEST, actions=[kc.Action("on", lambda s: evolve(s, at=s.at + 1), lambda s: s.at < 20)],
                properties=lambda b: [*kc.refines("ref", "it refines", of, mapping, setting=b)])  # fmt: skip


ABSTRACT: dict[str, tuple[dict[str, Any], str]] = {
    "initial states": ({"initial": lambda b: [kc.all_where(lambda s: s.at >= 0)] if b["n"] == ANY else [Word(0)]},
                       r"property ref at the start is another with n 2"),
    "a field": ({"layout": lambda b: Word(kc.word_below(b["n"]))}, r"abs: the field it has is of any number.* ints"),
    "an argument": ({"actions": lambda b: [kc.Action("set", lambda s, to: Word(to), None,
                                                     {"to": kc.numbers_below(b["n"])})]},
                    r"abs: the argument to of set is of any number.* range"),
}  # fmt: skip


@pytest.mark.parametrize("part", ABSTRACT)
def test_a_refinement_of_any_number_is_one_of_each(part: str) -> None:
    """What an abstract system has of a number, and no proof asks, is refused with its mend."""
    parts, why = ABSTRACT[part]
    assert refused(refining(abstract(**parts)), rf"(?s){why}")


def test_a_list_of_the_numbers_below_any_is_refused_with_its_line() -> None:
    """It has no end; the message says what to give instead."""
    with pytest.raises(
        Refusal, match=r"test_each_number\.py:\d+: the numbers below a bound that is any cannot be listed"
    ):
        verdicts(
            desk(**HONEST, actions=lambda b: [kc.Action("a", lambda s, x: s, None, {"x": [*kc.numbers_below(b["n"])]})])
        )


def test_what_cannot_be_compared_is_refused() -> None:
    """Too many numbers, and too many initial states of one."""
    two = [kc.Bound(name, 2, 12, "guests", takes_any=True) for name in ("n", "m")]
    layout = {"layout": lambda b: Desk(kc.map_below(b["n"], kc.ints(0, 1)), kc.word_below(b["m"]))}
    with pytest.raises(Refusal, match=r"n and m may be any, and take 121 values.* at most 100"):
        verdicts(desk(**HONEST, **layout, bounds=two, scopes={"default": {"n": 2, "m": 2}}), m="any")
    many = desk(**HONEST, initial=lambda b: initial(b) * (1 if b["n"] == ANY or b["n"] != 9 else 100_001))
    with pytest.raises(Refusal, match=r"initial lists 100,001 states with n 9, too many"):
        verdicts(many)


def beside(**more: Any) -> kc.System:
    """A desk with a bound that may not exceed the number of guests."""
    bounds = [Bound("n", 1, 6, "guests", takes_any=True), Bound("m", 1, 6, "of them", at_most="n", **more)]
    return desk(**HONEST, bounds=bounds, scopes={"default": {"n": 4, "m": 3}},
                layout=lambda b: Desk(kc.map_below(b["n"], kc.ints(0, 6)), kc.word_below(b["m"])),
                actions=lambda b: [kc.Action("ask", lambda s, x: Desk(s.marks, x), None, {
                    "x": kc.numbers_below(b["m"])})],
                properties=[kc.always("claim", "nobody is marked", nobody)])  # fmt: skip


def test_a_bound_that_may_not_exceed_any_is_taken() -> None:
    """With each number from it on; where both are any, the searches are of those that do not exceed."""
    assert verdicts(beside()) == "holds"
    assert verdicts(beside(takes_any=True), m="any") == "holds"
    for bounds in ({"n": ANY}, {"n": ANY, "m": ANY}):
        request = ProofRequest(beside(takes_any=True), None, bounds, None)
        taken = [request.of_more(more).setting for more in (0, 1)] + [setting for _, setting in request._of_each()]
        assert all(setting["m"] <= setting["n"] for setting in taken)
        assert len({one["n"] for one in taken}) > 2
    with pytest.raises(Refusal, match=r"m = any is more than n = 4; lower --m or raise --n"):
        verdicts(beside(takes_any=True), n=4, m="any")


class Two(kc.SetOf):
    """A set of two declared numbers."""

    members = (3, 5)


VALUES: dict[str, tuple[Any, Any, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "a pair": ((kc.ints(0, 1), kc.ints(0, 3)), (0, 0), lambda one: (one[0], 1), lambda one: one[0] == 0),
    "truths": ((kc.truth(), kc.truth(), kc.truth()), (False,) * 3, lambda one: (True, one[1], one[2]),
               lambda one: kc.negate(one[1])),
    "declared": (Two.domain(), Two.of([]), lambda one: one.plus(one.just(3)), lambda one: kc.negate(one.has(5))),
    "ordered": (kc.Replicas((kc.ints(-1, 3),) * 4), kc.Replicas((-1,) * 4), lambda one: one.just(3),
                lambda one: kc.negate(one.has(2))),
}  # fmt: skip
"""By what they are: the domain, the first value, what becomes of it, and what is true of each."""


@pytest.mark.parametrize("name", VALUES)
def test_a_map_of_any_number_takes_every_value(name: str) -> None:
    """Tuples and collections, too: its parts are not taken for places."""
    domain, zero, change, true = VALUES[name]

    def mark(s: Desk, x: kc.Word) -> Desk:
        return Desk(kc.put(s.marks, x, change(kc.get(s.marks, x))), x)

    def begins(b: Any) -> list[Any]:
        none = lambda s: kc.each(kc.keys(s.marks), lambda k: kc.equal(kc.get(s.marks, k), zero))  # noqa: E731
        return [kc.all_where(lambda s: kc.all_of(s.at == 0, none(s)))] if b["n"] == ANY else [Desk((zero,) * b["n"], 0)]

    made = desk(
        **HONEST, layout=lambda b: Desk(kc.map_below(b["n"], domain), kc.word_below(b["n"])), initial=begins,
        actions=lambda b: [kc.Action("mark", mark, None, {"x": kc.numbers_below(b["n"])})],
        properties=[kc.always("claim", "it is so of each", lambda s: kc.each(
            kc.keys(s.marks), lambda k: true(kc.get(s.marks, k))))],
    )  # fmt: skip
    assert verdicts(made) == "holds"
