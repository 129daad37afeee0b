"""`kraftcheck explore`: exit codes, closing lines, documents, files; `recovers`, liveness and reductions."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import kraftcheck as kc
from kraftcheck.ci.run.result import REPORT
from kraftcheck.ci.systems import report
from kraftcheck.ci.terminal.files import MARK
from kraftcheck.ci.testing.judging import JudgementRequest
from kraftcheck.properties.kinds import weak_fairness
from kraftcheck.solvers.hypothesis.machine import machine
from kraftcheck.solvers.reference.interpreter import Integers
from tests.shared.commands import kraftcheck
from tests.solvers.liveness.toys import LIFT

BAD_WORDS = ("refuted", "incomplete", "unknown", "vacuous")


@pytest.mark.parametrize(
    ("words", "code", "last"),
    [
        ("tests.toys:CLOCK", 0, "4 holds (exit 0)"),
        ("tests.toys:STUCK", 11, "1 refuted (exit 11)"),
        ("tests.toys:RESTING", 0, "2 holds (exit 0)"),
        ("tests.toys:DIGRAPH", 12, "2 refuted, 1 vacuous, 2 holds (exit 12)"),
        ("tests.toys:DIGRAPH --property never-5", 12, "1 refuted, 1 holds (exit 12)"),
        ("tests.toys:DIGRAPH --property reach-5", 0, "2 holds (exit 0)"),
        ("tests.toys:DIGRAPH --property reach-8", 21, "1 vacuous, 1 holds (exit 21)"),
        ("tests.toys:DIGRAPH --property deadlock", 0, "1 holds (exit 0)"),
        ("tests.toys:DIGRAPH --stop-at-first", 12, "1 refuted, 4 incomplete (exit 12)"),
        ("tests.toys:TWO_PHASE --managers 3 --max-depth 2", 20, "3 incomplete (exit 20)"),
        ("tests.toys:TWO_PHASE --managers=3 --max-states 5", 20, "3 incomplete (exit 20)"),
        ("--managers 3 tests.toys:TWO_PHASE --max-states 289", 0, "3 holds (exit 0)"),
        ("tests.toys:TWO_PHASE --managers 3 --workers 32", 0, "3 holds (exit 0)"),
        ("tests.toys:HASTY --scope 3", 12, "1 refuted, 2 holds (exit 12)"),
        ("tests.toys:TWO_PHASE --scope 7 --memory 2M", 20, "3 incomplete (exit 20)"),
        ("tests.toys:TWO_PHASE --managers 8 --memory 20M --property committed", 20, None),
    ],
)
def test_exit_code_and_closing_line(words: str, code: int, last: str | None) -> None:
    """The exit code is that of the worst verdict, and the closing line begins with the worst."""
    ran = kraftcheck("explore", *words.split(), "--quiet")
    assert (ran.code, ran.err) == (code, "")
    assert ran.last.endswith(f"(exit {code})")
    assert last in (None, ran.last)
    assert (code == 0) != any(word in ran.last for word in BAD_WORDS)
    assert code == 0 or not re.match(r"\d+ holds", ran.last)


def test_memory_limit_is_named() -> None:
    """A search that meets its memory budget says so, with the states it has seen."""
    ran = kraftcheck("explore", "tests.toys:TWO_PHASE", "--managers", 8, "--memory", "20M", "--quiet")
    assert ran.code == 20
    assert re.search(r"memory limit 20,971,520 bytes, after [\d,]+ states to depth \d+", ran.out)
    assert "incomplete: memory limit" in ran.out
    assert "bits, most of them in" in ran.out
    assert re.search(r"raise --memory; lower --managers to 7, which saves \d+ bits a state", ran.out)
    ran = kraftcheck("explore", "replication", "--scope", "tiny", "--memory", "1M", "--quiet")
    assert "most of them in brokers" in ran.out
    assert "or a budget (--unclean-stops, --fences, --shrinks), which makes fewer states" in ran.out


def test_limits_are_named() -> None:
    """Depth and state limits are named in the verdicts that they leave open."""
    assert "depth limit 2, after " in kraftcheck("explore", "tests.toys:TWO_PHASE", "--max-depth", 2, "--quiet").out
    assert "state limit 5, after " in kraftcheck("explore", "tests.toys:TWO_PHASE", "--max-states", 5, "--quiet").out


def document(*words: object) -> Any:
    """The JSON document of an exploration."""
    ran = kraftcheck("explore", *words, "--json", "-", "--quiet")
    assert ran.out.startswith("{")
    return ran.document()


def test_document_says_everything() -> None:
    """The document has counts, verdicts, coverage and versions of the run."""
    told = document("tests.toys:DIGRAPH")
    assert (told["version"], told["command"], told["engine"], told["system"]) == (
        1,
        "explore",
        "native",
        "tests.toys:DIGRAPH",
    )
    assert (told["scope"], told["bounds"], told["rules"], told["exit_code"]) == ("default", {}, None, 12)
    assert (told["complete"], told["cut"]) == (True, None)
    states = told["states"]
    assert (states["distinct"], states["generated"], states["depth"]) == (8, 11, 4)
    assert sum(states["levels"]) == 8
    assert len(states["levels"]) == 5
    assert told["fired"] == {"follow": 10, "escape": 0}
    assert told["guards"] == {"never_true": [["escape", "guard"]], "never_false": []}
    assert set(told["seconds"]) == {"explore", "backward", "compile", "audit", "cached", "liveness"}
    assert told["rates"]["generated"] > told["rates"]["distinct"] > 0
    assert re.fullmatch("[0-9a-f]{64}", told["digest"])
    assert {"kraftcheck", "python", "llvmlite", "numpy", "attrs"} <= set(told["versions"])


def test_report_tells_what_was_audited() -> None:
    """The report and the document tell how many states and transitions were compared with ints; of a toy all."""
    ran = kraftcheck("explore", "tests.toys:DIGRAPH", "--quiet")
    assert "\nassurance: audited 8 states and 10 transitions on ints, no difference; " in ran.out
    told = document("tests.toys:DIGRAPH")["audit"]
    assert set(told) == {"states", "transitions", "refused", "whole", "seed", "sample"}
    assert (told["states"], told["transitions"], told["whole"], told["seed"]) == (8, 10, True, 0)
    told = document("tests.toys:TWO_PHASE", "--scope", 5, "--audit", "12@7")["audit"]
    assert (told["states"], told["whole"], told["seed"]) == (12, True, 7)
    told = document("tests.toys:DIGRAPH", "--audit", "all")["audit"]
    assert (told["states"], told["transitions"], told["whole"]) == (8, 10, True)
    cut = kraftcheck("explore", "tests.toys:TWO_PHASE", "--scope", 7, "--max-states", 5, "--quiet")
    assert re.search(r"\nassurance: audited [1-9]\d* states and [1-9]\d* transitions on ints", cut.out)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("0", "--audit 0 would give a verdict without an audit"),
        ("none", "--audit takes a number of states such as 100, 100@SEED, or all, not 'none'"),
        ("-1", "not '-1'"),
        ("1.5", "not '1.5'"),
        ("", "--audit is empty"),
        ("5@", "not '5@'"),
        ("5@-1", "not '5@-1'"),
        ("all@x", "not 'all@x'"),
        ("99999999999999999999", "not '99999999999999999999'"),
    ],
)
def test_bad_audits_are_refused(given: str, says: str) -> None:
    """An audit of nothing, or of what is no number, is one line that says what can be given."""
    assert says in kraftcheck("explore", "tests.toys:CLOCK", f"--audit={given}").refusal()


def test_document_has_a_row_for_each_property() -> None:
    """Each property's row has id, kind, verdict, depth, bound and what failed."""
    rows = {row["id"]: row for row in document("tests.toys:DIGRAPH")["properties"]}
    assert list(rows) == ["never-5", "reach-5", "reach-8", "never-4-to-5", "deadlock"]
    never, reach, edge = rows["never-5"], rows["reach-5"], rows["never-4-to-5"]
    assert (never["kind"], never["verdict"], never["depth"], never["failing"]) == ("always", "refuted", 4, ["never-5"])
    assert (edge["kind"], edge["failing"]) == ("step", ["not from 4 to 5"])
    assert (reach["kind"], reach["verdict"], reach["depth"]) == ("sometimes", "holds", 4)
    assert reach["bound"] == "all 8 states of digraph"
    assert (rows["reach-8"]["verdict"], rows["reach-8"]["bound"]) == ("vacuous", None)
    assert rows["deadlock"]["verdict"] == "holds"


