"""`kraftcheck trace --html` and its siblings: pictures as files."""

import json
import re
from pathlib import Path

import pytest
from attrs import evolve

from kraftcheck.ci.explore.trace import html
from kraftcheck.solvers.drawings.drawing import foreign_drawing
from tests.shared.commands import kraftcheck
from tests.solvers.drawings.test_drawings import STATES, drawn


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A counterexample of four steps under the snapshot's rules."""
    out = tmp_path_factory.mktemp("out")
    words = ("elections", "--scope", "tiny", "--rules", "kafka-4.0", "--property", "controller-stays", "--quiet")
    assert kraftcheck("explore", *words, "--out", out).code == 12
    return out / "controller-stays.itf.json"


def data(page: str) -> dict[str, object]:
    """The drawing that a page holds."""
    (text,) = re.findall(r'<script type="application/json" id="drawing">(.*?)</script>', page, re.DOTALL)
    value: dict[str, object] = json.loads(text)
    return value


def test_a_trace_is_drawn_in_every_format(trace: Path, tmp_path: Path) -> None:
    """One run writes all four; the page has every state, and what the mended rules do with the same actions."""
    files = {name: tmp_path / f"a.{name}" for name in ("html", "svg", "mermaid", "dot")}
    ran = kraftcheck("trace", trace, *(word for name, path in files.items() for word in (f"--{name}", path)))
    assert ran.code == 0
    assert [line for line in ran.out.splitlines() if line.startswith("wrote ")] == [
        f"wrote {path}" for path in files.values()
    ]
    page = files["html"].read_text(encoding="utf-8")
    drawing = data(page)
    assert drawing["claim"] == "controller-stays"
    assert isinstance(drawing["columns"], list)
    assert [column["number"] for column in drawing["columns"]] == [0, 1, 2, 3, 4]
    assert drawing["columns"][4]["failing"] == ["controller-stays"]
    assert drawing["columns"][4]["event"] == "resigned"
    assert isinstance(drawing["other"], dict)
    assert (drawing["other"]["rules"], drawing["other"]["divergence"]) == ("fixed", 2)
    assert "fixed goes otherwise" in page
    assert files["svg"].read_text(encoding="utf-8").startswith("<svg ")
    assert files["mermaid"].read_text(encoding="utf-8").startswith("sequenceDiagram\n")
    assert files["dot"].read_text(encoding="utf-8").startswith("digraph trace {\n")


def test_a_sequence_diagram_has_each_step(trace: Path, tmp_path: Path) -> None:
    """A diagram of Mermaid has a line for each step of its trace, in order, and ends with what fails."""
    assert kraftcheck("trace", trace, "--mermaid", tmp_path / "a.mmd").code == 0
    first, *lines = (tmp_path / "a.mmd").read_text(encoding="utf-8").splitlines()
    steps = [found[1] for line in lines if (found := re.search(r": (\d+) (\w+)\(", line))]
    assert (first, steps) == ("sequenceDiagram", [str(number) for number in range(1, len(steps) + 1)])
    assert len(steps) == len(json.loads(trace.read_text(encoding="utf-8"))["states"]) - 1
    assert "fails: controller-stays" in lines[-1]


def test_a_page_needs_nothing_from_elsewhere() -> None:
    """It names no address but that of SVG's names, forbids to load any, and no text of a trace ends its script."""
    page = html(evolve(drawn(), sentence="</script><script>alert(1)</script>"))
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page
    assert page.count("<script") == 2
    assert data(page)["sentence"] == "</script><script>alert(1)</script>"


def test_the_own_rules_have_nothing_beside_them(trace: Path, tmp_path: Path) -> None:
    """With --beside naming the trace's own rules, there is nothing to compare."""
    assert kraftcheck("trace", trace, "--html", tmp_path / "a.html", "--beside", "kafka-4.0").code == 0
    assert data((tmp_path / "a.html").read_text(encoding="utf-8"))["other"] is None


def test_a_foreign_trace_is_drawn_and_not_judged(tmp_path: Path) -> None:
    """An ITF file of another checker is drawn as a table; the last line says that nothing is replayed."""
    (tmp_path / "counter.itf.json").write_text(json.dumps(STATES), encoding="utf-8")
    ran = kraftcheck("trace", tmp_path / "counter.itf.json", "--html", tmp_path / "c.html")
    assert (ran.code, ran.last) == (0, "1 steps, of another checker: not replayed, nothing is judged")
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert data(page)["labels"] == ["x", "s"]
    assert html(foreign_drawing(STATES, "counter.itf.json")) == page


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--svg", "x.svg", "--beside", "kip"), "--beside is of --html; leave it out"),
        (("--svg", "x", "--dot", "x"), "--svg and --dot cannot both write to x; give one another file"),
        (("--out", "x", "--html", "x"), "--out and --html cannot both write to x; give one another file"),
        (("--svg", "-"), "--svg takes the name of a file, since standard output has the report; give one"),
        (("--html", "none/x.html"), "cannot write none/x.html: there is no folder none; choose another place"),
        (("--html", "x.html", "--beside", "kafka"), "unknown rule set 'kafka'"),
        (("--export", "junit", "--out", "y", "--html", "x"), "--html shows nothing with --export; leave it out"),
    ],
)
def test_bad_input_is_one_line(
    trace: Path, words: tuple[str, ...], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Places that cannot be written, two outputs in one, and options without use are refused, and nothing is left."""
    monkeypatch.chdir(tmp_path)
    assert reason in kraftcheck("trace", trace, *words).refusal()
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_trace_takes_no_options_of_rules(tmp_path: Path) -> None:
    """What needs the rules is refused for a file that names no system."""
    path = tmp_path / "counter.itf.json"
    path.write_text(json.dumps(STATES), encoding="utf-8")
    refusal = kraftcheck("trace", path, "--svg", tmp_path / "c.svg", "--minimise").refusal()
    assert refusal == "--minimise needs the rules, and the file names no system; leave it out"
    assert [one.name for one in tmp_path.iterdir()] == ["counter.itf.json"]
