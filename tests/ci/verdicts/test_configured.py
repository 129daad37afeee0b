"""`kraftcheck check` of a user's own table of runs: found, executed, compared strictly, refused in one line."""

import json
import os
import resource
import shlex
from pathlib import Path

import pytest

from kraftcheck.ci.run.judged import JudgedProperty, JudgedRun
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.verdicts.runs import _texts
from tests.ci.fuzz.bounds import bounded
from tests.ci.verdicts.reports.reading import cases, read_junit
from tests.shared.commands import Ran, kraftcheck, start

LAMP = """
import kraftcheck as kc
from attrs import frozen

@frozen
class Lamp:
    colour: kc.Word

LAMP = kc.System(
    name="lamp", summary="A lamp.", layout=Lamp(kc.ints(0, 3)), initial=[Lamp(0)],
    actions=[kc.Action("next", lambda s: Lamp(kc.choose(s.colour == 2, 0, s.colour + 1)))],
    properties=[
        kc.always("known", "a colour is known", lambda s: s.colour <= 2),
        kc.always("never-two", "two is never shown", lambda s: s.colour != 2),
        kc.sometimes("shows-three", "three is shown", lambda s: s.colour == 3),
    ],
)
"""

KRAFT = '[[runs]]\nsystem = "kraft"\n'

TABLE = """
[[runs]]
name = "search"
system = "lamps/lamp.py:LAMP"
[runs.expect]
never-two = "refuted 2"
shows-three = "vacuous"

[[runs]]
name = "walks"
system = "lamps/lamp.py:LAMP"
engine = "simulate"
runs = 5
steps = 9
expect = {never-two = "refuted", shows-three = "vacuous"}

[[runs]]
name = "proof"
system = "lamps/lamp.py:LAMP"
engine = "prove"
properties = ["known"]
"""


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a lamp and a table of runs, whose root is the working folder."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "lamps").mkdir()
    (tmp_path / "lamps" / "lamp.py").write_text(LAMP, encoding="utf-8")
    (tmp_path / "kraftcheck.toml").write_text(TABLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "lamp", raising=False)
    return tmp_path


def check(*words: object) -> Ran:
    """The check of the table."""
    return kraftcheck("check", "--quiet", "--workers", "1", *words)


def faulty(text: str) -> str:
    """The refusal of a table; but for the line that says whose code is run, nothing else was written."""
    Path("bad.toml").write_text(text, encoding="utf-8")
    ran = check("--config", "bad.toml")
    assert ran.out.count("\n") <= 1
    assert ran.out.startswith("runs of bad.toml" if ran.out else "")
    return Ran(ran.code, "", ran.err).refusal()


def test_every_run_is_executed_and_compared() -> None:
    """Search, walks and proof are as the table expects: exit code 0, a line for each run."""
    ran = check()
    assert (ran.code, ran.last) == (0, "9 verdicts, 0 unexpected (exit 0)")
    lines = ran.out.splitlines()
    assert lines[0] == "runs of kraftcheck.toml, which run the code of lamps/lamp.py"
    assert lines[1] == "search: 3 distinct states, depth 2, 4 verdicts, as expected"
    assert [line.split(":")[0] for line in lines[1:4]] == ["search", "walks", "proof"]


def test_it_is_found_from_a_folder_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a sub-folder the table above is found, and its files are found from the table's folder."""
    monkeypatch.chdir("lamps")
    ran = check("search")
    assert (ran.code, ran.last) == (0, "4 verdicts, 0 unexpected (exit 0)")
    assert ran.out.startswith("runs of ../kraftcheck.toml, which run the code of lamp.py\n")


