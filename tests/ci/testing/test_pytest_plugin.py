"""The pytest plugin and `kraftcheck.testing`: an item for each property, one exploration for all."""

import os
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen
from hypothesis import given, settings

import kraftcheck as kc
from kraftcheck import testing
from kraftcheck.ci.testing import judging
from kraftcheck.model.language.system import Bound
from tests.shared.places import ROOT

pytest_plugins = ["pytester"]

IMPORTED = judging.__name__
"""What the plugin imports as it judges: a run in this process puts `sys.modules` back, and would import it anew."""

INSTALLED = any(point.value == "kraftcheck.ci.testing.pytest_plugin" for point in entry_points(group="pytest11"))

TOYS = """
import pytest
from attrs import frozen
from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.terms import Word


@frozen
class Light:
    colour: Word


LIGHT = System(
    name="light",
    summary="A traffic light.",
    initial=lambda setting: [Light(0)],
    layout=lambda setting: Light(Range(0, 3)),
    actions=lambda setting: [Action("stay", lambda s: s)],
    properties=lambda setting: [
        Property("known", "always", "A known colour.", lambda s: s.colour <= 2),
        Property("red", "always", "Always red.", lambda s: s.colour != 0),
        Property("green", "sometimes", "Sometimes green.", lambda s: s.colour == 2),
    ],
)
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Runs pytest on a test file, with the plugin; in this process, with a cache of its own."""
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{pytester.path}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def go(text: str, *words: str) -> pytest.RunResult:
        pytester.makepyfile(lights=TOYS, test_light=text)
        plugin = [] if INSTALLED else ["-p", "kraftcheck.ci.testing.pytest_plugin"]
        return pytester.runpytest_inprocess(*plugin, "-p", "no:hypothesispytest", *words)

    return go


PLAIN = """
import pytest

@pytest.mark.kraftcheck_system("lights:LIGHT")
def test_light(kraftcheck_property):
    pass
"""


def test_each_property_is_an_item(run) -> None:
    """What holds passes; what is refuted fails with its trace, and a goal that nothing shows as vacuous."""
    result = run(PLAIN, "-v")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines([
        "*test_light[[]known[]] PASSED*", "*test_light[[]red[]] FAILED*", "*test_light[[]green[]] FAILED*",
        "*test_light[[]deadlock[]] PASSED*",
    ])  # fmt: skip
    result.stdout.fnmatch_lines([
        "red: Always red.", "refuted 0: in 0 steps, shortest", "*fails: red*",
        "again: kraftcheck explore lights:LIGHT --scope default --property red",
        "itf: *red.itf.json", "html: *red.html",
    ])  # fmt: skip
    result.stdout.fnmatch_lines(["green: Sometimes green.", "vacuous: no reachable case shows it"])


def test_expected_verdicts_are_strict(run) -> None:
    """An expected refutation passes with its length; another length, and a defect that is gone, fail."""
    text = PLAIN.replace('"lights:LIGHT"', '"lights:LIGHT", expect={"red": "refuted 0", "green": "vacuous"}')
    run(text).assert_outcomes(passed=4)
    text = PLAIN.replace('"lights:LIGHT"', '"lights:LIGHT", expect={"red": "refuted 1", "known": "refuted 0"}')
    result = run(text)
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["red: expected refuted 1, got refuted 0"])
    result.stdout.fnmatch_lines(["known: expected refuted 0, got holds"])


def test_the_properties_that_are_named_are_items(run) -> None:
    """`properties` names the items besides deadlock; of two markers of one system each judges its own."""
    named = PLAIN.replace('"lights:LIGHT"', '"lights:LIGHT", properties=["known"]')
    result = run(named + named.replace("known", "red").replace("test_light", "test_red"), "-v")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*test_light[[]known[]] PASSED*", "*test_red[[]red[]] FAILED*"])
    result.stdout.no_fnmatch_line("*green*")


