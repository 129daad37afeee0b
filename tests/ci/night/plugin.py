"""A plugin of pytest that writes the outcome of each item as it ends, a JSON document a line, until its time is up."""

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

PLACE = "KRAFTCHECK_NIGHT"  # the environment variable that names the file

END = "KRAFTCHECK_NIGHT_END"  # the environment variable that says when time is up, in seconds of `time.time()`

GROUP = re.compile(r"@[^\]]*$")
"""What pytest-xdist puts after the id of an item that has a group; an id may have an @ in its brackets."""


def head(root: Path) -> str:
    """The commit of a working tree, in hexadecimal digits."""
    words = ["git", "-C", str(root), "rev-parse", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol() -> bool | None:
    """Begin no item once time is up: it is passed over without an outcome."""
    return True if time.time() > float(os.environ[END]) else None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the outcome of an item; of its phases the first that fails counts, else the call, or that it is skipped."""
    if "PYTEST_XDIST_WORKER" in os.environ or (report.when != "call" and report.passed):
        return
    line = {"item": GROUP.sub("", report.nodeid), "outcome": report.outcome, "seconds": round(report.duration, 1)}
    with Path(os.environ[PLACE]).open("a", encoding="utf-8") as notes:
        notes.write(json.dumps(line) + "\n")