def test_the_search_ends_at_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table above the root of the repository is not this repository's: the built-in rows are checked."""
    (tmp_path / "inner" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "inner")
    assert "no expected verdicts for scope 'none'" in check("--scope", "none").refusal()


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table whose module leaves a mark once it is imported, in a folder without a repository, and a folder below."""
    (tmp_path / ".git").rmdir()
    monkeypatch.delitem(__import__("sys").modules, "mark", raising=False)
    (tmp_path / "mark.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'mark')!r})\n{LAMP}", encoding="utf-8")
    (tmp_path / "kraftcheck.toml").write_text('[[runs]]\nsystem = "mark.py:LAMP"\n[runs.expect]\n'
                                              'never-two = "refuted"\nshows-three = "vacuous"\n')  # fmt: skip
    (tmp_path / "below").mkdir()
    return tmp_path


@pytest.mark.parametrize("name", ["kraftcheck.toml", "pyproject.toml"])
def test_without_a_repository_nothing_above_is_looked_for(
    name: str, hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The built-in rows are checked, and no module that a table above names is run; in its own folder it counts."""
    table = hostile / "kraftcheck.toml"
    if name == "pyproject.toml":
        text = table.read_text().replace("[runs", "[tool.kraftcheck.runs")
        table.rename(hostile / name).write_text(text)
    monkeypatch.chdir(hostile / "below")
    assert "no expected verdicts for scope 'none'" in check("--scope", "none").refusal()
    assert not (hostile / "mark").exists()
    monkeypatch.chdir(hostile)
    ran = check()
    assert (ran.code, ran.out.splitlines()[0]) == (0, f"runs of {name}, which run the code of mark.py")
    assert (hostile / "mark").exists()


@pytest.mark.parametrize("fault", ["raise SystemExit(0)", "raise ValueError('no lamp')", "import os; os._exit(0)"])
def test_whose_code_is_run_is_said_before_it_is(fault: str, repository: Path) -> None:
    """The first line is out before a module is imported, however that ends."""
    (repository / "lamps" / "lamp.py").write_text(f"print('imported', flush=True)\n{fault}\n", encoding="utf-8")
    with start(["check", "--quiet"], repository) as process:
        out, err = process.communicate(timeout=60)
    assert (out, "imported" in err) == ("runs of kraftcheck.toml, which run the code of lamps/lamp.py\n", True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("place", ["kraftcheck.toml", "."])
@pytest.mark.parametrize("below", [False, True])
def test_a_table_of_another_user_is_refused(
    place: str, below: bool, hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that it names is run, in its folder or in a repository below, unless the command line names it."""
    (hostile / ".git").mkdir()
    os.chown(hostile / place, 65534, 65534)
    if below:
        monkeypatch.chdir("below")
    told = check().refusal()
    assert "belongs to another user (65534): code that it names would be run; if you trust it, --config " in told
    assert not (hostile / "mark").exists()
    assert check("--config", hostile / "kraftcheck.toml").code == 0


@pytest.mark.parametrize("place", ["kraftcheck.toml", "."])
def test_a_table_that_everybody_may_write_is_refused(place: str, hostile: Path) -> None:
    """So is one beside which everybody may put a module."""
    (hostile / place).chmod(0o777)
    assert "kraftcheck.toml: every user may write" in check().refusal()
    assert not (hostile / "mark").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("system", ["mark.py:LAMP", "mark:LAMP"])
def test_a_module_of_another_user_is_refused(system: str, hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is one that everybody may write, and a working folder below in which everybody may put one of its name."""
    table = hostile / "kraftcheck.toml"
    table.write_text(table.read_text().replace("mark.py:LAMP", system))
    (hostile / "mark.py").chmod(0o666)
    assert "kraftcheck.toml: every user may write into mark.py: " in check().refusal()
    (hostile / "mark.py").chmod(0o644)
    os.chown(hostile / "mark.py", 65534, 65534)
    assert "kraftcheck.toml: mark.py belongs to another user (65534): " in check().refusal()
    os.chown(hostile / "mark.py", 0, 0)
    (hostile / ".git").mkdir()
    (hostile / "below").chmod(0o777)
    monkeypatch.chdir("below")
    assert "../kraftcheck.toml: every user may write into .: " in check().refusal()
    assert not (hostile / "mark").exists()


def test_pyproject_holds_a_table_too(repository: Path) -> None:
    """`[[tool.kraftcheck.runs]]` in pyproject.toml is the same table; a pyproject.toml without one is passed over."""
    project = repository / "pyproject.toml"
    project.write_text("[project]\nname = 'lamps'\n", encoding="utf-8")
    assert check("proof").code == 0
    project.write_text(TABLE.replace("[runs", "[tool.kraftcheck.runs"), encoding="utf-8")
    assert check("proof").refusal() == "kraftcheck.toml and pyproject.toml both hold a table of runs; keep one of them"
    (repository / "kraftcheck.toml").unlink()
    assert check("proof").last == "1 verdict, 0 unexpected (exit 0)"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"refuted 2"', '"refuted 3"', "expected refuted 3, got refuted 2"),
        ('"refuted 2"', '"holds"', "refuted 2: in 2 steps, shortest"),
        ('shows-three = "vacuous"\n\n', "\n", "vacuous: no reachable case shows it"),
        ('shows-three = "vacuous"\n\n', 'shows-three = "vacuous"\nknown = "refuted"\n', "expected refuted, got holds"),
        ("[runs.expect]", '[runs.expect]\ndeadlock = "refuted"', "expected refuted, got holds"),
    ],
)
def test_an_expected_verdict_that_does_not_come_is_exit_12(old: str, new: str, told: str, repository: Path) -> None:
    """Another length, a defect that is gone, and a property that the table leaves out and that fails: each is 12."""
    (repository / "kraftcheck.toml").write_text(TABLE.replace(old, new), encoding="utf-8")
    ran = check("search")
    assert ran.code == 12
    assert told in ran.out
    assert "again: kraftcheck explore lamps/lamp.py:LAMP --scope default --property " in ran.out
    assert ran.last == "1 UNEXPECTED of 4 verdicts (exit 12)"