def test_document_tells_what_a_bound_pruned() -> None:
    """A field whose domain cut transitions is named, with their number, and the bound says so."""
    told = document("tests.toys:COUNTER")
    assert (told["pruned"], [one["declared"] for one in told["prunings"]]) == ({"count": 5}, [True])
    assert "bound on count pruned 5 transitions: the toy counts to five" in told["properties"][0]["bound"]


def test_document_and_table_agree(tmp_path: Path) -> None:
    """The counts of the document are those that are printed."""
    path = tmp_path / "told.json"
    ran = kraftcheck("explore", "tests.toys:TWO_PHASE", "--scope", "5", "--quiet", "--json", path)
    told = json.loads(path.read_text())
    states = told["states"]
    assert (
        f"{states['distinct']:,} distinct states, {states['generated']:,} generated, depth {states['depth']}" in ran.out
    )
    assert ran.code == told["exit_code"] == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["told.json"]


@pytest.mark.parametrize("words", [("tests.toys:HASTY", "--scope", "5"), ("elections", "--scope", "tiny")])
def test_documents_do_not_depend_on_workers(words: tuple[str, ...]) -> None:
    """One and four threads give the same document, apart from times and memory."""
    one, four = document(*words, "--workers", 1), document(*words, "--workers", 4)
    for told in (one, four):
        del told["seconds"], told["rates"], told["states"]["bytes_per_state"]
    assert one == four


