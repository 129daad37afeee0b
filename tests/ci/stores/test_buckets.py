"""Stores of buckets: how they are named, and what is their own."""

import json
from pathlib import Path

import pytest

from kraftcheck.ci.dataset.store.commits import lease_on
from kraftcheck.ci.dataset.store.objects import ObjectPath
from kraftcheck.ci.dataset.store.stores import BucketPath, place_of
from kraftcheck.ci.terminal.refusal import Refusal
from tests.shared.commands import kraftcheck


@pytest.mark.parametrize("url", ["s3://bucket", "s3://bucket/", "s3://bucket/a//b", "s3://bucket/../b", "s3:///x"])
def test_a_url_names_a_folder_of_a_bucket(url: str) -> None:
    """A URL without a folder is refused in one line."""
    with pytest.raises(Refusal, match="write s3://BUCKET/FOLDER"):
        place_of(url)


@pytest.mark.parametrize("url", ["gs://bucket", "gs:///x", "abfss://box@account.dfs.core.windows.net", "abfss://box/a"])
def test_a_url_of_google_or_azure_names_a_folder(url: str) -> None:
    """A URL without a bucket or container, or without a folder, is refused in one line that shows the form."""
    with pytest.raises(Refusal, match=r"write (gs://BUCKET|abfss://CONTAINER@ACCOUNT\.dfs\.core\.windows\.net)/FOLDER"):
        place_of(url)


def test_both_names_of_the_protocol_are_one_place() -> None:
    """s3a:// is s3:// and abfs:// is abfss://; a slash at the end is nothing."""
    assert place_of("s3a://bucket/a/b/") == place_of("s3://bucket/a/b") == BucketPath("s3://bucket", "a/b")
    azure = "abfss://box@account.dfs.core.windows.net"
    assert place_of(f"{azure.replace('abfss', 'abfs')}/a/") == place_of(f"{azure}/a") == BucketPath(azure, "a")


def test_a_store_that_heeds_no_condition_is_refused(bucket: ObjectPath) -> None:
    """Where a second write of a new object is accepted, drivers cannot exclude each other: one line, and no lease."""
    careless = BucketPath("s3://careless", bucket.key)
    with pytest.raises(Refusal, match="so that drivers could not exclude each other"):
        lease_on(careless).__enter__()
    assert list(careless.iterdir()) == []


def test_what_a_store_refuses_is_said_in_its_words(bucket: ObjectPath) -> None:
    """Of a bucket that is not there the error has the store's own sentence, without markup and attempts."""
    with pytest.raises(OSError, match=r"\] The specified bucket does not exist: 's3://nowhere/"):
        BucketPath("s3://nowhere", bucket.key).exists()


def test_a_run_is_kept_and_asked_in_stores_of_google_and_azure(
    google: ObjectPath, azure: ObjectPath, tmp_path: Path
) -> None:
    """A space in either store has the states of one in a folder, and a second driver is kept out."""
    found = []
    for place in (tmp_path / "run", google, azure):
        words = ("tests.toys:CLOCK", "--engine", "disk", "--out", place, "--quiet")
        assert kraftcheck("explore", *words).code == 0
        question = ("query", place, "SELECT * FROM states ORDER BY ALL", "--system", "tests.toys:CLOCK", "--json", "-")
        found.append(json.loads(kraftcheck(*question).out)["rows"])
        if isinstance(place, ObjectPath):
            with lease_on(place), pytest.raises(Refusal, match="process"):
                lease_on(place).__enter__()
    assert found[0] == found[1] == found[2] != []