def test_the_reports_of_a_table(repository: Path) -> None:
    """Each counterexample is there as ITF and as a page; JUnit and the document have every run."""
    ran = check("--out", "out", "--junit", "out.xml", "--json", "out.json")
    assert ran.code == 0
    for run in ("search", "walks"):
        assert "<!doctype html>" in (repository / "out" / run / "never-two.html").read_text(encoding="utf-8")
        shown = kraftcheck("trace", f"out/{run}/never-two.itf.json", "--system", "lamps/lamp.py:LAMP")
        assert shown.code == 0
    root = read_junit(repository / "out.xml")
    assert [int(suite.get("tests")) for suite in root] == [4, 4, 1]
    assert set(cases(root).values()) == {"pass"}
    document = json.loads((repository / "out.json").read_text(encoding="utf-8"))
    assert [run["name"] for run in document["runs"]] == ["search", "walks", "proof"]
    assert (document["configuration"], document["unexpected"]) == ("kraftcheck.toml", [])


OWN = """
[[runs]]
system = "lamps/lamp.py:LAMP"
expect = {never-two = "refuted 2", shows-three = "vacuous", off = "refuted"}
invariants = {off = "colour == 0", dim = "colour <= 2"}

[[runs]]
name = "proof"
system = "lamps/lamp.py:LAMP"
engine = "prove"
invariants = {dim = "colour <= 2"}
properties = ["known"]

[[runs]]
name = "any number"
system = "tests.shared.any_number:LEASE"
engine = "prove"
bounds = {brokers = "any"}
"""