def test_document_of_a_cut_run_is_not_complete() -> None:
    """A run that was cut says so in its document, and no property of it holds without a witness."""
    told = document("tests.toys:TWO_PHASE", "--max-states", 5)
    assert (told["complete"], told["exit_code"]) == (False, 20)
    assert told["cut"] == "state limit 5"
    assert {row["verdict"] for row in told["properties"]} == {"incomplete"}


def test_json_to_a_terminal_leaves_the_report_on_stderr() -> None:
    """With --json - standard output is one document, and people read the table on standard error."""
    ran = kraftcheck("explore", "tests.toys:STUCK", "--json", "-")
    assert ran.document()["exit_code"] == ran.code == 11
    assert ran.err.endswith("1 refuted (exit 11)\n")


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When writing fails in the middle, the old document stays and no temporary file is left."""
    path = tmp_path / "told.json"
    path.write_text("old")

    def half(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", half)
    ran = kraftcheck("explore", "tests.toys:CLOCK", "--quiet", "--no-cache", "--json", path)
    assert ran.code == 2
    assert ran.err == f"kraftcheck: cannot write {path}: No space left on device; choose another place\n"
    assert "exit 0" not in ran.out
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("told.json", "old")]


def test_out_holds_every_counterexample(tmp_path: Path) -> None:
    """--out makes its folder and writes a file for each refuted property, named after it, and the report."""
    ran = kraftcheck("explore", "tests.toys:DIGRAPH", "--quiet", "--traces", 0, "--out", tmp_path / "a" / "b")
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == [
        MARK,
        "never-4-to-5.itf.json",
        "never-5.itf.json",
        REPORT,
    ]
    assert ran.out.count("wrote ") == 2
    assert "also refuted (--traces 2 shows all): never-4-to-5, never-5" in ran.out


def test_strange_names_are_shown_as_they_are(tmp_path: Path) -> None:
    """Markup, emoji names and slashes in a user's names neither vanish nor break tables and files."""
    ran = kraftcheck("explore", "tests.shared.faulty:STRANGE_WORDS", "--quiet", "--out", tmp_path)
    assert ran.code == 12
    assert "[bold]/odd id is refuted: A sentence [/] with :smile: [red]marks[/red]." in ran.out
    (path,) = tmp_path.glob("*.itf.json")
    assert kraftcheck("trace", path, "--system", "tests.shared.faulty:STRANGE_WORDS").code == 0
    again = shlex.split(next(line for line in ran.out.splitlines() if "again: " in line).partition("again: ")[2])
    assert kraftcheck(*again[1:]).code == 12


