"""`--anonymise`: no name of a cluster is in what is written, and all else is as without it."""

import json
import re
from pathlib import Path

import pytest
from attrs import evolve

from kraftcheck.ci.logs.format.aliases import Aliases
from kraftcheck.ci.logs.format.read import SkipCount, find, read, read_compact
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.logs.explain.state import Batch, LogEntry
from tests.ci.logs.test_log_picture import data
from tests.shared.captures import CAPTURED, DEAD_LEADER, TROUBLE
from tests.shared.commands import kraftcheck
from tests.shared.places import TESTS

OUTAGE = TESTS / "snapshots" / "outage.txt"
TOPICS = TESTS / "snapshots" / "described" / "topics.txt"


def names_of(log: Path) -> set[str]:
    """The topics, hosts and directories that a log names."""
    names = set[str]()
    for batch in read(find((log,))[0], SkipCount(0)):
        for entry in batch.entries:
            about = entry.data or {}
            names.update([about["name"]] if entry.type == "TOPIC_RECORD" else [])
            names.update(end["host"] for end in about.get("endPoints", ()))
            names.update(one for key in ("logDirs", "directories") for one in about.get(key) or ())
    return {name for name in names if not name.startswith("AAAAA") and not name.startswith("__")}


def inside(name: str, text: str) -> bool:
    """Whether a text has a name in it as a word."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?!\w)", text) is not None


@pytest.mark.parametrize("log", [OUTAGE, TROUBLE, DEAD_LEADER, CAPTURED / "kafka-4.4.0"], ids=lambda log: log.name)
def test_nothing_that_is_written_has_a_name_of_the_cluster(log: Path, tmp_path: Path) -> None:
    """Report, rows, page, condition and distances name no topic, host, directory or folder; without it they do."""
    page, rows = tmp_path / "log.html", tmp_path / "rows.json"
    names = names_of(log)
    for words in ([], ["--anonymise"]):
        ran = [kraftcheck("replay", log, "--verbose", "--html", page, "--json", rows, *words)]
        ran += [kraftcheck("status", log, "--all", "--describe", "--json", "-", *words)]
        ran += [kraftcheck("whatif", log, *words)]
        drawn = page.read_text(encoding="utf-8")
        shown = re.sub(r"<[^>]*>", " ", drawn.partition("<main>")[2].partition("</main>")[0])
        title = drawn.partition("<title>")[2].partition("</title>")[0]
        texts = [one.out.replace(str(page), "") for one in ran]
        texts += [rows.read_text(), shown, title, json.dumps(data(drawn))]
        found = {name for name in names for text in texts if inside(name, text)}
        assert bool(found) == (not words)
        assert any(str(log.parent) in text for text in texts) == (not words)
        assert ("are renamed in this page" in drawn) == bool(words)
    assert kraftcheck("status", log, "--anonymise").out == kraftcheck("status", log, "--anonymise").out


@pytest.mark.parametrize("log", [OUTAGE, TROUBLE, CAPTURED / "kafka-4.4.0"], ids=lambda log: log.name)
def test_all_but_names_is_as_without_it(log: Path) -> None:
    """Verdicts, explanations, states, advice and its order are the same: only names differ."""

    def told(*words: str) -> list[object]:
        ran = kraftcheck("replay", log, *words)
        found = json.loads(kraftcheck("status", log, "--json", "-", *words).out)
        counts = [line for line in ran.out.splitlines() if line.startswith(("  explained", "  properties", "  events"))]
        steps = [(step["start"], len(step["leads"]), len(step["writable"])) for step in found["way_back"]]
        keys = ("state", "leader", "isr", "elr", "min_isr", "since")
        rows = [[row[key] for key in keys] for row in found["partitions"]]
        rolling = [row["restart"] for row in found["rolling_restart"]]
        times = [row[-1]["offset"] if row[-1] else None for row in rows]
        return [ran.code, found["exit"], counts, steps, [row[:-1] for row in rows], rolling, times]

    assert told() == told("--anonymise")


def test_names_are_numbered_as_they_come_and_stay_in_every_form() -> None:
    """A segment and its dump get the same names, a topic of Kafka's own keeps its name, and a described cluster too."""
    forms = TROUBLE / f"{0:020}.log", TROUBLE / "decoded.txt"
    ends = [kraftcheck("status", form, "--anonymise", "--all", "--describe").out for form in forms]
    assert ends[0].splitlines()[3:] == ends[1].splitlines()[3:]
    assert [Aliases().topic(name) for name in ("__consumer_offsets", "orders")] == ["__consumer_offsets", "topic-1"]
    described = kraftcheck("status", TOPICS, "--anonymise", "--all").out
    assert not any(inside(name, described) for name in ("alone", "wide"))
    assert "topic-1" in described


def test_what_nobody_reads_is_left_out() -> None:
    """Other records, other configurations and what transactions are called tell nothing; the log is not changed."""
    entry = {"offset": 0, "type": "CONFIG_RECORD", "version": 0,
             "data": {"resourceType": 2, "resourceName": "secret", "name": "retention.ms", "value": "77"}}  # fmt: skip
    batch = next(iter(read(find((OUTAGE,))[0], SkipCount(0))))
    assert isinstance(batch, Batch)
    kinds = {"CONFIG_RECORD": entry["data"], "ACCESS_CONTROL_ENTRY_RECORD": {"principal": "User:jo"},
             "BEGIN_TRANSACTION_RECORD": {"name": "secret"}}  # fmt: skip
    entries = tuple(LogEntry(place, kind, 0, about) for place, (kind, about) in enumerate(kinds.items()))  # type: ignore[arg-type]
    renamed = Aliases().batch(evolve(batch, entries=entries, control=False))
    assert not any(word in str([one.data for one in renamed.entries]) for word in ("secret", "77", "jo"))
    assert entries[0].data == entry["data"]


def test_a_skipped_line_is_not_repeated() -> None:
    """Of what cannot be read the place is told, and not the text."""
    skipped = SkipCount(1, aliases=Aliases())
    skipped.problem("x.txt:7", "not a line of the dump tool: 'secret'")
    assert skipped.places == ["x.txt:7"]
    with pytest.raises(Refusal, match=r"x\.txt:8: cannot be read; without --anonymise it is said why") as refused:
        skipped.problem("x.txt:8", "not a line of the dump tool: 'secret'")
    assert "secret" not in str(refused.value)


def test_renamed_batches_are_compact_too() -> None:
    """The memo explains a renamed log as it does any other: most of its batches are compact."""
    (log,) = find((TROUBLE,))
    kinds = [type(batch).__name__ for batch in read_compact(log, SkipCount(0, aliases=Aliases()))]
    assert kinds.count("CompactBatch") > len(kinds) / 2
