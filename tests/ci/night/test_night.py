"""A night runs every item once, resumes, and records what it has not run."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from kraftcheck.ci.terminal.files import write_json
from tests.ci.night import __main__ as night
from tests.ci.night import record, shards
from tests.ci.night.shards import Shard, outcomes

ITEMS = [f"tests/a/test_{n % 7}.py::test_b[{n}]" for n in range(300)]

TOY = """
import pytest

@pytest.mark.xdist_group("toys")
@pytest.mark.parametrize("n", [0, 1, "a@b"])
def test_toy(n):
    assert n != 1

def test_skipped():
    pytest.skip("no reason")

@pytest.fixture
def breaking():
    yield
    raise ValueError

def test_broken_late(breaking):
    pass
"""


def test_every_item_belongs_to_one_shard() -> None:
    """The shards of a night are disjoint, together everything, and none is empty or twice as long as it should be."""
    parts = [Shard(number, 5, Path()).items(ITEMS) for number in range(1, 6)]
    assert sorted(item for items in parts for item in items) == sorted(ITEMS)
    assert all(0 < len(items) < 2 * len(ITEMS) // 5 for items in parts)


def test_a_shard_resumes_with_what_is_left_or_has_failed(tmp_path: Path) -> None:
    """What has passed, or is skipped, under whatever shard is not run again; what failed is."""
    (tmp_path / "1-of-2.jsonl").write_text(
        f'{{"item": "{ITEMS[0]}", "outcome": "passed"}}\n{{"item": "{ITEMS[1]}", "outcome": "failed"}}\n'
        f'{{"item": "{ITEMS[2]}", "outcome": "skipped"}}\n'
    )
    assert Shard(1, 1, tmp_path).left(ITEMS) == ITEMS[1:2] + ITEMS[3:]


def test_outcomes_are_noted_as_items_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each item has its outcome, one that breaks after it has passed too; a file of theirs is all that is written.

    Once time is up none is begun, nor noted.
    """
    (tmp_path / "test_toy.py").write_text(TOY)
    monkeypatch.setattr(shards, "ROOT", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    shard = Shard(1, 1, tmp_path / "night")
    items = [*(f"test_toy.py::test_toy[{n}]" for n in (0, 1, "a@b")), "test_toy.py::test_skipped",
             "test_toy.py::test_broken_late"]  # fmt: skip
    shard.run(items, 0, ["-p", "no:cacheprovider"])
    assert dict(outcomes(shard.folder)) == {}
    shard.run(items, time.time() + 600, ["-p", "no:cacheprovider"])
    wanted = ("passed", "failed", "passed", "skipped", "failed")
    assert dict(outcomes(shard.folder)) == dict(zip(items, wanted, strict=True))
    assert [place.name for place in shard.folder.iterdir()] == ["1-of-1.jsonl"]


def test_a_record_counts_what_has_not_run(tmp_path: Path) -> None:
    """An item without an outcome is `not run`, on the page too; one that failed is named."""
    (tmp_path / "1-of-1.jsonl").write_text(
        f'{{"item": "{ITEMS[0]}", "outcome": "passed"}}\n{{"item": "{ITEMS[1]}", "outcome": "failed"}}\n'
    )
    document = record.recorded(tmp_path, "abc", ITEMS[:3], {})
    assert document["tests/a/test_2.py"] == {"commit": "", "date": "", "not run": 1}
    write_json(str(tmp_path / "night.json"), document)
    text = record.page(tmp_path / "night.json")
    assert "1 passed, 1 failed, 0 skipped, 1 not run" in text
    assert "| `tests/a/test_2.py` |  |  | 0 | 0 | 0 | 1 |" in text
    assert f"* `{ITEMS[1]}`" in text


def test_a_record_keeps_what_an_earlier_night_ran(tmp_path: Path) -> None:
    """The row of a file of which nothing was run stays that of its commit; one that is gone has no row."""
    (tmp_path / "1-of-1.jsonl").write_text(f'{{"item": "{ITEMS[0]}", "outcome": "passed"}}\n')
    former = {f"tests/a/test_{n}.py": {"commit": "old", "date": "2026-01-01", "passed": 1} for n in (0, 1, 9)}
    found = record.recorded(tmp_path, "abc", ITEMS[:2], former)
    assert {file: row["commit"] for file, row in found.items()} == {
        "tests/a/test_0.py": "abc", "tests/a/test_1.py": "old"}  # fmt: skip


def test_a_night_begins_with_what_ran_longest_ago() -> None:
    """Files that no night has run come first, then those of the oldest night."""
    former = {f"tests/a/test_{n}.py": {"date": f"2026-01-0{9 - n}"} for n in range(1, 7)}
    order = [item[13] for item in record.oldest_first(ITEMS[:7], former)]
    assert order == ["0", "6", "5", "4", "3", "2", "1"]


@pytest.mark.parametrize("text", ["3", "0/4", "5/4", "a/b", "1/0", "/"])
def test_a_shard_that_is_none_is_refused(text: str) -> None:
    """The refusal is one line with an example, exit 2."""
    words = [sys.executable, "-m", "tests.ci.night", "--shard", text]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "give one such as 3/40" in ran.stderr.splitlines()[-1]


def test_a_night_says_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where time is up the exit code is 20 and nothing is fuzzed; where an item failed it is 1, with its name."""
    monkeypatch.setattr(night, "FOLDER", tmp_path)
    monkeypatch.setattr(night, "collected", lambda: ITEMS[:2])
    monkeypatch.setattr(night, "fuzz", lambda *_: pytest.fail("nothing is to be fuzzed"))
    assert night.main(["--minutes", "0"]) == 20
    assert "2 items left, 0 failed" in capsys.readouterr().out
    folder = tmp_path / shards.commit()
    folder.mkdir()
    (folder / "1-of-1.jsonl").write_text(f'{{"item": "{ITEMS[0]}", "outcome": "failed"}}\n')
    assert night.main(["--minutes", "0"]) == 1
    assert f"failed: {ITEMS[0]}" in capsys.readouterr().out