def test_a_run_takes_expressions_and_any_number(repository: Path) -> None:
    """Expressions are judged under their names by each engine, and a proof may be about any number; the command that
    a report gives judges the expression again."""
    (repository / "kraftcheck.toml").write_text(OWN, encoding="utf-8")
    ran = check("--junit", "out.xml")
    assert (ran.code, ran.last) == (0, "9 verdicts, 0 unexpected (exit 0)")
    assert [len(suite.findall("testcase")) for suite in read_junit(repository / "out.xml")] == [6, 2, 1]
    (repository / "kraftcheck.toml").write_text(OWN.replace(', off = "refuted"', ""), encoding="utf-8")
    ran = check()
    again = next(line for line in ran.out.splitlines() if line.startswith("again: kraftcheck explore "))
    told = kraftcheck(*shlex.split(again)[2:], "--quiet")
    assert (ran.code, told.code, "colour == 0 is refuted" in told.out) == (12, 12, True)


def test_one_cause_is_told_once() -> None:
    """Of properties that are open for the same reason one is told whole, and the others are named; what is refuted is
    told each time."""
    rows = [JudgedProperty(id_, "always", verdict, detail, False) for id_, verdict, detail in (
        ("a", "incomplete", "time"), ("b", "refuted 1", "in 1 step"), ("c", "incomplete", "time"),
        ("d", "incomplete", "memory"), ("e", "refuted 1", "in 1 step"), ("f", "not judged", "time"))]  # fmt: skip
    told = [*_texts(JudgedRun(subject("lamps/lamp.py:LAMP", None, {}, None), "explore", tuple(rows)))]
    assert [text.partition(":")[0] for text in told] == ["a", "b", "d", "e"]
    assert ["the same of c" in text for text in told] == [True, False, False, False]


