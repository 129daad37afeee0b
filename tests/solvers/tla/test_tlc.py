"""TLC finds the states, the depth and the counterexamples that kraftcheck finds, in the modules that it writes."""

import functools
import random
import re
import time
from collections import Counter
from pathlib import Path

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.model.language.system import System
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.tla.module import Module, module
from kraftcheck.solvers.tla.readable import readable
from kraftcheck.solvers.tla.source_names import source_names
from tests.examples.readers_writers import READERS_WRITERS
from tests.examples.two_phase import FAULTY, TWO_PHASE
from tests.random_systems import building
from tests.random_systems.claims import Claims
from tests.random_systems.comparison import Case
from tests.random_systems.systems import drawn
from tests.shared.commands import kraftcheck
from tests.shared.tlc import Answer, output, tlc
from tests.solvers.liveness.test_random_systems import asked_of, fairness_of, labels_of
from tests.solvers.program.random_starts import described_case


def for_people(traced: Program) -> Module:
    """The module of a program that people review."""
    return readable(lambda: trace(traced.system, traced.setting), "Exported", "made by a test")


def second_opinion(traced: Program, folder: Path, reviewed: bool = False) -> Answer:
    """What TLC says of a program."""
    made = for_people(traced) if reviewed else module(traced, "Exported", "made by a test")
    (folder / "Exported.tla").write_text(made.text)
    (folder / "Exported.cfg").write_text(made.configuration)
    return tlc(folder / "Exported.tla")


def agree(traced: Program, folder: Path, reviewed: bool = False) -> Answer:
    """Both have the same numbers, and refute the same invariants by traces of the same length."""
    found = explore(traced, clock=time.monotonic)
    answer = second_opinion(traced, folder, reviewed)
    assert (answer.distinct, answer.levels) == (found.distinct, found.depth + 1)
    invariants = {one.id.replace("-", "_") for one in traced.always}
    refuted = {
        one.claim.replace("-", "_"): (one.depth or 0) + 1
        for one in found.verdicts if isinstance(one.verdict, kc.Refuted)
    }  # fmt: skip
    assert {name: steps for name, steps in refuted.items() if name in invariants} == {
        name: steps for name, steps in answer.violated.items() if name in invariants
    }
    assert ("deadlock" in refuted) == ("OnlyQuiescentStatesEnd" in answer.violated)
    return answer