def test_versions_of_absent_packages_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package whose version cannot be found is named as not installed."""

    def absent(name: str) -> str:
        raise report.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(report.metadata, "version", absent)
    assert report.versions()["numpy"] == "not installed"


VALVE = ("explore", "tests.toys:VALVE", "--quiet")


def test_a_lost_state_exits_13_and_says_what_never_comes(tmp_path: Path) -> None:
    """The trace ends with what the ints looked at, and the document has it as numbers."""
    ran = kraftcheck(*VALVE, "--property", "opens-by-itself", "--json", tmp_path / "told.json")
    assert (ran.code, ran.last) == (13, "1 refuted, 1 holds (exit 13)")
    assert "never again: nothing that can follow by open satisfies it (all 1 state checked on ints)" in ran.out
    assert re.search(r"searched backward in \d+ rounds?, ", ran.out)
    told = json.loads((tmp_path / "told.json").read_text())
    (found, _) = told["properties"]
    assert (found["kind"], found["verdict"], found["depth"]) == ("recovers", "refuted", 2)
    assert found["closure"] == {"states": 1, "complete": True}
    assert told["seconds"]["backward"] > 0


def test_a_property_that_holds_counts_its_cases() -> None:
    """The table says how many states recover; an idle property is vacuous, exit code 21."""
    ran = kraftcheck(*VALVE, "--property", "opens-unless-stuck", "-v")
    assert (ran.code, "4 states recover" in ran.out) == (0, True)
    idle = kraftcheck(*VALVE, "--property", "never-needed")
    assert (idle.code, "no reachable state has to recover" in idle.out) == (21, True)


def test_beyond_a_bound_is_unknown() -> None:
    """Exit code 22 where a bound may have cut the way out."""
    ran = kraftcheck(*VALVE, "--budget", "0", "--json", "-")
    (found, _) = ran.document()["properties"]
    assert (ran.code, found["verdict"]) == (22, "unknown")
    assert found["detail"].endswith("recovers, if at all, only beyond a bound that pruned transitions")


def test_a_written_trace_is_followed_again(tmp_path: Path) -> None:
    """`trace` follows the file, looks again at what can follow, and shortens it no further."""
    kraftcheck(*VALVE, "--property", "opens-by-itself", "--out", tmp_path)
    file = tmp_path / "opens-by-itself.itf.json"
    ran = kraftcheck("trace", file, "--minimise", "--system", "tests.toys:VALVE")
    assert (ran.code, ran.last) == (0, "2 steps, shortest as the file says")
    assert "never again: nothing that can follow by open satisfies it" in ran.out


def test_a_trace_to_where_it_recovers_is_refused(tmp_path: Path) -> None:
    """A file whose last step is taken out ends where the valve is open: refused in one line, as is its test."""
    kraftcheck(*VALVE, "--property", "opens-by-itself", "--out", tmp_path)
    file = tmp_path / "opens-by-itself.itf.json"
    document = json.loads(file.read_text())
    document["states"].pop()
    file.write_text(json.dumps(document))
    told = kraftcheck("trace", file, "--system", "tests.toys:VALVE").refusal()
    assert told.endswith("opens-by-itself holds there, or can hold again")
    test = kraftcheck("trace", file, "--system", "tests.toys:VALVE", "--export", "junit", "--out", tmp_path / "test")
    assert test.refusal() == f"{told}; what classes can still do kraftcheck explore --kafka tells, and no test"


def test_list_shows_the_way_out() -> None:
    """`list` tells the kind and the actions of the way out, for people and in the document."""
    ran = kraftcheck("list", "elections", "--json", "-").document()["systems"][0]["properties"]
    (found,) = [claim for claim in ran if claim["id"] == "unclean-leader-returns"]
    assert (found["kind"], found["by"]) == ("recovers", {"balance_timer": {}, "unclean_timer": {}})
    assert found["sentence"] == "where unclean election is allowed, a live replica gives a live leader"
    assert "(by" in kraftcheck("list", "elections", "--properties").out


WALKING = "tests.solvers.search.orders.ports:WALKING"


def test_a_reduced_search_says_so(tmp_path: Path) -> None:
    """The report says how much was left out, and calls no trace shortest; neither does the trace's file."""
    ran = kraftcheck("explore", WALKING, "--reduce", "orders", "--quiet", "--json", "-", "--out", tmp_path / "out")
    told = ran.document()
    assert ran.code == 11
    assert told["orders"]["reduced"] > 0
    assert told["orders"]["left_out"] >= told["orders"]["reduced"]
    deadlock = next(one for one in told["properties"] if one["id"] == "deadlock")
    assert (deadlock["verdict"], deadlock["detail"]) == ("refuted", "in 16 steps")
    written = json.loads((tmp_path / "out" / "deadlock.itf.json").read_text(encoding="utf-8"))
    assert written["#meta"]["kraftcheck"]["shortest"] is False
    again = kraftcheck("trace", tmp_path / "out" / "deadlock.itf.json", "--system", WALKING)
    assert again.code == 0


