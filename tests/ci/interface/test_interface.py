"""`import kraftcheck`: engines as functions answer what the commands answer, expressions and reductions too."""

import doctest
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.solvers.traces.itf import document
from tests import toys
from tests.examples.barriers import BARRIERS
from tests.shared.commands import kraftcheck
from tests.shared.places import DOCS, ROOT, TESTS
from tests.solvers.search.orders.ports import LOCK, WALKING


@frozen
class Tank:
    """A tank and its valve."""

    level: kc.Word
    valves: kc.IntSet


def turned(s: Tank) -> Tank:
    """The tank with its valve turned."""
    return Tank(s.level, kc.IntSet(kc.choose(s.valves.has(0), 0, 1)))


def tank(highest: int = 3) -> kc.System:
    """A tank that fills while its valve is open: lists where nothing depends on the setting."""
    return kc.System(
        name="tank",
        summary="a tank that fills",
        layout=Tank(kc.ints(0, 5), kc.IntSet(kc.subset_of(2))),
        initial=[Tank(0, kc.IntSet.of([0]))],
        actions=[
            kc.Action("fill", lambda s: Tank(s.level + 1, s.valves), lambda s: kc.all_of(s.level < 4, s.valves.has(0))),
            kc.Action("turn", turned, lambda s: s.level < 4),
        ],
        properties=[
            kc.always("not-full", "the level stays low", lambda s: s.level <= highest),
            kc.sometimes("is-half", "the tank is half full", lambda s: s.level == 2),
            kc.happens("turns", "the valve is turned", lambda t: kc.negate(t.before.valves.same(t.after.valves))),
        ],
        quiescent=lambda s: s.level == 4,
    )


