"""URLs where a file or a folder is asked for are refused in one line, and nothing is made that bears their name."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.urls import check_local
from tests.shared.captures import ELR
from tests.shared.commands import kraftcheck

URLS = ("s3a://bucket/run", "file:///tmp/run", "hdfs://name:9000/run", "abfss://c@a.net/run", "s3a:run")

COMMANDS = {
    "explore": ("explore", "tests.toys:CLOCK", "--out"),
    "explore under Spark": ("explore", "tests.toys:CLOCK", "--engine", "spark", "--out"),
    "explore again": ("explore", "tests.toys:CLOCK", "--engine", "spark", "--resume", "--out"),
    "explore to JSON": ("explore", "tests.toys:CLOCK", "--json"),
    "simulate": ("simulate", "tests.toys:CLOCK", "--out"),
    "simulate to a picture": ("simulate", "tests.toys:CLOCK", "--plot"),
    "check": ("check", "--out"),
    "replay": ("replay", ELR, "--engine", "spark", "--out"),
    "query": ("query",),
    "query to a picture": ("query", "{out}", "--system", "tests.toys:CLOCK", "--plot"),
    "sweep": ("sweep",),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_takes_a_url_for_a_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command that names an output or a dataset refuses each kind of URL, whole, and makes nothing."""
    kept = tmp_path / "kept"
    kraftcheck("explore", "tests.toys:CLOCK", "--engine", "spark", "--out", kept, "--quiet")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for url in URLS:
        words = [str(word).format(out=kept) for word in COMMANDS[name]]
        words += [url, "SELECT 1"] if name == "query" else [url]
        assert f"{url} is a URL" in kraftcheck(*words).refusal()
        assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("place", ["run", "/a/b:c/d", "a:b", "runs/12:30", "./s3", "C", "-", "k8s", "http"])
def test_paths_are_no_urls(place: str) -> None:
    """Colons alone make no URL."""
    check_local(Path(place))


@pytest.mark.parametrize("place", ["s3a://b/r", "S3A://b/r", "hdfs:run", "https://x", "a+b.c-1://x"])
def test_urls_are_known_by_their_scheme(place: str) -> None:
    """As typed, or as a path that has lost a slash."""
    for given in (place, Path(place)):
        with pytest.raises(Refusal, match="is a URL"):
            check_local(given)