def test_a_full_search_has_no_orders() -> None:
    """Without the option the document's key is null, and the deadlock is at its shortest."""
    told = kraftcheck("explore", WALKING, "--quiet", "--json", "-").document()
    assert told["orders"] is None
    assert "shortest" in next(one for one in told["properties"] if one["id"] == "deadlock")["detail"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tests.toys:VALVE"], "property opens (recovers) is about all that may follow"),
        ([WALKING, "--symmetry", "on"], "cannot be combined with --symmetry on"),
        ([WALKING, "--engine", "spark"], "works with --engine native, not with spark"),
        ([WALKING, "--find", "arrived == {}"], "--find asks for the shortest way"),
    ],
)
def test_what_cannot_be_judged_that_way_is_refused(words: list[str], message: str) -> None:
    """One line names what is in the way, and the exit code is 2."""
    ran = kraftcheck("explore", *words, "--reduce", "orders", "--quiet")
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.strip().splitlines()) == 1


NAME = "tests.solvers.liveness.toys:LIFT"
WEAK = ("explore", NAME, "--scope", "weak", "--quiet")


def written(folder: Path, name: str = "bell") -> tuple[Path, Any]:
    """The file of a lasso, and what it holds."""
    kraftcheck(*WEAK, "--out", folder)
    file = folder / f"{name}.itf.json"
    return file, json.loads(file.read_text())


def test_a_lasso_exits_13_and_says_why_it_is_fair() -> None:
    """The trace says what is repeated, and of every constraint where it is taken or not enabled."""
    ran = kraftcheck(*WEAK, "--property", "bell", "--json", "-")
    (found, _) = ran.document()["properties"]
    assert (ran.code, found["kind"], found["verdict"], found["depth"]) == (13, "eventually", "refuted", 4)
    assert found["loop"] == {
        "start": 0,
        "fairness": [
            {"name": "WF(up)", "taken": [1, 2, 3], "disabled": [3]},
            {"name": "WF(down)", "taken": [4], "disabled": [0, 1, 2]},
            {"name": "WF(ring)", "taken": [], "disabled": [0, 1, 3]},
        ],
    }
    text = kraftcheck(*WEAK, "--property", "bell").out
    assert "a run of 0 steps into a cycle of 4" in text
    assert "for ever: steps 1 to 4 again, for state 4 is state 0" in text
    assert "fair: WF(up): taken in steps 1, 2, 3" in text
    assert "fair: WF(ring): not enabled in states 0, 1, 3" in text
    ran = kraftcheck("explore", NAME, "--scope", "idle", "--property", "up", "--quiet")
    assert ran.code == 13, ran.err
    halt = ran.out
    assert "a run of 1 step into a halt" in halt
    assert "for ever: nothing happens any more" in halt


def test_a_written_lasso_is_replayed(tmp_path: Path) -> None:
    """The ITF file has the field `loop`, and `trace` shows the same lasso again."""
    file, document = written(tmp_path / "out")
    assert document["loop"] == 0
    ran = kraftcheck("trace", file, "--system", NAME)
    assert (ran.code, "fair: WF(ring): not enabled in states 0, 1, 3" in ran.out) == (0, True)
    copy = tmp_path / "copy.itf.json"
    kraftcheck("trace", file, "--system", NAME, "--out", copy)
    assert json.loads(copy.read_text())["loop"] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(loop=1), "the last state is not state 1, where the cycle begins"),
        (lambda d: d.update(loop=9), "there is no state 9 where a cycle could begin"),
        (lambda d: d.update(loop="x"), "key loop: not an int"),
        (lambda d: d.pop("loop"), "key loop: missing: only a lasso breaks bell"),
        (lambda d: d.update(states=d["states"][:1]), "the cycle is not fair: WF(up) is enabled and never taken"),
        (lambda d: d["#meta"]["kraftcheck"].update(property="in-house"), "no lasso breaks in-house"),
        (lambda d: d["#meta"]["kraftcheck"].update(property="top"), "state 3 satisfies it"),
    ],
)
def test_a_lasso_that_is_none_is_refused(tmp_path: Path, change: Any, message: str) -> None:
    """A file whose cycle does not close, is not fair, or breaks nothing is refused in one line."""
    file, document = written(tmp_path / "out")
    change(document)
    file.write_text(json.dumps(document))
    assert message in kraftcheck("trace", file, "--system", NAME).refusal()