@pytest.mark.parametrize(("expected", "code"), [("refuted 2", 2), ("refuted 3", 12)])
def test_a_full_disk_hides_no_verdict(expected: str, code: int, repository: Path) -> None:
    """Where counterexamples and reports cannot be written, what is refuted is shown and decides the exit code."""
    table = TABLE.partition('[[runs]]\nname = "walks"')[0].replace("refuted 2", expected)
    (repository / "kraftcheck.toml").write_text(table, encoding="utf-8")
    words = ("check", "--quiet", "--out", "out", "--junit", "out.xml")
    with start(words, repository, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, "File too large" in err) == (code, True)
    assert ("expected refuted 3, got refuted 2" in out) == ("(exit 12)" in out) == (code == 12)
    assert not (repository / "out.xml").exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('engine = "prov"', "engine: unknown engine 'prov'; did you mean prove?"),
        ('scop = "x"', "scop: unknown key; did you mean scope"),
        ('scope = "x"', "scope: lamp has no scope 'x'; did you mean default?"),
        ('rules = "x"', "rules: lamps/lamp.py:LAMP takes no rule set"),
        ("bounds = {a = 1}", "bounds: lamp has no bound 'a'"),
        ("bounds = {a = true}", "bounds.a: it takes a number, not True"),
        ('expect = {knwon = "holds"}', "expect.knwon: the run judges no such property; did you mean known"),
        ('expect = {known = "unknown"}', "expect.known: 'unknown' is never a pass, and cannot be expected"),
        ('expect = {known = "incomplete"}', "expect.known: 'incomplete' is never a pass, and cannot be expected"),
        ('expect = {known = "refutd"}', "expect.known: no verdict 'refutd'; did you mean refuted"),
        ("expect = {known = 3}", "expect.known: no verdict 3; "),
        ('bounds = {a = "any"}', "bounds.a: it takes a number, or with the engine prove 'any', not 'any'"),
        ('invariants = {a = "colour <"}', "invariants: lamp"),
        ("invariants = {a = 3}", "invariants.a: it takes an expression by its name, not 3"),
        ('invariants = {known = "colour < 9"}', "invariants: lamps/lamp.py:LAMP has a property 'known' already"),
        ("properties = []", "properties: it is empty; give a value, or leave it out"),
        ('properties = ["knwon"]', "properties: lamps/lamp.py:LAMP has no property 'knwon' at this setting; did you"),
        ('properties = ["known", "known"]', "properties: a property is named twice; name it once"),
        ("seed = 3", "seed: it is of the engine simulate, not of explore; leave it out"),
        ('engine = "simulate"\nruns = 0', "runs: it takes a number of 1 to 2,147,483,648, not 0"),
        ('engine = "simulate"\nsteps = 100000000', "steps: it takes a number of 1 to 1,000,000, not 100000000"),
        ('engine = "prove"\ntimeout = 10000000000000000000000', "timeout: it takes a number of 1 to 1,000,000, not"),
        ('engine = "simulate"\nexpect = {known = "holds"}', "expect.known: random walks do not say that a property"),
        ('engine = "prove"\nproperties = ["shows-three"]', "properties: lamps/lamp.py:LAMP has nothing to prove"),
        ("strict = 1", "strict: it takes true or false, not 1"),
        ("name = 3", "name: it takes a text, not 3"),
    ],
)
def test_a_fault_is_one_line_with_its_place(line: str, told: str) -> None:
    """File, line, key and the nearest name, before anything is executed."""
    number = 2 + len(line.splitlines())
    refused = faulty(f'[[runs]]\nsystem = "lamps/lamp.py:LAMP"\n{line}\n')
    assert refused.startswith(f"bad.toml: line {number}: runs[1].{told}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = [\n", "bad.toml: not TOML: "),
        ("[[run]]\n", "bad.toml: run: unknown key; did you mean runs?"),
        ("", "bad.toml: it has no run; write [[runs]]"),
        ("runs = [3]\n", "bad.toml: runs[1]: not a table, but 3"),
        ('[[runs]]\nname = "a"\n', "bad.toml: line 1: runs[1]: the key system is missing"),
        ('[[runs]]\nsystem = "lamps/lamb.py:LAMP"\n', "bad.toml: line 2: runs[1].system: there is no file"),
        ('[[runs]]\nsystem = "lamps/lamp.py:LAMB"\n', "bad.toml: line 2: runs[1].system: module lamps/lamp.py has no"),
        ('[[runs]]\nsystem = "election"\n', "bad.toml: line 2: runs[1].system: "),
        (KRAFT * 2, "bad.toml: line 3: runs[2].name: an earlier run"),
        (f"runs = {'[' * 5000}", "bad.toml: not TOML: "),
        (f"runs = {'{a = ' * 5000}", "bad.toml: not TOML: "),
        (f"runs.{'a.' * 900}a = 1", "bad.toml: not TOML: nested deeper than 100 levels"),
        (f"{'a.' * 60000}a = 1", "bad.toml: not TOML: line 1 has more than 1,000 dots"),
        (f"runs = {'9' * 5000}", "bad.toml: not TOML: "),
        (f"{KRAFT}steps = 0x{'f' * 5000}\n", "bad.toml: line 3: runs[1].steps: it takes a number of"),
        (f"{KRAFT}expect = {{a = 0x{'f' * 5000}}}\n", "bad.toml: line 3: runs[1].expect.a: no verdict"),
        (f"{KRAFT}bounds = [{'1, ' * 5000}]\n", "bad.toml: line 3: runs[1].bounds: it takes a table"),
        (f"{KRAFT}bounds = {{brokers = 0x{'f' * 5000}}}\n", "bad.toml: line 3: runs[1].bounds"),
    ],
    ids=lambda text: text[:40].strip(),
)
def test_a_table_that_cannot_be_read_is_refused(text: str, told: str) -> None:
    """What is no table of runs is refused with what it should be."""
    with bounded(20):
        refused = faulty(text)
    assert refused.startswith(told)
    assert len(refused) < 300


@pytest.mark.parametrize("name", ["kraftcheck.toml", "pyproject.toml"])
@pytest.mark.parametrize("kind", ["folder", "nothing", "itself", "device", "pipe"])
def test_a_table_that_is_no_file_is_not_passed_over(name: str, kind: str, repository: Path) -> None:
    """A broken link in the place of a table is refused, as is all that is no file: built-in rows say nothing of it."""
    (repository / "kraftcheck.toml").unlink()
    place = repository / name
    {"folder": place.mkdir, "nothing": lambda: place.symlink_to("nothing"), "itself": lambda: place.symlink_to(name),
     "device": lambda: place.symlink_to("/dev/zero"), "pipe": lambda: os.mkfifo(place)}[kind]()  # fmt: skip
    with bounded(20):
        assert check("--scope", "none").refusal().startswith(f"cannot read {name}: ")