@pytest.mark.parametrize("system", [pytest.param(one, marks=pytest.mark.slow) for one in (FAULTY, READERS_WRITERS)])
def test_tlc_finds_what_the_search_finds(system: System, tmp_path: Path) -> None:
    """States, depth, the refuted invariant and the length of its trace are TLC's too."""
    answer = agree(program(subject(system, None, {}, None)), tmp_path)
    assert len([name for name in answer.violated if name in ("consistent", "never_all_read")]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_tlc_begins_in_the_described_states(seed: int, tmp_path: Path) -> None:
    """A rule that describes initial states is written as `Init`, for people too; TLC finds as many states."""
    case = described_case(seed)
    agree(case, tmp_path)
    agree(case, tmp_path, reviewed=True)


EITHER = kc.System(
    name="either",
    summary="Initial states for which two reasons may hold at once.",
    layout=(kc.truth(),) * 8,
    initial=kc.all_where(lambda s: {f"{i}": kc.any_of(s[i], s[i + 1]) for i in range(7)}),
    actions=[kc.Action("set", lambda s, i: kc.put(s, i, True), parameters={"i": range(8)})],
    properties=[kc.always("some", "one of the first two is set", lambda s: kc.any_of(s[0], s[1]))],
)


def test_described_states_are_conjuncts_for_people() -> None:
    """Fields of one domain are a function into it; a conjunct that does not branch stands without a comparison."""
    described = evolve(EITHER, initial=kc.all_where(lambda s: {"low": s[0] == s[1], "one": kc.any_of(s[2], s[3])}))
    text = for_people(program(subject(described, None, {}, None))).text
    init = ["  /\\ x \\in [0..7 -> BOOLEAN]", "  /\\ x[0] = x[1]", "  /\\ TRUE = (x[2] \\/ x[3])"]
    assert text.partition("Init ==\n")[2].startswith("\n".join(init) + "\n\n")


@pytest.mark.slow
def test_tlc_lists_each_described_state_once(tmp_path: Path) -> None:
    """Where several disjuncts are true of an initial state, TLC generates it once, as the search does."""
    chosen = program(subject("tests.solvers.tla.test_tlc:EITHER", None, {}, None))
    found, answer = explore(chosen, clock=time.monotonic), agree(chosen, tmp_path)
    assert (answer.generated, answer.distinct) == (found.generated, found.distinct) == (55 * 9, 55)


@pytest.mark.slow
def test_tlc_counts_what_a_constraint_leaves(tmp_path: Path) -> None:
    """TLC generates as many states, keeps those within, and refutes by states outside too, at the same length."""
    chosen = program(subject("tests.solvers.program.test_constraint:CLIMB", None, {}, None))
    found, answer = explore(chosen, clock=time.monotonic), second_opinion(chosen, tmp_path)
    assert (answer.generated, answer.distinct) == (found.generated, found.distinct - found.outside) == (16, 9)
    assert answer.violated["below_five"] == (found.verdict("below-five").depth or 0) + 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_tlc_agrees_on_random_systems(seed: int, tmp_path: Path) -> None:
    """Every operator of the language means in TLA+ what it means in machine code."""
    case = Case.of_seed(seed)
    if max(max(abs(node.lo), abs(node.hi)) for node in case.program.graph.nodes) >= 1 << 31:
        pytest.skip("TLC's numbers have 32 bits")
    agree(case.program, tmp_path)


@frozen
class Lamps:
    """Three lamps."""

    one: kc.Truth
    two: kc.Truth
    three: kc.Truth


SWITCH = kc.System(
    name="switch",
    summary="Truths that are set to junctions and comparisons, and rest under an implication.",
    layout=Lamps(kc.truth(), kc.truth(), kc.truth()),
    initial=[Lamps(False, True, False)],
    actions=[
        kc.Action(
            "turn",
            lambda s: Lamps(kc.any_of(s.two, s.three), kc.all_of(s.one, kc.negate(s.three)), s.two == s.three),
            lambda s: kc.negate(kc.all_of(s.one, s.two)),
        )
    ],
    properties=[kc.always("not-both", "the first two are not both on", lambda s: kc.negate(kc.all_of(s.one, s.two)))],
    quiescent=lambda s: kc.implies(s.one, s.three),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["TWO_PHASE", "SWITCH", "LIFT", "LARGE", "EITHER", "FAULTY", "READERS_WRITERS"])
def test_tlc_finds_the_same_in_what_people_review(name: str, tmp_path: Path) -> None:
    """States, depth, refuted invariants and the lengths of their traces are those of the module that is reviewed."""
    system = {
        "SWITCH": SWITCH,
        "LIFT": LIFT,
        "LARGE": LARGE,
        "EITHER": EITHER,
        "FAULTY": FAULTY,
        "READERS_WRITERS": READERS_WRITERS,
    }
    agree(program(subject(system.get(name, TWO_PHASE), None, {}, None)), tmp_path, reviewed=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_tlc_agrees_on_random_systems_that_people_review(seed: int, tmp_path: Path) -> None:
    """Every operator of the language means in a formula for people what it means in machine code."""
    case = Case.of_seed(seed)
    if max(max(abs(node.lo), abs(node.hi)) for node in case.program.graph.nodes) >= 1 << 31:
        pytest.skip("TLC's numbers have 32 bits")
    agree(case.program, tmp_path, reviewed=True)


@pytest.mark.slow
@pytest.mark.parametrize(("rules", "reviewed", "distinct"), [("fixed", False, 18_704), ("fixed", True, 18_704)])
def test_tlc_agrees_on_the_rules_of_kafka(rules: str, reviewed: bool, distinct: int, tmp_path: Path) -> None:
    """Of `elections tiny` TLC finds the same states, none of which breaks an invariant."""
    chosen = program(subject("elections", "tiny", {}, rules))
    made = for_people(chosen) if reviewed else module(chosen, "Exported", "made by a test")
    (tmp_path / "Exported.tla").write_text(made.text)
    invariants = [line for line in made.configuration.splitlines() if not line.startswith("PROPERTY")]
    (tmp_path / "Exported.cfg").write_text("\n".join(invariants))
    answer = tlc(tmp_path / "Exported.tla")
    assert (answer.distinct, answer.violated) == (distinct, {})
    assert explore(chosen, clock=time.monotonic).distinct == distinct


def test_a_module_is_written_whole(tmp_path: Path) -> None:
    """The command writes module and configuration, and names what a module of safety has not."""
    ran = kraftcheck("export", "tests.examples.two_phase:TWO_PHASE", "--tla", tmp_path / "TwoPhase.tla")
    assert ran.code == 0
    text = (tmp_path / "TwoPhase.tla").read_text()
    assert "MODULE TwoPhase" in text
    assert "no manager commits while another aborts" in text
    assert "INVARIANT consistent" in (tmp_path / "TwoPhase.cfg").read_text()


def test_people_read_the_words_of_the_source() -> None:
    """Names of locals, of guards and of members, sets, functions at a place, and primes are as a reader writes them."""
    lease, lift = (for_people(program(subject(one, None, {}, None))).text for one in (TWO_PHASE, LIFT))
    for line in (
        "give_up(r) ==",
        '  /\\ manager[r] = "WORKING"',
        '  /\\ manager\' = [manager EXCEPT ![r] = "ABORTED"]',
        "  /\\ UNCHANGED <<coordinator, prepared, messages>>",
        '  \\A place \\in 0..2 : manager[place] = "COMMITTED"',
    ):
        assert line in lease.splitlines(), line
    for line in ('         LET by == IF way_ = "UP" THEN far ELSE IF way_ = "DOWN" THEN -far ELSE 0',
                 '  /\\ IF way_ = "UP" THEN 4 >= floor + far ELSE floor < far => way_ = "STAY"  \\* within',
                 "  /\\ [][way = \"UP\" => way' # \"DOWN\"]_vars"):  # fmt: skip
        assert line in lift.splitlines(), line


def test_a_guard_that_is_named_within_is_in_both_modules() -> None:
    """The name of the condition of a constraint is none that an author gives a part of a guard."""
    chosen = program(subject(LIFT, None, {}, None))
    assert "\\* within" in for_people(chosen).text
    assert (
        "(floor + a2)"
        in module(chosen, "Lift", "made by a test").text.partition("/\\ BitMember")[2].partition("\\E n")[0]
    )


@pytest.mark.parametrize(
    ("name", "words", "says"),
    [
        ("two-phase.tla", (), "--tla takes NAME.tla"),
        ("TwoPhase.txt", (), "--tla takes NAME.tla"),
        ("Two.tla", ("--brokers", "3"), "unknown option --brokers"),
        ("missing/Two.tla", (), "there is no folder"),
    ],
)
def test_what_cannot_be_written_is_refused(name: str, words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    """A file that no module can be in, a flag that the system has not, and a missing folder are refused in a line."""
    ran = kraftcheck("export", "tests.examples.two_phase:TWO_PHASE", *words, "--tla", tmp_path / name)
    assert says in ran.refusal()
    assert list(tmp_path.iterdir()) == []


def test_words_beyond_32_bits_are_refused(tmp_path: Path) -> None:
    """TLC would stop with an overflow in the middle of a run; the module is not written."""
    ran = kraftcheck("export", "tests.solvers.tla.test_tlc:WIDE", "--tla", tmp_path / "Wide.tla")
    assert "TLC's numbers have 32 bits" in ran.refusal()
    assert list(tmp_path.iterdir()) == []


class Lift(kc.Enum):
    """Where a lift goes."""

    DOWN, UP, STAY = 0, 1, 2


class Ways(kc.SetOf):
    """Ways that were asked for."""

    members = tuple(Lift)


@frozen
class Shaft:
    """Which way the lift goes, on which floor it is, and which ways were asked for."""

    way: Lift
    floor: kc.Word
    asked: Ways


def _go(s: Shaft, way: kc.Word, far: kc.Word) -> Shaft:
    """The lift goes that way, and the way is not asked for any more."""
    by = kc.choose(way == Lift.UP, far, kc.choose(way == Lift.DOWN, -far, 0))
    return evolve(s, way=way, floor=s.floor + by, asked=s.asked.minus(s.asked.just(way)))


LIFT = kc.System(
    name="lift",
    summary="A lift is asked for ways, which are arguments by their names, alone and beside numbers.",
    layout=Shaft(Lift.domain(), kc.ints(0, 4), Ways.domain()),
    initial=[Shaft(Lift.STAY, 1, Ways.of([]))],
    actions=[
        kc.Action("ask", lambda s, way: evolve(s, asked=s.asked.plus(s.asked.just(way))), None, {"way": list(Lift)}),
        kc.Action("go", _go, lambda s, way, far: {
            "asked": s.asked.has(way),
            "within": kc.choose(way == Lift.UP, s.floor + far <= 4, kc.any_of(way == Lift.STAY, s.floor >= far)),
        }, {"way": [Lift.UP, Lift.DOWN, Lift.STAY], "far": [1, 2]}),
    ],
    properties=[
        kc.always("below-four", "the lift goes up to floor 3", lambda s: s.floor < 4),
        kc.always("down-is-below", "a lift that went down is not on top",
                  lambda s: kc.implies(s.way == Lift.DOWN, s.floor < 4)),
        kc.step("turns", "a lift that goes up next goes on, or stays",
                lambda t: kc.implies(t.before.way == Lift.UP, kc.negate(t.after.way == Lift.DOWN))),
    ],
)  # fmt: skip


@pytest.mark.slow
def test_tlc_reads_members_of_an_enum(tmp_path: Path) -> None:
    """Arguments, guards and initial values that are members of an `Enum` are numbers that TLC reads."""
    answer = agree(program(subject("tests.solvers.tla.test_tlc:LIFT", None, {}, None)), tmp_path)
    assert answer.violated.keys() == {"below_four"}


class Places(kc.SetOf):
    """More members than TLC's numbers have bits."""

    members = tuple(range(40))


@frozen
class Rows:
    """Two sets, and one of them seen as few."""

    seen: Places
    left: Places


def _moved(s: Rows, at: kc.Word) -> Rows:
    """One member of what is left is seen; with 35 goes 3."""
    left = s.left.minus(s.left.just(at))
    return Rows(s.seen.plus(s.seen.just(at)), kc.choose(at == 35, left.minus(Places.of([3])), left))


LARGE = kc.System(
    name="large",
    summary="Sets of forty members, of which four move.",
    layout=Rows(Places.domain(), Places.domain()),
    initial=[Rows(Places.of([]), Places.of([0, 3, 31, 35, 39]))],
    actions=[kc.Action("move", _moved, lambda s, at: s.left.has(at), {"at": (0, 31, 35, 39)})],
    properties=[
        kc.always("never-all", "two are not seen", lambda s: s.seen.size() < 3),
        kc.always("apart", "what is seen is not left", lambda s: s.seen.keep(s.left).is_empty()),
        kc.always("low", "31 is not the lowest that is seen", lambda s: kc.negate(s.seen.same(Places.of([31])))),
    ],
    quiescent=lambda s: s.left.within(Places.of([3])),
)


def test_sets_beyond_32_bits_are_written_as_sets(tmp_path: Path) -> None:
    """A mask of forty bits is the set of its bits, and what reads it does so as of a set; numbers stay numbers."""
    ran = kraftcheck("export", "tests.solvers.tla.test_tlc:LARGE", "--tla", tmp_path / "Large.tla")
    assert ran.code == 0
    text = (tmp_path / "Large.tla").read_text()
    for part in ("EXTENDS Integers, FiniteSets", "{0, 3, 31, 35, 39}", "Cardinality(", "\\cup", "\\cap"):
        assert part in text, part


@pytest.mark.slow
def test_tlc_agrees_on_sets_beyond_32_bits(tmp_path: Path) -> None:
    """States, depth and traces are TLC's too, where sets have forty members."""
    answer = agree(program(subject("tests.solvers.tla.test_tlc:LARGE", None, {}, None)), tmp_path)
    assert {"never_all", "low"} <= answer.violated.keys()


WIDE = kc.System(
    name="wide",
    summary="A word of forty bits.",
    layout=(kc.ints(0, 1 << 40),),
    initial=[(0,)],
    actions=[kc.Action("grow", lambda s: (s[0] * 2 + 1,), lambda s: s[0] < 1 << 39)],
    properties=[kc.always("small", "it stays small", lambda s: s[0] < 1 << 40)],
)


@frozen
class Walk:
    """Two who walk to 2, and a light."""

    at: tuple[kc.Word, ...]
    on: kc.Truth


def walk() -> kc.System:
    """Two who walk by one or by two, or back; properties are under fairness of their own, beside that of the light."""
    move, both = functools.partial(kc.strong_fairness, "move", each=["i"]), ("move", "back")

    def there(name: str, *fair: kc.Fairness) -> kc.Property:
        return kc.eventually(name, "the first one is there", lambda s: s.at[0] == 2, fairness=fair)

    return kc.System(
        "walk", "two who walk", layout=Walk((kc.ints(0, 2),) * 2, kc.truth()), initial=[Walk((0, 0), False)],
        actions=[
            kc.Action("move", lambda s, i, by: evolve(s, at=kc.put(s.at, i, kc.minimum(2, kc.get(s.at, i) + by))),
                      lambda s, i, by: kc.get(s.at, i) < 2, {"i": (0, 1), "by": (1, 2)}),
            kc.Action("back", lambda s, i: evolve(s, at=kc.put(s.at, i, 0)), lambda s, i: kc.get(s.at, i) == 1,
                      {"i": (0, 1)}),
            kc.Action("flip", lambda s: evolve(s, on=kc.negate(s.on))),
        ],
        fairness=[kc.weak_fairness("flip")], quiescent=lambda s: True,
        properties=[
            there("light-alone"), there("by-any", move()), there("by-two", move(having={"by": 2})),
            there("either", kc.strong_fairness(*both, each=["i"])),
            there("in-the-dark", move(having={"by": 2}, unless=lambda s, i: s.on)),
            there("after-the-other", move(having={"by": 2}, unless=lambda s, i: s.at[1] != 2)),
            kc.always_eventually("on", "the light is on again", lambda s: s.on),
            kc.eventually_always("stays", "the light stays on", lambda s: s.on),
            kc.eventually("never", "nothing is true", lambda s: False),
            kc.leads_to("goes-on", "nobody stays at 1", lambda s: s.at[0] == 1, lambda s: s.at[0] != 1,
                        fairness=[kc.weak_fairness(*both, each=["i"])]),
        ],
    )  # fmt: skip


def finally_agree(traced: Program, folder: Path, reviewed: bool) -> Counter[str]:
    """TLC refutes the liveness properties that the search refutes, and no other; how many have which verdict."""
    made = for_people(traced) if reviewed else module(traced, "Exported", "made by a test")
    lines = made.configuration.splitlines()
    names = [line for line in lines if line.startswith("PROPERTY")][len(traced.steps) :]
    head = "\n".join(line for line in lines if not line.startswith(("PROPERTY", "INVARIANT")))
    found = explore(traced, clock=time.monotonic)
    verdicts = {name: type(found.verdict(one.claim.id).verdict).__name__
                for name, one in zip(names, traced.liveness.claims, strict=True)}  # fmt: skip
    refuted = [name for name, verdict in verdicts.items() if verdict == "Refuted"]
    others = [name for name in names if name not in refuted]
    for asked in [[name] for name in refuted] + [others] * bool(others):
        (folder / "Exported.tla").write_text(made.text)
        (folder / "Exported.cfg").write_text("\n".join([head, *asked]) + "\n")
        said = "Temporal properties were violated" if asked[0] in refuted else "No error has been found"
        text = output(folder / "Exported.tla")
        assert said in text, (asked, text[-2000:])
    return Counter(verdicts.values())


@pytest.mark.slow
@pytest.mark.parametrize("reviewed", [False, True])
def test_tlc_judges_what_finally_happens(reviewed: bool, tmp_path: Path) -> None:
    """Each kind of property, under fairness of the system and of its own, strong and weak, of some or excused steps."""
    found = finally_agree(trace(walk(), walk().setting()), tmp_path, reviewed)
    assert (found["Refuted"], found["Holds"]) == (6, 4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_tlc_judges_what_finally_happens_in_random_systems(seed: int, tmp_path: Path) -> None:
    """Properties of random premises and goals, under random fairness, have the verdicts of the search."""
    drawn_ = drawn(seed)
    if drawn_.graph.pruned() or len(drawn_.graph.depth) > 150:
        pytest.skip("a domain cuts steps of it, or it is large")
    source = random.Random(f"liveness {seed}")
    declared, _ = fairness_of(source, drawn_, labels_of(drawn_.graph))
    system = building.build(drawn_.machine)
    asked, _ = asked_of(Claims(source, drawn_.machine, drawn_.graph), drawn_.machine, system)
    chosen = evolve(system, properties=lambda _: asked, fairness=lambda _: declared)
    traced = trace(chosen, chosen.setting())
    if max(max(abs(node.lo), abs(node.hi)) for node in traced.graph.nodes) >= 1 << 31:
        pytest.skip("TLC's numbers have 32 bits")
    assert finally_agree(traced, tmp_path, bool(seed % 2)).total() == len(asked)


@pytest.mark.parametrize("reviewed", [False, True])
def test_fairness_and_liveness_are_in_the_module(reviewed: bool) -> None:
    """`Spec` has what is fair in all behaviours, a property what is fair for it alone, and TLC is asked for each."""
    traced = trace(walk(), walk().setting())
    made = for_people(traced) if reviewed else module(traced, "Exported", "made by a test")
    assert made.left_out == ()
    assert "Spec ==\n  /\\ Init\n  /\\ [][Next]_vars\n  /\\ Fair1\n\n" in made.text
    assert "Fair1 == WF_vars(flip)\n" in made.text
    assert "on_ ==\n  []<>(on)" in made.text
    assert re.search(r"goes_on ==\n  Fair\d+ /\\ Fair\d+ => \(\(.*\) ~> \(.*\)\)\n", made.text)
    assert re.findall("^(?:SPECIFICATION|INIT|PROPERTY) .*", made.configuration, re.MULTILINE) == [
        "SPECIFICATION Spec", *(f"PROPERTY {name}" for name in (
            "light_alone", "by_any", "by_two", "either", "in_the_dark", "after_the_other", "on_", "stays", "never",
            "goes_on"))]  # fmt: skip
    if reviewed:
        assert "SF_vars(~(on) /\\ (move(0, 2)))" in made.text


def test_a_term_has_no_name_of_another_trace() -> None:
    """A local variable names what it held, and not what has the same place in the graph of another trace."""
    one, other = (evolve_sum(Graph()) for _ in range(2))
    with source_names() as names:
        doubled(one)
    held = names.found[id(one)][3]
    assert held is one
    assert (one.index, [*names.of(other)]) == (other.index, [])
    assert [*names.of(one)] == ["kept", "doubled_kept"]


def evolve_sum(graph: Graph) -> Term:
    """The sum of a new variable and 1."""
    made = graph.variable("x", 0, 4) + 1
    assert type(made) is Term
    return made


def doubled(term: Term) -> kc.Word:
    """A sum, of which one part has a name."""
    kept = term
    return kept + kept


def test_a_claim_of_many_parts_is_a_list() -> None:
    """Conjuncts of conjuncts are on lines of one list, and no part of them has a name that says nothing."""
    apart = [kc.always("apart", "never so", lambda s: kc.each(range(3), lambda i: kc.each(range(3), lambda j: kc.negate(
        kc.all_of(s.at[0] == i, s.at[1] == j, s.on)))))]  # fmt: skip
    system = evolve(walk(), properties=apart, fairness=[])
    text = for_people(trace(system, system.setting())).text
    assert "_part ==" not in text[text.index("apart ==") :]
    assert len(re.findall(r"^  /\\ ~\(", text[text.index("apart ==") :], re.MULTILINE)) >= 6