def test_a_lasso_is_drawn_in_every_format(tmp_path: Path) -> None:
    """Each picture says where the cycle goes on, and which constraints are satisfied there."""
    file, _ = written(tmp_path / "out")
    files = {name: tmp_path / f"a.{name}" for name in ("html", "svg", "mermaid", "dot")}
    ran = kraftcheck("trace", file, "--system", NAME, *(w for name, path in files.items() for w in (f"--{name}", path)))
    assert (ran.code, ran.last) == (0, "4 steps, 0 into the cycle (shortest as the file says) and 4 around")
    for path in files.values():
        text = path.read_text(encoding="utf-8")
        assert "for ever: steps 1 to 4 again" in text
        assert "WF(ring): not enabled in states 0, 1, 3" in text


def test_a_lasso_is_no_test_of_kafka(tmp_path: Path) -> None:
    """What goes on for ever is not exported as a test, which has to end."""
    file, _ = written(tmp_path / "out")
    ran = kraftcheck("trace", file, "--system", NAME, "--export", "junit", "--out", tmp_path / "kafka")
    assert "the trace is a lasso, which never ends" in ran.refusal()


def test_a_lasso_is_shortened(tmp_path: Path) -> None:
    """Rounds on the way and rounds of the cycle are dropped; what is left is fair, and breaks the property."""
    file, document = written(tmp_path / "out")
    first, *around = document["states"]
    long = {**document, "states": [first, *around * 5], "loop": 8}
    long["#meta"]["kraftcheck"]["shortest"] = False
    file.write_text(json.dumps(long))
    assert kraftcheck("trace", file, "--system", NAME).last == "20 steps, not minimised"
    ran = kraftcheck("trace", file, "--system", NAME, "--minimise", "--out", tmp_path / "short.itf.json")
    assert (ran.code, ran.last) == (0, "4 steps, no step can be dropped, 16 dropped")
    short = json.loads((tmp_path / "short.itf.json").read_text())
    assert (short["loop"], len(short["states"])) == (0, 5)
    assert kraftcheck("trace", tmp_path / "short.itf.json", "--system", NAME).code == 0


def test_reports_have_the_cycle(tmp_path: Path) -> None:
    """JUnit's failure and SARIF's last step say what is repeated for ever, and how that is fair."""
    kraftcheck(*WEAK, "--property", "bell", "--junit", tmp_path / "a.xml", "--sarif", tmp_path / "a.sarif")
    text = (tmp_path / "a.xml").read_text()
    assert "for ever: steps 1 to 4 again, for state 4 is state 0" in text
    assert "fair: WF(ring): not enabled in states 0, 1, 3" in text
    (result,) = json.loads((tmp_path / "a.sarif").read_text())["runs"][0]["results"]
    last = result["codeFlows"][0]["threadFlows"][0]["locations"][-1]["location"]["message"]["text"]
    assert "4. down(): floor: 3 -> 0; for ever: steps 1 to 4 again" in last
    assert last.endswith("fair: WF(ring): not enabled in states 0, 1, 3")


@pytest.mark.parametrize(
    "words", [("--property", "top"), ("--property", "top", "--k", "2"), ("--property", "top", "--pdr")]
)
def test_proofs_refuse_liveness_that_is_named(words: tuple[str, ...]) -> None:
    """Induction and Spacer name the property that they are asked for and do not judge, and who does."""
    assert (
        "prove judges no liveness (top); `kraftcheck explore` does"
        in kraftcheck("prove", NAME, "--property", "top", *words).refusal()
    )
    with pytest.raises(kc.Refusal, match=r"prove judges no liveness \(top\)"):
        kc.prove(LIFT, properties=["top", "in-house"])


