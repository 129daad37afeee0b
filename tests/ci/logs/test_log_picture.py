"""`kraftcheck replay --html`: a log as one page."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.logs import page as pages
from kraftcheck.ci.logs.format import read
from tests.shared.captures import CAPTURED, DEAD_LEADER, ELR
from tests.shared.commands import kraftcheck
from tests.shared.places import TESTS
from tests.solvers.drawings.test_drawings import read_back


def data(page: str) -> dict[str, Any]:
    """The data that a page holds."""
    (text,) = re.findall(r'<script type="application/json" id="drawing">(.*?)</script>', page, re.DOTALL)
    value: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(json.loads(text))))
    return value


def test_a_page_has_what_the_rows_have(tmp_path: Path) -> None:
    """Offsets, records, explanations and events of the page are those of --json; the exit code is the same."""
    ran = kraftcheck("replay", DEAD_LEADER, "--html", tmp_path / "log.html", "--json", tmp_path / "log.json")
    assert (ran.code, ran.out.splitlines()[-2:]) == (12, [f"wrote {tmp_path / 'log.html'}", "(exit 12)"])
    rows = json.loads((tmp_path / "log.json").read_text())["logs"][0]["rows"]
    expected = [
        (row["base_offset"], row["records"], row["explanations"], row["place"], [e["event"] for e in row["events"]])
        for row in rows
    ]
    drawn = read_back(data((tmp_path / "log.html").read_text()))
    batches = [(*row[:4], [event[0] for event in row[5]]) for row in drawn if not row[5][0][0].startswith("quorum")]
    assert batches == expected


def test_a_batch_without_explanation_says_why(tmp_path: Path) -> None:
    """Under rules that do not explain it, a batch has the nearest event and the fields that differ."""
    ran = kraftcheck("replay", ELR, "--rules", "kafka-4.0", "--html", tmp_path / "log.html")
    problems = data((tmp_path / "log.html").read_text())["problems"]
    assert ran.code == 23
    assert len(problems) == ran.out.count("UNEXPLAINED")
    said = "\n".join(line for _, lines in problems for line in lines)
    assert said in ran.out
    assert "nearest: unfence broker 2" in said


def test_a_page_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    """It names no address but that of SVG's names, and forbids to load any."""
    assert kraftcheck("replay", ELR, "--html", tmp_path / "log.html").code == 0
    page = (tmp_path / "log.html").read_text()
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page
    assert page.count("<script") == 2


def test_a_long_report_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a report with very many lines the page holds the first, and says how many there are."""
    monkeypatch.setattr(pages, "REPORTED", 3)
    ran = kraftcheck("replay", DEAD_LEADER, "--html", tmp_path / "log.html")
    report = re.findall(r"<pre>(.*?)</pre>", (tmp_path / "log.html").read_text(), re.DOTALL)[0].splitlines()
    printed = ran.out.splitlines()[:-2]
    assert report == [*printed[:3], f"  and {len(printed) - 3} lines more, which the command prints"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((CAPTURED, "--html", "x.html"), "--html draws one log, and there are"),
        ((ELR, "--html", "x", "--json", "x"), "--json and --html cannot both write to x; give one another file"),
        ((ELR, "--html", "-"), "--html takes the name of a file, since standard output has the report; give one"),
        ((ELR, "--html", "none/x.html"), "cannot write none/x.html: there is no folder none; choose another place"),
        ((ELR, "--html", "x", "--engine", "spark", "--out", "o"), "--html shows batches without --out only"),
    ],
)
def test_bad_input_is_one_line(
    words: tuple[Any, ...], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several logs, another engine, and places that cannot be written are refused, and nothing is left."""
    monkeypatch.chdir(tmp_path)
    assert reason in kraftcheck("replay", *words).refusal()
    assert list(tmp_path.iterdir()) == []


def test_a_page_opens_at_what_is_wrong(tmp_path: Path) -> None:
    """Before the batches stands what `status` says of the end of the log, open where something is wrong."""
    for log, kind, headline in (
        (TESTS / "snapshots" / "outage.txt", "broken", "2 of 8 partitions are offline"),
        (healthy(tmp_path), "well", "all is well"),
    ):
        page = tmp_path / "log.html"
        kraftcheck("replay", log, "--html", page)
        text = page.read_text(encoding="utf-8")
        condition, _, rest = text.partition("<form>")
        assert f'<h1 class="{kind}">{headline}' in condition
        assert ('<details id="more" open>' in condition) == (kind == "broken")
        assert ("1. start broker 2: gives strict-1, alone-0 a leader" in condition) == (kind == "broken")
        assert 'id="lanes"' in rest


def test_a_log_is_read_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Replay, its page with the condition and the causes of violations, `status` and `whatif` read each file once."""
    reads = list[Path]()

    def counted(path: Path, most: int) -> bytes:
        reads.append(path)
        return path.read_bytes()

    monkeypatch.setattr(read, "read_bytes", counted)
    log = DEAD_LEADER / f"{0:020}.log"
    for words in (("replay", log), ("replay", log, "--html", tmp_path / "x.html"), ("status", log), ("whatif", log)):
        reads.clear()
        kraftcheck(*words)
        assert reads == [log]


def healthy(place: Path) -> Path:
    """The beginning of a captured log, when all is well."""
    text = (TESTS / "snapshots" / "outage.txt").read_text(encoding="utf-8")
    log = place / "healthy.txt"
    log.write_text(text[: text.index("baseOffset: 38 ")], encoding="utf-8")
    return log
