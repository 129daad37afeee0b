"""A folder for each test, in a store of each kind."""

import uuid
from collections.abc import Iterator

import pytest

from kraftcheck.ci.dataset.store import stores
from kraftcheck.ci.dataset.store.objects import ObjectPath
from kraftcheck.ci.dataset.store.stores import HdfsPath
from tests.ci.stores import doubles
from tests.ci.stores.minicluster import MiniCluster, cluster
from tests.ci.stores.server import serving, settings


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """The URL of a server of the S3 protocol."""
    with serving() as url:
        yield url


@pytest.fixture(scope="session")
def hadoop() -> Iterator[MiniCluster]:
    """A cluster of HDFS; tests that use it are of the xdist group hdfs, which shares one."""
    with cluster() as found:
        yield found


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectPath]:
    """A folder of its own in a bucket of the S3 server, for this process and those that it starts."""
    for name, value in settings(endpoint).items():
        monkeypatch.setenv(name, value)
    stores.bucket.cache_clear()
    yield stores.BucketPath("s3://runs", f"a folder/{uuid.uuid4().hex}")
    stores.bucket.cache_clear()


@pytest.fixture
def hdfs(hadoop: MiniCluster, monkeypatch: pytest.MonkeyPatch) -> ObjectPath:
    """A folder of its own in HDFS, for a user who is not the one that the cluster runs as."""
    monkeypatch.setenv("HADOOP_USER_NAME", "alice")
    return HdfsPath(hadoop.url, f"runs/a folder+%25/{uuid.uuid4().hex}")


@pytest.fixture(scope="session")
def double() -> Iterator[str]:
    """The URL of a server that answers as Google's and Azure's do."""
    with doubles.serving() as url:
        yield url


def _other(url: str, double: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectPath]:
    for name, value in doubles.settings(double).items():
        monkeypatch.setenv(name, value)
    stores.bucket.cache_clear()
    yield stores.BucketPath(url, f"a folder/{uuid.uuid4().hex}")
    stores.bucket.cache_clear()


@pytest.fixture
def google(double: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectPath]:
    """A folder of its own in a bucket of Google."""
    yield from _other("gs://runs", double, monkeypatch)


@pytest.fixture
def azure(double: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectPath]:
    """A folder of its own in a container of Azure."""
    yield from _other(f"abfss://{doubles.CONTAINER}@{doubles.ACCOUNT}.dfs.core.windows.net", double, monkeypatch)


@pytest.fixture(
    params=["bucket", pytest.param("hdfs", marks=[pytest.mark.slow, pytest.mark.xdist_group("hdfs")])],
    ids=["s3", "hdfs"],
)
def store(request: pytest.FixtureRequest) -> ObjectPath:
    """A folder of its own in a store of either kind."""
    place: ObjectPath = request.getfixturevalue(request.param)
    return place
