"""Stores of the S3 protocol: what is their own."""

from __future__ import annotations

import pytest

from kraftcheck.ci.dataset.store.commits import lease_on
from kraftcheck.ci.dataset.store.objects import ObjectPath
from kraftcheck.ci.dataset.store.stores import S3Path, place_of
from kraftcheck.ci.terminal.refusal import Refusal


@pytest.mark.parametrize("url", ["s3://bucket", "s3://bucket/", "s3://bucket/a//b", "s3://bucket/../b", "s3:///x"])
def test_a_url_names_a_folder_of_a_bucket(url: str) -> None:
    """A URL without a folder is refused in one line."""
    with pytest.raises(Refusal, match="write s3://BUCKET/FOLDER"):
        place_of(url)


def test_both_names_of_the_protocol_are_one_place() -> None:
    """s3a:// is s3://, and a slash at the end is nothing."""
    assert place_of("s3a://bucket/a/b/") == place_of("s3://bucket/a/b") == S3Path("s3://bucket", "a/b")


def test_a_store_that_heeds_no_condition_is_refused(bucket: ObjectPath) -> None:
    """Where a second write of a new object is accepted, drivers cannot exclude each other: one line, and no lease."""
    careless = S3Path("s3://careless", bucket.key)
    with pytest.raises(Refusal, match="so that drivers could not exclude each other"):
        lease_on(careless).__enter__()
    assert list(careless.iterdir()) == []


def test_what_a_store_refuses_is_said_in_its_words(bucket: ObjectPath) -> None:
    """Of a bucket that is not there the error has the store's own sentence, without markup and attempts."""
    with pytest.raises(OSError, match=r"\] The specified bucket does not exist: 's3://nowhere/"):
        S3Path("s3://nowhere", bucket.key).exists()