def test_every_public_name_is_there() -> None:
    """Each name of `__all__` is imported on demand, has a docstring where it is ours, and is listed by dir()."""
    assert set(kc.__all__) <= {*dir(kc)}
    silent = {name for name in kc.__all__ if not (getattr(kc, name).__doc__ or "").strip()}
    assert silent <= {"Truth", "Word"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A name that is not public is refused as of any module."""
    with pytest.raises(AttributeError, match="module 'kraftcheck' has no attribute 'exlore'"):
        _ = kc.exlore  # type: ignore[attr-defined]


def test_importing_loads_no_engine() -> None:
    """`import kraftcheck` alone imports none of the packages that take time."""
    code = "import sys, kraftcheck; print({'click', 'numpy', 'z3', 'llvmlite', 'attrs'} & sys.modules.keys())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


def untimed(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document without what depends on the clock and on the number of threads."""
    rest = {key: value for key, value in document.items() if key not in ("seconds", "rates")}
    return {**rest, "states": {**rest["states"], "bytes_per_state": None}}


@pytest.mark.parametrize("rules", ["fixed", "kafka-4.0"])
def test_exploring_answers_what_the_command_answers(rules: str) -> None:
    """Verdicts, counts and exit code are those of the command, whose document the result holds, times aside."""
    asked = kc.explore("elections", scope="tiny", rules=rules)
    ran = kraftcheck("explore", "elections", "--scope", "tiny", "--rules", rules, "--json", "-", "--quiet")
    told = ran.document()
    assert asked.exit_code == ran.code == (0 if rules == "fixed" else 12)
    assert untimed(asked.document) == untimed(told)
    assert set(asked.verdicts) == {row["id"] for row in told["properties"]}
    assert asked.refuted == tuple(row["id"] for row in told["properties"] if row["verdict"] == "refuted")


def test_a_system_of_ones_own_needs_no_module() -> None:
    """A system is explored as it is; its parts may be lists; its states come back as its own records."""
    asked = kc.explore(tank())
    assert asked.refuted == ("not-full",)
    trace = asked.trace("not-full")
    assert [step.action for step in trace.steps] == ["fill"] * 4
    assert trace.steps[-1].state == Tank(4, kc.IntSet.of([0]))
    assert asked.trace("is-half").steps[-1].state.level == 2
    kc.explore(tank(4)).assert_holds()


def test_lists_are_read_once() -> None:
    """A list that is changed after the system was made changes nothing, and an iterator is not used up."""
    claims = [kc.always("low", "low", lambda s: kc.any_of(s.hand == 0, s.hand == 1))]
    system = kc.System("clock", "a clock", iter([toys.Clock(0)]), toys.CLOCK.actions, toys.CLOCK.layout, claims)
    claims.clear()
    assert [list(kc.explore(system).verdicts) for _ in range(2)] == [["low", "deadlock"]] * 2


def test_states_come_as_records_and_columns() -> None:
    """All reachable states: an iterator of records, an Arrow table and a data frame with a column a field agree."""
    states = kc.explore(tank()).states()
    records = {(one.level, one.valves.mask) for one in states}
    assert records == {(level, mask) for level in range(5) for mask in (0, 1)} - {(4, 0)}
    table, frame = states.arrow(), states.to_pandas()
    assert len(states) == table.num_rows == len(frame) == 9
    assert table.column_names == list(frame.columns) == ["level", "valves"]
    told = {(level, (0,) if mask else ()) for level, mask in records}
    assert {(row["level"], (*row["valves"],)) for row in table.to_pylist()} == told
    assert set(zip(frame.level, map(tuple, frame.valves), strict=True)) == told


@pytest.mark.parametrize(
    ("form", "package", "extra"), [("arrow", "pyarrow", "spark"), ("to_pandas", "pandas", "notebook")]
)
def test_a_missing_package_is_named(form: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package of an extra, its form of the states is refused in a line that says what to install."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(kc.Refusal, match=rf"{package} is not installed; pip install 'kraftcheck\[{extra}\]'"):
        getattr(kc.explore(tank()).states(), form)()


def test_truths_are_truths_in_columns() -> None:
    """A field that is a truth is a column of truths."""
    columns = kc.explore("elections", scope="tiny", rules="fixed").states().arrow()
    assert str(columns["recovering"].type) == "bool"
    assert set(columns["leader"].to_pylist()) == {None, 0, 1}


def test_what_does_not_hold_fails_with_its_trace() -> None:
    """`assert_holds` raises with the verdict and the counterexample; what holds besides does not fail."""
    asked = kc.explore(tank())
    with pytest.raises(AssertionError) as failed:
        asked.assert_holds()
    assert "tank, scope default" in str(failed.value)
    assert "not-full: refuted 4 in 4 steps, shortest" in str(failed.value)
    assert "  4  fill()\n      level: 3 -> 4" in str(failed.value)
    asked.assert_holds("is-half", "turns", "deadlock")


@pytest.mark.parametrize(
    ("asked", "claim", "word"),
    [
        (lambda: kc.explore(tank(4), max_depth=1), "not-full", "incomplete"),
        (lambda: kc.explore(tank(4), max_depth=1), "is-half", "incomplete"),
        (lambda: kc.simulate(tank(4), runs=5, steps=5), "not-full", "incomplete"),
        (lambda: kc.simulate(tank(4), runs=1, steps=1), "is-half", "vacuous"),
        (lambda: kc.prove(tank(), search_states=0), "not-full", "unknown"),
    ],
    ids=["cut", "cut-goal", "walks", "walks-goal", "proof"],
)
def test_what_is_not_known_is_no_pass(asked: Callable[[], kc.Result], claim: str, word: str) -> None:
    """An incomplete, a vacuous and an unknown verdict fail an assertion."""
    with pytest.raises(AssertionError, match=f"{claim}: {word} "):
        asked().assert_holds(claim)


def test_questions_about_what_was_not_judged_are_refused() -> None:
    """An id that was not judged is an error that names the nearest; a verdict without a trace is one too."""
    asked = kc.explore(tank())
    with pytest.raises(KeyError, match=r"'not-ful' was not judged; did you mean not-full"):
        asked.assert_holds("not-ful")
    with pytest.raises(ValueError, match="deadlock: the verdict is holds, which has no trace"):
        asked.trace("deadlock")
    with pytest.raises(ValueError, match="not kept"):
        kc.explore(tank(), keep=False).states()
    with pytest.raises(ValueError, match="simulate keeps no states"):
        kc.simulate(tank(), runs=1).states()


def test_walks_refute_and_never_prove() -> None:
    """A counterexample of random walks is reported, not as the shortest; the exit code is that of the command."""
    asked = kc.simulate(tank(), runs=50, seed=3)
    assert (asked.refuted, asked.exit_code) == (("not-full",), 12)
    assert "shortest" not in str(asked)
    assert len(asked.trace("not-full").steps) >= 4
    assert kc.simulate(tank(4), runs=50, seed=3).exit_code == 0


def test_proofs_are_for_any_number_of_steps() -> None:
    """What is inductive is proven; what is not is looked up among the reachable states, and refuted with its trace."""
    kc.prove(tank(4)).assert_holds()
    asked = kc.prove(tank())
    assert (asked.refuted, asked.exit_code) == (("not-full",), 12)
    assert len(asked.trace("not-full").steps) == 4
    proven = kc.prove("elections", rules="fixed", scope="tiny", properties=["leader-in-isr"])
    assert list(proven.verdicts) == ["leader-in-isr"]
    proven.assert_holds()
    assert "assurance: answered by Z3" in str(proven)


def test_a_log_is_replayed() -> None:
    """A captured log is explained, and the report holds what the command prints and writes."""
    report = kc.replay(TESTS / "captured" / "elr")
    report.assert_holds()
    assert "explained 78 of 78 batches" in str(report)
    ran = kraftcheck("replay", TESTS / "captured" / "elr", "--json", "-")
    assert ran.document() == report.document
    wrong = kc.replay(TESTS / "captured" / "elr", rules="kafka-4.1+bump-on-isr-shrink")
    assert wrong.exit_code == 23
    with pytest.raises(AssertionError, match="batches"):
        wrong.assert_holds()


def test_vectors_are_run() -> None:
    """Cases of Kafka's own tests pass under their rules, and not under wrong ones."""
    place = TESTS / "vectors" / "partition_change.json"
    assert kc.conform(place, allow_unsupported=True).exit_code == 0
    wrong = kc.conform(place, rules="kafka-4.0+no-bump-on-replica-removal")
    assert wrong.exit_code == 23
    with pytest.raises(AssertionError, match="failed"):
        wrong.assert_holds()


def test_reports_are_pages_in_a_notebook() -> None:
    """The report of a result, and of a comparison, is HTML with every property; markup in names is escaped."""
    page = kc.explore("tests.shared.faulty:STRANGE_WORDS")._repr_html_()
    assert page.count("<tr>") == 1 + len(kc.explore("tests.shared.faulty:STRANGE_WORDS").verdicts)
    assert kc.Report(0, {}, "<b>&")._repr_html_() == "<pre>&lt;b&gt;&amp;</pre>"


def test_a_trace_prints_as_commands_show_it() -> None:
    """The text of a trace has its states, steps and what fails; a property without one has no text."""
    found = kc.explore(tank(1))
    said = found.text("not-full")
    assert said.startswith("  0  initial state\n      level = 0\n")
    assert "  1  fill()\n      level: 0 -> 1\n" in said
    assert said.endswith("     fails: not-full")
    with pytest.raises(ValueError, match="has no trace"):
        found.text("deadlock")


KEPT = iter([kc.always("full", "It is full.", lambda s: s.level < 3)])  # of claims, which are gone through once
IDLE = "fixed+hw-uses-proposed-isr"  # a variant of the data plane, which `elections` does not have

REFUSED: list[tuple[str, Callable[[], Any], str]] = [
    ("system", lambda: kc.explore("electons"), "did you mean elections"),
    ("no-system", lambda: kc.explore([tank()]), "is no system: give a kraftcheck.System, or the name of one"),
    ("no-system-to-prove", lambda: kc.prove(3), "3 is no system"),
    ("no-argument", lambda: kc.explore(tank(), propertys=["full"]), "it is a bound, or no argument at all"),
    ("one-id", lambda: kc.explore(tank(), properties="full"), r"properties takes a list of ids, not 'full'"),
    ("one-claim", lambda: kc.prove(tank(), properties="full"), r"properties takes a list of ids, not 'full'"),
    ("bound", lambda: kc.explore("elections", broker=2), "no bound 'broker'; did you mean brokers"),
    ("value", lambda: kc.explore("elections", brokers=9), "brokers = 9 is out of range"),
    ("number", lambda: kc.explore("elections", brokers="2"), "brokers takes an int, not '2'"),
    ("truth", lambda: kc.explore("elections", brokers=True), "brokers takes an int, not True"),
    ("rules", lambda: kc.explore("elections", rules="fixed+nothing"), "unknown variant 'nothing'"),
    ("idle-rules", lambda: kc.explore("elections", scope="tiny", rules=IDLE), "changes nothing in elections"),
    ("idle-walks", lambda: kc.simulate("elections", scope="tiny", rules=IDLE), "changes nothing in elections"),
    ("idle-proof", lambda: kc.prove("elections", scope="tiny", rules=IDLE), "changes nothing in elections"),
    ("no-rules", lambda: kc.explore(tank(), rules="fixed"), "tank takes no rule set"),
    ("property", lambda: kc.explore(tank(), properties=["full"]), "tank has no property 'full'"),
    ("iterator", lambda: kc.prove(evolve(tank(), properties=lambda b: KEPT)), "properties gave an iterator"),
    ("no-layout", lambda: kc.explore(evolve(tank(), layout=lambda b: None)), "is None, no domain"),
    ("threads", lambda: kc.explore(tank(), threads=0), "threads takes an int of at least 1, not 0"),
    ("symmetry", lambda: kc.explore(tank(), symmetry=True), "symmetry=True: tank"),
    ("runs", lambda: kc.simulate(tank(), runs=0), "runs takes an int of at least 1, not 0"),
    ("schedule", lambda: kc.simulate(tank(), schedule="all"), "schedule is 'all', none of weighted, priority, both"),
    ("claim", lambda: kc.prove(tank(), properties=["is-half"]), "tank has nothing to prove named 'is-half'"),
    ("fraction", lambda: kc.explore(tank(), threads=1.5), "threads takes an int of at least 1, not 1.5"),
    ("timeout", lambda: kc.prove(tank(), timeout=0), "timeout takes seconds above 0, not 0"),
    ("endless", lambda: kc.prove("replication", scope="tiny", unbounded=1, solver="bitwuzla"), "bitwuzla knows"),
    ("solver", lambda: kc.prove(tank(), solver="yices"), "solver is 'yices', none of "),
    ("log", lambda: kc.replay("/nowhere"), "/nowhere"),
    ("no-log", lambda: kc.replay(), "at least one path"),
    ("vectors", lambda: kc.conform("/nowhere.json"), "/nowhere.json"),
    ("engine", lambda: kc.explore(tank(), engine="dsk"), "engine is 'dsk', none of native, disk, spark"),
    ("cluster", lambda: kc.explore(tank(), cluster={"resum": True}), "no option 'resum'; did you mean resume"),
    ("idle", lambda: kc.explore(tank(), cluster={"resume": True}), "--resume is an option of"),
    ("find", lambda: kc.explore(tank(), find="level =="), "tank: --find"),
    ("find-judges", lambda: kc.explore(tank(), find="level == 1", properties=["deadlock"]), "find judges no property"),
    ("orders", lambda: kc.explore(tank(), find="level == 1", reduce="orders"), "find asks for the shortest way"),
    ("disk-orders", lambda: kc.explore(tank(), engine="disk", reduce="orders"), "works with engine='native'"),
    ("time", lambda: kc.explore(tank(), time_limit="5"), "time_limit takes a time"),
    ("out", lambda: kc.explore(tank(), out="/proc/x"), "/proc/x"),
    ("url", lambda: kc.explore(tank(), out="s3://bucket/run"), "is a URL"),
    ("open", lambda: kc.open("/nowhere"), "/nowhere"),
    ("query", lambda: kc.query("/nowhere", "SELECT 1"), "/nowhere"),
    ("rows", lambda: kc.query("/nowhere", "SELECT 1", limit=0), "limit takes an int of at least 1"),
    ("check", lambda: kc.check("electons", built_in=True), "did you mean elections"),
    ("faults", lambda: kc.whatif("/nowhere", faults=9), "faults takes an int from 0 to 6"),
    ("whatif", lambda: kc.whatif("/nowhere"), "/nowhere"),
    ("status", lambda: kc.status("/nowhere"), "/nowhere"),
    ("unknown", lambda: kc.explore(LOCK, reduce="all"), "reduce is 'all', none of none, orders"),
    ("symmetry-word", lambda: kc.explore(LOCK, symmetry="on"), "symmetry takes False, True or 'proven', not 'on'"),
    (
        "both",
        lambda: kc.explore(LOCK, symmetry="proven", reduce="orders"),
        "reduce='orders' cannot be combined with symmetry='proven'; take one of the two",
    ),
    ("declared", lambda: kc.explore(WALKING, symmetry=True), "symmetry=True: "),
    ("told apart", lambda: kc.explore(WALKING, symmetry="proven"), "symmetry='proven': "),
    (
        "recovers",
        lambda: kc.explore(toys.VALVE, reduce="orders"),
        "reduce='orders': property opens (recovers) is about all that may follow",
    ),
    ("text", lambda: kc.explore(tank(), invariants="level < 3"), "invariants takes expressions by name"),
    ("nameless", lambda: kc.explore(tank(), invariants={"": "level < 3"}), "invariants takes expressions by name"),
    ("no-text", lambda: kc.explore(tank(), invariants=[3]), "invariants takes expressions by name"),
    ("no-field", lambda: kc.explore(tank(), invariants={"low": "y < 3"}), "y"),
    ("taken", lambda: kc.explore(tank(), invariants={"not-full": "level < 3"}), "tank has a property 'not-full'"),
    ("idle-when", lambda: kc.explore(tank(), when="level < 3"), "when says where invariants have to hold"),
]


@pytest.mark.parametrize(("asked", "says"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_cannot_be_asked_is_refused_in_a_line(asked: Callable[[], Any], says: str) -> None:
    """Bad arguments raise `Refusal` with one line that names the argument and what is nearest."""
    with pytest.raises(kc.Refusal) as refused:
        asked()
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_rule_that_differs_between_ints_and_words_gets_no_verdict() -> None:
    """A result is audited as the command's is: what ints do not confirm is an error."""
    from tests.shared.faulty import TWO_FACED

    with pytest.raises((kc.Refusal, kc.EngineDisagreement)):
        kc.explore(TWO_FACED)


def test_interrupting_a_search_stops_it() -> None:
    """Ctrl-C during a long exploration raises KeyboardInterrupt in the caller, soon."""
    code = (
        "import signal\nimport kraftcheck as kc\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # also below a shell that ignores it
        "try:\n    kc.explore('replication', scope='large', progress=lambda now: print('on', flush=True))\n"
        "except KeyboardInterrupt:\n    print('stopped')\n"
    )
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        while process.stdout.readline() not in ("on\n", ""):
            pass
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert rest.endswith("stopped\n")
    assert time.monotonic() - asked < 15


@pytest.mark.parametrize(("engine", "name"), [(kc.prove, "timeout"), (kc.explore, "max-depth"), (kc.simulate, "runs")])
def test_no_argument_hides_a_bound(engine: Callable[..., Any], name: str) -> None:
    """What would be taken for an argument of the engine is none of a bound's, whose number would stay as it was."""
    hidden = evolve(tank(), bounds=[kc.Bound(name, 1, 3, "a number")], scopes={"default": {name: 1}})
    with pytest.raises(kc.Refusal, match=f"tank: {name} is an argument of {engine.__name__}.*give bound '{name}' an"):
        engine(hidden)


@frozen
class Dial:
    """A number that counts round."""

    x: kc.Word


DIAL = kc.System(
    "dial", "a dial", [Dial(0)], [kc.Action("turn", lambda s: Dial(kc.choose(s.x == 3, 0, s.x + 1)))],
    Dial(kc.ints(0, 7)), [kc.always("small", "it is small", lambda s: s.x < 4)],
)  # fmt: skip


def judged(found: Any) -> Mapping[str, str]:
    """The verdicts in a word each."""
    return {claim: type(verdict).__name__ for claim, verdict in found.verdicts.items()}


def test_an_expression_is_a_property_of_the_name_that_it_is_given() -> None:
    """By name or by text it is judged beside the system's own properties, or alone where it is named."""
    both = kc.explore(DIAL, invariants={"below-five": "x < 5", "even": "x != 1"}, when="x < 3")
    assert judged(both) == {
        "small": "Holds", "below-five": "Vacuous", "even": "Refuted", "x < 3": "Holds", "deadlock": "Holds",
    }  # fmt: skip
    assert [step.action for step in both.trace("even").steps] == ["turn"]
    assert judged(kc.explore(DIAL, invariants=["x < 3"], properties=["x < 3"])) == {"x < 3": "Refuted"} | {
        "deadlock": "Holds"
    }
    assert judged(kc.prove(DIAL, invariants={"four": "x < 4"}, properties=["four"])) == {"four": "Holds"}
    assert judged(kc.simulate(DIAL, runs=2, steps=9, invariants={"two": "x < 2"}))["two"] == "Refuted"


def test_an_expression_that_is_about_no_state_is_vacuous() -> None:
    """A condition that nothing reachable satisfies makes what it conditions vacuous."""
    assert judged(kc.explore(DIAL, invariants={"big": "x == 0"}, when="x > 5"))["big"] == "Vacuous"


def test_a_trace_of_a_named_expression_is_found_by_the_command_line() -> None:
    """The trace file names the property as the command line does, which knows no names of expressions."""
    asked = kc.explore(DIAL, invariants={"low": "x < 2"})
    told = document(asked.trace("low"), asked.exploration.program, "dial", None, True)["#meta"]["kraftcheck"]
    assert (told["property"], told["options"]) == ("x < 2", {"invariant": "x < 2"})


def test_orders_are_left_out() -> None:
    """The verdicts of the lock are those of the full search, in fewer states; no trace is called shortest."""
    whole, some = kc.explore(LOCK), kc.explore(LOCK, reduce="orders")
    assert some.exploration is not None
    assert whole.exploration is not None
    assert some.exploration.distinct < whole.exploration.distinct / 2
    assert {one: type(verdict) for one, verdict in some.verdicts.items()} == {
        one: type(verdict) for one, verdict in whole.verdicts.items()
    }
    assert not some.exploration.shortest
    assert some.document["orders"]["reduced"] > 0


@pytest.mark.slow
def test_symmetries_are_proven() -> None:
    """Barriers has no declared symmetry; what its layout suggests is proven, and 368 of 29,279 states are left."""
    assert len(kc.explore(BARRIERS, symmetry="proven").states()) == 368


@frozen
class Counters:
    """Three counters."""

    one: kc.Word
    two: kc.Word
    three: kc.Word


def test_a_state_is_found_by_an_expression() -> None:
    """`find` returns the shortest way, judges nothing else, and says what is not reachable."""
    found = kc.explore(tank(), find="level == 2")
    assert (found.last_line, found.exit_code) == ("found in 2 steps (exit 0)", 0)
    assert [len(trace.steps) for trace in found.traces(goals=True)] == [2]
    none = kc.explore(tank(), find="level == 1 and level == 2")
    assert none.exit_code == 21
    assert len(found.judged) == len(none.judged) == 1


def test_one_expression_is_an_invariant() -> None:
    """`invariant` adds one expression to those of `invariants`, for every engine."""
    for ask in (kc.explore, kc.prove):
        asked = ask(tank(), invariant="level < 5", invariants=["level != 5"])
        asked.assert_holds("level < 5", "level != 5")
    assert "level < 2" in kc.simulate(tank(), invariant="level < 2", runs=50).refuted


@pytest.mark.parametrize("engine", ["native", "disk"])
def test_a_finished_run_is_opened(engine: str, tmp_path: Path) -> None:
    """What a search leaves in its folder is read again: the same counterexamples, and the dataset of disk."""
    system, out = "tests.toys:DIGRAPH", tmp_path / "run"
    asked = kc.explore(system, engine=engine, out=out, **({"cluster": {"handover": 0}} if engine == "disk" else {}))
    run = kc.open(out, system=system)
    assert {claim: len(trace.steps) for claim, trace in run.traces.items()} == {
        claim: len(asked.trace(claim).steps) for claim in asked.refuted
    }
    assert asked.refuted
    if engine == "native":
        assert run.document == json.loads(json.dumps(asked.document))
        with pytest.raises(kc.Refusal, match="has no dataset"):
            run.sql("SELECT 1")
    else:
        answer = kc.query(out, "SELECT count(*) AS n FROM states", system=system)
        assert (answer.columns, answer.rows, answer.complete) == (["n"], [(asked.exploration.distinct,)], True)
        assert run.sql("SELECT count(*) AS n FROM states").rows == answer.rows
        assert int(answer.to_pandas().n[0]) == asked.exploration.distinct


def test_an_engine_gives_the_verdicts_of_the_other() -> None:
    """The disk engine finds the same verdicts and lengths as the native one."""
    here, there = (kc.explore("tests.toys:DIGRAPH", engine=engine) for engine in ("native", "disk"))
    assert [(one.claim, type(one.verdict), one.depth) for one in here.judged] == [
        (one.claim, type(one.verdict), one.depth) for one in there.judged
    ]


def test_time_ends_a_search() -> None:
    """Past `time_limit` verdicts are incomplete, and say why; the next call has no limit."""
    counters = kc.System(
        name="counters", summary="many states", layout=Counters(*[kc.ints(0, 4000)] * 3), initial=[Counters(0, 0, 0)],
        actions=[
            kc.Action("one", lambda s: Counters(s.one + 1, s.two, s.three), lambda s: s.one < 4000),
            kc.Action("two", lambda s: Counters(s.one, s.two + 1, s.three), lambda s: s.two < 4000),
            kc.Action("three", lambda s: Counters(s.one, s.two, s.three + 1), lambda s: s.three < 4000),
        ],
        properties=[],
    )  # fmt: skip
    asked = kc.explore(counters, time_limit="4s")
    assert asked.exit_code == 20
    assert asked.verdict("deadlock").cut.startswith("time limit of 4s")
    assert kc.explore(tank(4)).exit_code == 0


def test_reports_are_those_of_the_command(tmp_path: Path) -> None:
    """JUnit, SARIF and JSON of a result are what the command writes, times aside."""
    sarif = tmp_path / "run.sarif"
    ran = kraftcheck("explore", "tests.toys:DIGRAPH", "--sarif", sarif, "--quiet")
    asked = kc.explore("tests.toys:DIGRAPH")
    assert ran.code == asked.exit_code == 12
    assert json.loads(asked.sarif())["runs"][0]["results"] == json.loads(sarif.read_text())["runs"][0]["results"]
    assert 'name="never-5"' in asked.junit()


def test_a_check_is_the_command() -> None:
    """`kc.check` compares the rows that it is asked for, and a row with an unknown name is refused."""
    report = kc.check("elr-index", scope="tiny", rules="fixed", built_in=True)
    report.assert_holds()
    assert "0 unexpected" in str(report)
    assert [run["system"] for run in report.document["runs"]] == ["elr-index"]


def test_a_table_is_checked(tmp_path: Path) -> None:
    """A table of runs is executed, and an expectation that fails is in the report."""
    table = tmp_path / "kraftcheck.toml"
    table.write_text('[[runs]]\nsystem = "elr-index"\nscope = "tiny"\nrules = "fixed"\n'
                     'expect = {controller-stays = "refuted"}\n')  # fmt: skip
    report = kc.check(config=table)
    assert report.exit_code == 12
    with pytest.raises(AssertionError, match="expected refuted, got holds"):
        report.assert_holds()


def test_a_status_is_that_of_the_command() -> None:
    """`kc.status` says what the command says, with its exit code; anything but 0 is no pass."""
    ran = kraftcheck("status", TESTS / "captured" / "no-elr")
    report = kc.status(TESTS / "captured" / "no-elr")
    assert (report.exit_code, report.text) == (ran.code, ran.out) == (10, ran.out)
    with pytest.raises(AssertionError, match="one fault from offline"):
        report.assert_holds()


def test_distances_are_those_of_the_command() -> None:
    """`kc.whatif` counts faults as the command does."""
    place = TESTS / "captured" / "elr"
    ran = kraftcheck("whatif", place, "--faults", "1", "--json", "-")
    assert kc.whatif(place, faults=1).document == ran.document()


def test_the_examples_of_the_page_run() -> None:
    """Each `>>>` of the page gives what is written below it."""
    flags = doctest.NORMALIZE_WHITESPACE
    ran = doctest.testfile(str(DOCS / "how-to" / "python.md"), module_relative=False, optionflags=flags)
    assert ran.attempted > 10
    assert ran.failed == 0
