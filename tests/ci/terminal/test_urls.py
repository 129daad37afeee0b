"""URLs where a file or a folder is asked for are refused in one line, and nothing is made that bears their name."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.ci.terminal.files import check_local, local_path
from kraftcheck.ci.terminal.refusal import Refusal
from tests.shared.captures import ELR
from tests.shared.commands import kraftcheck

URLS = ("gs://bucket/run", "viewfs://name/run", "abfss://c@a.net/run", "s3a:run")

NO_DATASET = ("explore to JSON", "simulate", "simulate to a picture", "check", "query to a picture")
"""Commands that name no dataset: they refuse `file:` URLs, too."""

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
    for url in (*URLS, "file:///tmp/run" if name in NO_DATASET else "file://host/run"):
        words = [str(word).format(out=kept) for word in COMMANDS[name]]
        words += [url, "SELECT 1"] if name == "query" else [url]
        assert f"{url} is a URL" in kraftcheck(*words).refusal()
        assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("place", ["run", "/a/b:c/d", "a:b", "runs/12:30", "./s3", "C", "-", "k8s", "http"])
def test_paths_are_no_urls(place: str) -> None:
    """Colons alone make no URL."""
    assert local_path(place) == place


@pytest.mark.parametrize("place", ["s3a://b/r", "S3A://b/r", "hdfs:run", "https://x", "a+b.c-1://x"])
def test_urls_are_known_by_their_scheme(place: str) -> None:
    """As typed, or as a path that has lost a slash."""
    for given in (place, Path(place)):
        with pytest.raises(Refusal, match="is a URL"):
            check_local(given)


@pytest.mark.parametrize("form", ["file://{}", "file:{}", "FILE://localhost{}"])
def test_a_dataset_may_be_named_by_a_file_url(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `file:` URL of a folder is that folder, with its escapes decoded, wherever a dataset is named."""
    monkeypatch.chdir(tmp_path)
    url = form.format(f"{tmp_path}/a%20run")
    ran = kraftcheck("explore", "tests.toys:CLOCK", "--engine", "disk", "--quiet", "--out", url)
    assert (ran.code, [path.name for path in tmp_path.iterdir()]) == (0, ["a run"]), ran.err
    told = kraftcheck("query", url, "SELECT count(*) FROM states", "--system", "tests.toys:CLOCK", "--json", "-")
    assert told.code == 0, told.err
    assert kraftcheck("explore", "tests.toys:CLOCK", "--engine", "disk", "--quiet", "--out", url, "--resume").code == 0


NO_PATHS = ("file:run", "file:///a?b", "file:///a#b", "file:///a%00b", "file://host/a", "file:////a")


@pytest.mark.parametrize("place", NO_PATHS)
def test_a_file_url_without_a_path_is_refused(place: str) -> None:
    """What names no path of this machine is refused, not taken for another."""
    with pytest.raises(Refusal, match="URL"):
        local_path(place)


@pytest.mark.parametrize("place", ["run", "./file:/x", "a:b", "/a%20b", "run?1", "-"])
def test_paths_stay_as_they_are(place: str) -> None:
    """Nothing is decoded in a path."""
    assert local_path(place) == place


def test_the_place_of_a_dataset_names_the_stores_that_are_served() -> None:
    """A URL that is no place of a dataset is refused with the kinds of URLs that are."""
    said = kraftcheck("query", "gs://bucket/run", "SELECT 1").refusal()
    assert all(f"{scheme}://" in said for scheme in ("s3", "hdfs", "webhdfs"))