@pytest.mark.parametrize("words", [[], ["-p", "no:xdist"]], ids=["with xdist", "without xdist"])
def test_strict_projects_may_use_the_plugin(words: list[str], run, pytester: pytest.Pytester) -> None:
    """With warnings as errors and strict markers all items are judged, whether or not pytest-xdist is there."""
    expecting = PLAIN.replace('"lights:LIGHT"', '"lights:LIGHT", expect={"red": "refuted 0", "green": "vacuous"}')
    pytester.makepyfile(lights=TOYS, test_light=expecting)
    plugin = [] if INSTALLED else ["-p", "kraftcheck.ci.testing.pytest_plugin"]
    pytester.runpytest_subprocess(*plugin, *words, "--strict-markers", "-W", "error").assert_outcomes(passed=4)


def test_a_folder_that_cannot_be_written_is_refused_first(pytester: pytest.Pytester) -> None:
    """Where counterexamples cannot be kept, the run ends in one line before anything is collected."""
    plugin = [] if INSTALLED else ["-p", "kraftcheck.ci.testing.pytest_plugin"]
    result = pytester.runpytest_subprocess(*plugin, "--kraftcheck-out", "/proc/x")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --kraftcheck-out: cannot write into the folder /proc/x: *"])


def properties_in(path: Path) -> dict[str, dict[str, str]]:
    """The properties of each test case in a JUnit file."""
    cases = ET.parse(path).getroot().iter("testcase")
    return {
        case.get("name", ""): {p.get("name", ""): p.get("value", "") for p in case.iter("property")} for case in cases
    }


def test_verdicts_are_in_the_junit_xml(run, pytester: pytest.Pytester) -> None:
    """Bound, number of states, seed and engine of each verdict are properties of its test case."""
    run(PLAIN, "--junitxml=out.xml")
    told = properties_in(pytester.path / "out.xml")["test_light[known]"]
    assert told["verdict"] == "holds"
    assert told["bound"] == "all 1 states of light"
    assert (told["states"], told["seed"], told["engine"]) == ("1", "none", "explore")


def test_workers_share_one_exploration(run, pytester: pytest.Pytester) -> None:
    """Under xdist all items of a system are judged by one worker's exploration; both workers run items."""
    text = PLAIN.replace('"lights:LIGHT"', '"elections", scope="tiny", rules="fixed"')
    result = run(text, "-n", "2", "-v", "--junitxml=out.xml")
    told = properties_in(pytester.path / "out.xml")
    result.assert_outcomes(passed=len(told))
    assert len(told) > 40
    assert len({case["judged_by"] for case in told.values()}) == 1
    assert all(f"[gw{number}]" in result.stdout.str() for number in range(2))


TWINS = """
import pytest
from attrs import evolve
from kraftcheck.model.language.system import Property
from lights import LIGHT


def light(colour):
    claim = Property("known", "always", "A colour.", lambda s: s.colour == colour)
    return evolve(LIGHT, properties=[claim])


@pytest.mark.kraftcheck_system(light(0))
def test_good(kraftcheck_property):
    pass


@pytest.mark.kraftcheck_system(light(1))
def test_bad(kraftcheck_property):
    pass
"""


