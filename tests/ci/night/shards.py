"""The items of a night, the shard that each belongs to, and what has become of them."""

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from tests.ci.night.plugin import END, PLACE, head
from tests.shared.places import ROOT

FOLDER = ROOT / ".night"  # where the outcomes of nights are kept, a folder for each commit

SELECTED = "slow or costly or shipped or hypothesis"
"""The tests of a night: those that no change waits for, or not each, those of what is shipped, and those that draw more
by night."""

WORKERS = ("-n", "auto", "--dist", "loadgroup")  # how pytest shares items among workers


def commit() -> str:
    """The commit of the working tree, with a mark where files have changed since."""
    changed = subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT, check=False).returncode
    return head(ROOT)[:12] + "-changed" * bool(changed)


def collected() -> list[str]:
    """The ids of every item of a night, as pytest collects them."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", SELECTED]
    told = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    if told.returncode:
        raise RuntimeError(f"pytest collects nothing: {(told.stdout + told.stderr).strip()[-500:]}")
    return [line for line in told.stdout.splitlines() if "::" in line]


def environment(**named: str) -> dict[str, str]:
    """That of a run of pytest by night, with some variables."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST_")}
    return {**outer, "KRAFTCHECK_PROFILE": "nightly", **named}


@frozen
class Shard:
    """One part of a night."""

    # number, of: which one, from 1, of how many
    number: int
    of: int
    folder: Path  # of the commit

    def items(self, every: Sequence[str]) -> list[str]:
        """Those of all items that belong to it: by their ids, so that all of a file never meet in one."""
        return [item for item in every if zlib.crc32(item.encode()) % self.of == self.number - 1]

    @property
    def notes(self) -> Path:
        """The file of its outcomes."""
        return self.folder / f"{self.number}-of-{self.of}.jsonl"

    def left(self, items: Sequence[str]) -> list[str]:
        """What of its items is left to be run; a failure is run again."""
        done = outcomes(self.folder)
        return [item for item in items if done.get(item, "failed") == "failed"]

    def run(self, items: Sequence[str], end: float, words: Sequence[str] = ()) -> None:
        """Run some items, and note what becomes of each, until a time of `time.time()`, after which none is begun.

        One that is passed over, or ends the run, notes nothing, and is left.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        chosen = self.folder / f"{self.notes.stem}.txt"
        chosen.write_text("\n".join(items) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.ci.night.plugin", *WORKERS, *words, f"@{chosen}"]
        around = environment(**{PLACE: str(self.notes), END: str(end)})
        subprocess.run(command, cwd=ROOT, env=around, check=False)
        chosen.unlink()


def outcomes(folder: Path) -> Mapping[str, str]:
    """By item the last outcome that a shard of this commit has noted."""
    found: dict[str, str] = {}
    for place in sorted(folder.glob("*.jsonl")):
        for line in place.read_text(encoding="utf-8").splitlines():
            noted = json.loads(line)
            found[noted["item"]] = noted["outcome"]
    return found