def test_mutants_refuse_liveness() -> None:
    """`explain` names the properties that it does not judge, and who does."""
    told = kraftcheck("explain", NAME).refusal()
    assert "no liveness (top, bell, up, back, rung, attic, inside); `kraftcheck explore` does" in told


@pytest.mark.parametrize("words", [(), ("--k", "2"), ("--pdr",)])
def test_proofs_skip_liveness_and_say_so(words: tuple[str, ...]) -> None:
    """Other properties are proven, and the ids of those about whole runs are said, as goals are; --bmc judges them."""
    skipped = ["top", "bell", "up", "back", "rung", "attic", "inside"]
    ran = kraftcheck("prove", NAME, *words, "--quiet")
    assert ran.code == 0
    assert f"not judged by proofs: {', '.join(skipped)} (liveness); `kraftcheck explore` judges them" in ran.out
    assert [name for name in kc.prove(LIFT).document["not_judged"] if name in skipped] == skipped
    assert "not judged" not in kraftcheck("prove", NAME, "--bmc", "1", "--quiet").out


def test_walks_leave_liveness_unknown() -> None:
    """Random walks exit 22, name what they do not judge, and their verdicts are unknown."""
    ran = kraftcheck("simulate", NAME, "--runs", "5", "--quiet")
    assert (ran.code, "7 liveness properties unknown" in ran.last) == (22, True)
    assert "not judged by walks: top, bell, up, back, rung, attic, inside" in ran.out
    result = kc.simulate(LIFT, runs=5)
    assert {type(result.verdict(name)) for name in ("top", "inside")} == {kc.Unknown}
    with pytest.raises(kc.Refusal, match="the engine simulate judges no liveness"):
        JudgementRequest.of(LIFT, engine="simulate")


def test_machines_refuse_liveness() -> None:
    """A Hypothesis machine checks finite runs, of which liveness says nothing."""
    with pytest.raises(ValueError, match="lift: machines check safety only; leave the liveness out: top, bell"):
        machine(Integers(LIFT, LIFT.setting()))


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_native_start_judges_liveness_for_spark() -> None:
    """Where nothing is handed over to Spark, its engine says of liveness what the native one says."""
    told = [kraftcheck("explore", NAME, *engine, "--quiet", "--json", "-") for engine in ((), ("--engine", "spark"))]
    native, ran = ([(p["id"], p["verdict"], p["depth"]) for p in one.document()["properties"]] for one in told)
    assert (told[1].code, ran) == (told[0].code, native)
    assert {"holds", "vacuous"} <= {verdict for _, verdict, _ in ran}


def test_symmetry_leaves_liveness_unknown() -> None:
    """So does a search up to symmetry: exit code 22; the property is named, and what to do instead judges it."""
    ran = kraftcheck("explore", "tests.solvers.liveness.toys:PAIR", "--symmetry", "on", "--quiet", "--json", "-")
    assert (ran.code, ran.document()["properties"][0]["verdict"]) == (22, "unknown")
    (unknown,) = (one for one in ran.document()["properties"] if one["verdict"] == "unknown")
    assert unknown["id"] == "one"
    assert unknown["detail"].endswith("which fairness does not allow for; explore all of them, with --symmetry off")
    ran = kraftcheck("explore", "tests.solvers.liveness.toys:PAIR", "--symmetry", "off", "--quiet", "--json", "-")
    assert (ran.code, ran.document()["properties"][0]["verdict"]) == (0, "holds")


def test_the_function_judges_liveness() -> None:
    """`kraftcheck.explore` gives the verdicts of a system of one's own."""
    result = kc.explore(LIFT, scope="fair")
    assert isinstance(result.verdict("bell"), kc.Holds)
    assert isinstance(kc.explore(LIFT, scope="weak").verdict("bell"), kc.Refuted)


def test_list_shows_what_is_fair() -> None:
    """`list` says of a liveness property what it takes to be fair."""
    told = " ".join(kraftcheck("list", NAME, "--properties").out.split())
    assert "The lift comes to the top. (under WF(up), WF(down), WF(ring), SF(ring))" in told
    assert weak_fairness("a", "b", each=["x"], having={"y": (1, 2)}).text == "WF(a or b(each x, y=1 or 2))"