def test_systems_of_one_name_are_judged_each(run) -> None:
    """Two systems with one name and the same ids do not get one verdict: the one that breaks its property fails."""
    result = run(TWINS, "-q", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*FAILED*test_bad*known*"])


CHANGED = """
import kraftcheck as kc
import pytest


def isr_and_elr(self, rules, rule):
    return rule(self, rules).plus(self.elr.keep(self.acceptable))


PLAIN = kc.kafka("elections", base="fixed")
KIP = PLAIN.override("election.elr.only-when-isr-empty", isr_and_elr)
ASKED = {"scope": "tiny", "properties": ["elr-elected-last", "leader-in-isr"]}


@pytest.mark.kraftcheck_system(PLAIN, **ASKED)
def test_plain(kraftcheck_property):
    pass


@pytest.mark.kraftcheck_system(KIP, **ASKED, expect={"elr-elected-last": "refuted 4"})
def test_kip(kraftcheck_property):
    assert kraftcheck_property.claim != "elr-elected-last" or "with election.elr" in kraftcheck_property.text
"""


def test_workers_judge_a_changed_system_and_the_shipped_one(run) -> None:
    """Side by side under xdist, each gets its own verdict: the rule that is replaced is so in its own system alone."""
    run(CHANGED, "-n", "2", "-q").assert_outcomes(passed=7)  # and the goal that the rule decides otherwise


def test_a_simulation_tells_its_seed(run, pytester: pytest.Pytester) -> None:
    """With walks a property that nothing broke passes as `nothing found`, and the seed is told."""
    text = PLAIN.replace('"lights:LIGHT"', '"lights:LIGHT", engine="simulate", runs=5, steps=5, seed=9')
    run(text, "--junitxml=out.xml").assert_outcomes(passed=2, failed=2)
    told = properties_in(pytester.path / "out.xml")
    assert told["test_light[known]"]["verdict"] == "nothing found"
    assert {case["seed"] for case in told.values()} == {"9"}
    assert told["test_light[red]"]["verdict"] == "refuted 0"


def test_hypothesis_judges_items(run, pytester: pytest.Pytester) -> None:
    """Examples on plain ints refute with a trace, show goals or call them vacuous, and never say that one holds."""
    text = PLAIN.replace('"lights:LIGHT"', '"lights:LIGHT", engine="hypothesis", runs=20, steps=5, seed=9')
    result = run(text, "--junitxml=out.xml", "--kraftcheck-out=shown")
    result.assert_outcomes(passed=2, failed=2)
    told = properties_in(pytester.path / "out.xml")
    assert {name: case["verdict"] for name, case in told.items()} == {
        "test_light[known]": "nothing found", "test_light[red]": "refuted 0", "test_light[green]": "vacuous",
        "test_light[deadlock]": "nothing found",
    }  # fmt: skip
    assert {(case["engine"], case["seed"], case["states"]) for case in told.values()} == {("hypothesis", "9", "none")}
    assert Path(told["test_light[red]"]["itf"]).is_file()


@pytest.mark.parametrize(
    ("arguments", "passed", "failed"),
    [
        ('"tests.shared.capped:UNCAPPED"', 1, 5),
        ('"tests.shared.capped:CAPPED"', 3, 3),
        ('"tests.shared.capped:CAPPED", strict=True', 1, 5),
        ('"tests.shared.capped:UNCAPPED", engine="simulate", runs=5, steps=9', 1, 4),
        ('"tests.shared.capped:CAPPED", engine="simulate", runs=5, steps=9', 2, 3),
        ('"tests.shared.capped:UNCAPPED", engine="hypothesis", runs=40, steps=30', 1, 4),
        ('"tests.shared.capped:CAPPED", engine="hypothesis", runs=40, steps=30', 2, 3),
    ],
)
def test_an_item_fails_where_a_domain_is_left(run, arguments: str, passed: int, failed: int) -> None:
    """Behind an undeclared bound only a goal that was shown passes; behind a cap only the goal there fails."""
    result = run(PLAIN.replace('"lights:LIGHT"', arguments))
    result.assert_outcomes(passed=passed, failed=failed, skipped=1 if "engine" in arguments else 0)
    words = "incomplete" if passed == 1 else "vacuous"
    result.stdout.fnmatch_lines(["full: *", "tests.shared.capped:*", f"{words}: *"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('"lights:LIHGT"', "has no 'LIHGT'"),
        ('"lights:LIGHT", scope="big"', "light has no scope 'big'"),
        ('"lights:LIGHT", expect={"rde": "refuted 0"}', "unknown property 'rde'; did you mean red"),
        ('"lights:LIGHT", expect={"red": "refutd"}', "expect gives red the verdict 'refutd'; did you mean refuted"),
        ('"lights:LIGHT", properties=["rde"]', "no property 'rde' at this setting; did you mean red"),
        ('"lights:LIGHT", properties="red"', "properties takes a list of ids, not 'red'; write "),
        ('"lights:LIGHT", engine="prove"', "unknown engine 'prove'"),
        ('"lights:LIGHT", scop="big"', "unknown argument 'scop'; did you mean scope"),
        ('"lights:LIGHT", time_limit="soon"', "time_limit takes a time such as 90s, 10m or 1h30m, not 'soon'"),
        ('"lights:LIGHT", engine="hypothesis", time_limit="9s"', "time_limit is of the engines explore and simulate"),
        ('"lights:LIGHT", symmetry="on"', "symmetry takes False, True or 'proven', not 'on'"),
        ('"lights:LIGHT", engine="simulate", reduce="orders"', "symmetry and reduce are of the engine explore"),
        ('"tests.toys:VALVE", engine="simulate", expect={"opens": "refuted 3"}', "which simulate does not judge"),
    ],
)
def test_a_bad_marker_is_an_error_of_its_test(run, arguments: str, told: str) -> None:
    """A marker that cannot be meant is an error that says what is wrong; the other tests of the file run."""
    result = run(PLAIN.replace('"lights:LIGHT"', arguments) + "\n\ndef test_other():\n    pass\n")
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines([f"kraftcheck_system: *{told}*"])


def test_items_fail_once_the_time_is_over(run) -> None:
    """Verdicts of a search that its `time_limit` cuts are incomplete, and no item passes."""
    endless = PLAIN.replace('"lights:LIGHT"', 'LONG, time_limit="1s"').replace(
        "import pytest\n",
        """
import pytest
import kraftcheck as kc
from lights import Light

LONG = kc.System("long", "counts", layout=Light(kc.ints(0, 1 << 50)), initial=[Light(0)],
                 actions=[kc.Action("add", lambda s: Light(s.colour + 1), lambda s: s.colour < 1 << 50)],
                 properties=[kc.always("far", "not at the end", lambda s: s.colour < 1 << 50)])
""",
    )
    result = run(endless)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*incomplete: time limit of 1s*"])


def test_the_counterexample_of_an_item_is_there_as_files(run, pytester: pytest.Pytester) -> None:
    """The files are in the folder that the option or the ini file names, and JUnit's properties name them."""
    run(PLAIN, "--kraftcheck-out=shown", "--junitxml=out.xml")
    told = properties_in(pytester.path / "out.xml")
    for name, kind in (("itf", "red.itf.json"), ("html", "red.html")):
        path = Path(told["test_light[red]"][name])
        assert (path.name, path.is_file()) == (kind, True)
        assert path.is_relative_to(pytester.path / "shown")
    assert told["test_light[red]"]["again"].startswith("kraftcheck explore lights:LIGHT ")
    assert "itf" not in told["test_light[known]"]
    pytester.makeini("[pytest]\nkraftcheck_out = elsewhere\n")
    run(PLAIN)
    assert [path.name for path in (pytester.path / "elsewhere").rglob("*.html")] == ["red.html"]


def test_reductions_of_a_marker(run) -> None:
    """Orders and proven symmetries are reduced as on the command line, and the command under a failure has them."""
    walking = '"tests.solvers.search.orders.ports:WALKING"'
    ordered = run(PLAIN.replace('"lights:LIGHT"', f'{walking}, reduce="orders"'))
    ordered.assert_outcomes(passed=1, failed=1)
    ordered.stdout.fnmatch_lines(["again: kraftcheck explore *:WALKING --scope 4 --reduce=orders --property deadlock"])
    proven = run(PLAIN.replace('"lights:LIGHT"', f'{walking}, symmetry="proven"'))
    proven.assert_outcomes(errors=2)
    proven.stdout.fnmatch_lines(["*kraftcheck_system: symmetry='proven': *"])


def test_what_walks_do_not_judge_is_skipped(run) -> None:
    """The item of a `recovers` property says that the engine does not judge it, and what does; it never passes."""
    result = run(PLAIN.replace('"lights:LIGHT"', '"tests.toys:VALVE", engine="simulate", runs=5, steps=9'), "-rs")
    result.assert_outcomes(passed=1, skipped=7)
    result.stdout.fnmatch_lines(
        ["*opens is about all runs at once, and engine='simulate' does not judge it; engine='explore' does*"]
    )


def test_walks_are_drawn_again_by_their_seed(run) -> None:
    """The command under a failure of walks has the engine, the property and all that decides what is drawn."""
    text = PLAIN.replace('"lights:LIGHT"', '"lights:LIGHT", engine="simulate", runs=5, steps=7, seed=9')
    drawn = "--runs=5 --steps=7 --seed=9 --schedule=both"
    assert f"again: kraftcheck simulate lights:LIGHT --scope default {drawn} --property red" in run(text).outlines


@pytest.mark.parametrize("system", ["lights:LIGHT", "lights.py:LIGHT"])
def test_systems_are_found_from_the_root(run, pytester: pytest.Pytester, system: str) -> None:
    """Called from a folder below, the plugin finds the system from rootdir, and its command works from there."""
    below = pytester.mkdir("below")
    pytester.makeini("[pytest]\n")
    text = PLAIN.replace("lights:LIGHT", system)
    (below / "test_below.py").write_text(text, encoding="utf-8")
    pytester.makepyfile(lights=TOYS)
    os.chdir(below)
    result = pytester.runpytest_subprocess("-p", "no:hypothesispytest", "test_below.py")
    result.assert_outcomes(passed=2, failed=2)
    found = "cd .. && kraftcheck explore lights:LIGHT" if ".py" not in system else f"kraftcheck explore ../{system}"
    result.stdout.fnmatch_lines([f"again: {found} --scope default --property red"])


def test_marker_and_argument_need_each_other(run) -> None:
    """The marker without the argument, and the argument without the marker, are errors: neither passes silently."""
    without = run(PLAIN.replace("kraftcheck_property", ""))
    without.assert_outcomes(failed=1)
    without.stdout.fnmatch_lines(["*takes the argument kraftcheck_property*"])
    alone = run("def test_light(kraftcheck_property):\n    pass\n")
    alone.assert_outcomes(errors=1)


def test_a_result_and_a_machine_are_fixtures(run) -> None:
    """A test may take what the engine says of all properties, or a machine; without the marker neither is there."""
    marked = '@pytest.mark.kraftcheck_system("lights:LIGHT"{})\n'
    made = run(
        "import pytest\nfrom kraftcheck import testing\n\n"
        + marked.format("") + "def test_states(kraftcheck_result):\n"
        "    assert (kraftcheck_result.refuted, kraftcheck_result.exit_code) == (('red',), 12)\n\n"
        + marked.format(", engine='hypothesis'") + "def test_machine(kraftcheck_machine):\n"
        "    with pytest.raises(testing.Violation, match='red does not hold'):\n"
        "        testing.run(kraftcheck_machine)\n\n"
        + marked.format(", engine='hypothesis'") + "def test_no_result(kraftcheck_result):\n    pass\n\n"
        "def test_alone(kraftcheck_machine):\n    pass\n"
    )  # fmt: skip
    made.assert_outcomes(passed=2, errors=2)
    made.stdout.fnmatch_lines(["*the engine hypothesis judges by a machine, and has no result*"])


def test_the_entry_point_names_the_plugin() -> None:
    """pyproject.toml registers the plugin with pytest."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points.pytest11]\nkraftcheck = "kraftcheck.ci.testing.pytest_plugin"' in text


@frozen
class Counter:
    """A counter."""

    count: kc.Word


def counting(most: int) -> kc.System:
    """A counter that its bound limits, and a claim that it stays at or below some number."""
    return kc.System(
        name="counting", summary="It counts.", initial=[Counter(0)], scopes={"default": {"top": 3}},
        bounds=(Bound("top", 1, 3, "where it ends"),), layout=lambda setting: Counter(kc.ints(0, setting["top"] + 1)),
        actions=lambda setting: [
            kc.Action("rise", lambda s: Counter(s.count + 1), lambda s: s.count < setting["top"]),
            kc.Action("fall", lambda s: Counter(s.count - 1), lambda s: s.count > 0),
        ],
        properties=[
            kc.always("low", "it stays low", lambda s: s.count <= most),
            kc.sometimes("rises", "it rises", lambda s: s.count > 0),
        ],
    )  # fmt: skip


FEW = settings(max_examples=50, stateful_step_count=20, derandomize=True, deadline=None, database=None)


def test_a_machine_goes_beyond_the_bounds_of_a_search() -> None:
    """The machine of a system finds at a bound that a search refuses what does not hold there, in the fewest steps."""
    testing.run(testing.machine(counting(3)), chosen=FEW)
    with pytest.raises(kc.Refusal, match=r"top = 9 is out of range 1\.\.3"):
        kc.explore(counting(3), top=9)
    with pytest.raises(testing.Violation) as found:
        testing.run(testing.machine(counting(3), top=9), chosen=FEW)
    assert len(found.value.transitions) == 4


def test_a_machine_of_a_changed_system_runs_its_rules() -> None:
    """A guard that is replaced by one that is always true enables its action in the machine of that system alone."""

    def always(self: Any, state: Any, broker: Any) -> Any:
        return {"always": state.leader == state.leader}

    plain = kc.kafka("sessions", "fixed")
    enabled = []
    for system in (plain, plain.override("shutdown.broker-follows-metadata", always), plain):
        engine = testing.machine(system).engine
        (kind,) = [number for number, action in enumerate(engine.actions) if action.name == "apply"]
        enabled.append(engine.first_enabled(engine.initial[0], kind) is not None)
    assert enabled == [False, True, False]


def test_assert_holds_judges_as_the_marker_does(tmp_path: Any) -> None:
    """It passes what holds and what is expected, and fails with the trace of what does not hold, by each engine."""
    for engine in ("explore", "simulate", "hypothesis"):
        how: dict[str, Any] = {"engine": engine, "out": tmp_path}
        how |= {} if engine == "explore" else {"runs": 50, "steps": 20}
        testing.assert_holds(counting(3), **how)
        testing.assert_holds(counting(2), expect={"low": "refuted 3"}, **how)
        testing.assert_holds(counting(2), expect={"low": "refuted"}, **how)
        with pytest.raises(AssertionError, match=r"low: it stays low\n.*(\n.*)*\n  3  rise\(\)"):
            testing.assert_holds(counting(2), **how)
        with pytest.raises(AssertionError, match="low: expected refuted, got"):
            testing.assert_holds(counting(3), expect={"low": "refuted"}, **how)


def test_what_cannot_be_asked_is_refused() -> None:
    """An unknown bound, one that is too small, and liveness of a machine are refused by name."""
    with pytest.raises(kc.Refusal, match="counting has no bound 'tip'; did you mean top"):
        testing.machine(counting(3), tip=2)
    with pytest.raises(kc.Refusal, match="top = 0 is out of range"):
        testing.machine(counting(3), top=0)
    live = evolve(counting(3), properties=[kc.eventually("ends", "it ends", lambda s: s.count == 3)])
    with pytest.raises(ValueError, match="machines check safety only; leave the liveness out: ends"):
        testing.machine(live)
    with pytest.raises(kc.Refusal, match="hypothesis"):
        testing.assert_holds(live, engine="hypothesis")
    ways_out = evolve(counting(3), properties=[kc.recovers("back", "it can be 0 again", lambda s: s.count == 0)])
    for engine in ("simulate", "hypothesis"):
        with pytest.raises(kc.Refusal, match=rf"the engine {engine} does not judge back; take the engine"):
            testing.assert_holds(ways_out, engine=engine)


def test_strategies_draw_from_a_system() -> None:
    """The interpreter of a system is there for strategies of reachable states and of enabled steps."""
    seen = set()

    @FEW
    @given(testing.reachable(testing.integers(counting(3)), steps=3))
    def draw(state: Counter) -> None:
        seen.add(state.count)

    draw()
    assert {0, 1} < seen <= {0, 1, 2, 3}