@pytest.mark.parametrize("text", ["tool = 3", "tool = [1]", "tool.kraftchek = 1", ""])
def test_a_project_without_a_table_is_passed_over(text: str, repository: Path) -> None:
    """Whatever another tool has written there: the table beside it is executed."""
    (repository / "pyproject.toml").write_text(text, encoding="utf-8")
    assert check("proof").code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("serch",), "kraftcheck.toml: no run has the system 'serch'; did you mean search?"),
        (("--scope", "x"), "kraftcheck.toml: no run has the scope 'x'"),
        (("--config", "none.toml"), "cannot read none.toml: "),
        (("--config", "kraftcheck.toml", "--built-in"), "--built-in and --config exclude each other"),
        (("--verbose",), "--verbose is of the systems that come with kraftcheck (--built-in); leave it out"),
    ],
)
def test_what_a_table_does_not_take_is_refused(words: tuple[str, ...], told: str) -> None:
    """Runs that are not in the table, and options of the built-in check, are refused."""
    assert check(*words).refusal().startswith(told)


def test_the_built_in_check_remains(repository: Path) -> None:
    """`--built-in` checks the systems that come with kraftcheck, whatever the table says; without a table the first
    line says that they are, and names a table below."""
    row = ("broker-ids", "--scope", "tiny", "--rules", "fixed")
    ran = check("--built-in", *row)
    assert (ran.code, "runs of" in ran.out, "kraftcheck.toml" in ran.out) == (0, False, False)
    (repository / "kraftcheck.toml").rename(repository / "lamps" / "kraftcheck.toml")
    ran, said = check(*row), "no kraftcheck.toml here or above: the systems that come with kraftcheck are checked"
    below = "; --config lamps/kraftcheck.toml executes the table there"
    assert (ran.code, ran.out.splitlines()[0]) == (0, f"{said}{below}")
    (repository / "lamps" / "kraftcheck.toml").unlink()
    assert check(*row).out.startswith(f"{said}\n")


@pytest.mark.parametrize(("expected", "code"), [("refuted 2", 2), ("refuted 3", 12)])
def test_a_run_that_is_refused_late_costs_no_other_its_verdict(expected: str, code: int, repository: Path) -> None:
    """Of a property that raises each case of its run is an error; those before and after keep theirs, and the exit
    code is 2 unless one of them is worse."""
    (repository / f"dim{code}.py").write_text(LAMP.replace("s.colour != 2", "s.color != 2"), encoding="utf-8")
    bad = f'[[runs]]\nname = "bad"\nsystem = "dim{code}.py:LAMP"\n'
    table = TABLE.replace('"refuted 2"', f'"{expected}"').replace(
        '[[runs]]\nname = "walks"', f'{bad}[[runs]]\nname = "walks"'
    )
    (repository / "kraftcheck.toml").write_text(table, encoding="utf-8")
    ran = check("--junit", "out.xml")
    assert (ran.code, ran.last.startswith("stopped: 1 run NOT checked, ")) == (code, True)
    why = f"dim{code}.py:14: property never-two raised AttributeError: 'Lamp' object has no attribute 'color'"
    assert f"bad: NO VERDICT: {why}" in ran.out
    found = {
        name: [f"{fault.tag} {fault.get('type')}" for case in suite.iter("testcase") for fault in case]
        for suite in read_junit(repository / "out.xml")
        for name in [suite.find("testcase").get("classname")]
    }
    wrong = ["failure unexpected"] * (code == 12)
    assert found == {"search": wrong, "walks": [], "proof": [], "bad": ["error not-judged"] * 4}
