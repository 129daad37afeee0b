"""Objects of a store: conditions that the store checks, reading in parts, names, and who writes there."""

import json
import os
import re
import threading
import time
from contextlib import AbstractContextManager

import pytest

from kraftcheck.ci.dataset.store import commits
from kraftcheck.ci.dataset.store.commits import NAME, Lease, lease_on
from kraftcheck.ci.dataset.store.levelfiles import SightError, check_sight
from kraftcheck.ci.dataset.store.objects import ObjectPath, PresentError
from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.spark.test_spark_lease import another_driver


@pytest.fixture(
    params=[
        "bucket",
        "google",
        "azure",
        pytest.param("hdfs", marks=[pytest.mark.slow, pytest.mark.xdist_group("hdfs")]),
    ],
    ids=["s3", "gs", "azure", "hdfs"],
)
def store(request: pytest.FixtureRequest) -> ObjectPath:
    """A folder of its own in a store of each kind."""
    place: ObjectPath = request.getfixturevalue(request.param)
    return place


def test_an_object_is_made_once(store: ObjectPath) -> None:
    """What is there is not made again, and what has changed is not replaced; the first content stays."""
    place = store / "x"
    version = place.put_new(b"1")
    with pytest.raises(PresentError):
        place.put_new(b"2")
    place.put_instead(b"3", version)
    with pytest.raises(PresentError):
        place.put_instead(b"4", version)
    assert place.read_bytes() == b"3"


def test_a_folder_holds_what_is_below_it(store: ObjectPath) -> None:
    """Names that only begin alike are not below a folder; a folder is there as long as an object is."""
    (store / "levels" / "depth=1" / "a").put(b"12")
    (store / "levels" / "_00001.json").put(b"1")
    (store / "levels2" / "b").put(b"1")
    assert (store / "levels").sizes() == {"_00001.json": 1}
    assert [place.name for place in (store / "levels").iterdir()] == ["_00001.json", "depth=1"]
    assert not (store / "level").exists()
    assert [place.key for place in (store / "levels").below()] == [
        f"{store.key}/levels/_00001.json", f"{store.key}/levels/depth=1/a",
    ]  # fmt: skip
    with pytest.raises(FileNotFoundError, match="depth=1/c"):
        (store / "levels" / "depth=1" / "c").read_bytes()


def test_parts_of_an_object_are_those_of_its_bytes(store: ObjectPath) -> None:
    """Reading from anywhere gives the bytes there, and none beyond the end."""
    data = bytes(range(200))
    (store / "x").put(data)
    with (store / "x").opened() as stream:
        assert stream.read(10) == data[:10]
        stream.seek(-20, os.SEEK_END)
        assert stream.read(15) == data[180:195]
        assert (stream.read(), stream.read(3), stream.tell()) == (data[195:], b"", 200)


def test_one_driver_at_a_time_writes_to_a_url(store: ObjectPath) -> None:
    """While a driver lives another is refused and its lease stays; once it is killed the next one gets the lease."""
    with another_driver(store) as driver:
        before = (store / NAME).read_bytes()
        with pytest.raises(Refusal, match=f"process {driver.pid} on "):
            lease_on(store).__enter__()
        assert (store / NAME).read_bytes() == before
    with lease_on(store) as lease:
        lease.check()
        with pytest.raises(Refusal, match=f"process {os.getpid()} on "):
            lease_on(store).__enter__()
    with lease_on(store) as lease:
        lease.check()


ELSEWHERE = [{"boot": "another"}, {"processes": "pid:[1]"}, {"boot": "", "host": "elsewhere"}]
"""What a lease says that was taken on another machine, or among processes that are not seen from here."""


def left_elsewhere(store: ObjectPath, edit: dict[str, str]) -> None:
    """The lease of a driver that was killed, as one that was killed elsewhere leaves it."""
    with another_driver(store):
        pass
    owner = json.loads((store / NAME).read_bytes())
    (store / NAME).put(json.dumps({**owner, **edit}).encode())


@pytest.mark.parametrize("edit", ELSEWHERE)
def test_a_driver_elsewhere_that_lives_is_honoured(
    edit: dict[str, str], store: ObjectPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lease of a process that is not seen from here, and that is written anew, is never taken; nor is any of HDFS."""
    monkeypatch.setattr(commits, "BEAT_SECONDS", 0.05)
    left_elsewhere(store, edit)
    ends = threading.Event()

    def beat() -> None:
        while store.replaces_at_once and not ends.wait(0.01):
            (store / NAME).put((store / NAME).read_bytes() + b" ")

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        with pytest.raises(Refusal, match=r"in use by another driver .*(wait until it ends|if it has ended, remove)"):
            lease_on(store).__enter__()
    finally:
        ends.set()
        thread.join()


@pytest.mark.parametrize("edit", ELSEWHERE)
def test_a_driver_elsewhere_that_gives_no_sign_is_dead(
    edit: dict[str, str], google: ObjectPath, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lease without a new version for six beats is taken over; one word says what is waited for."""
    monkeypatch.setattr(commits, "BEAT_SECONDS", 0.05)
    left_elsewhere(google, edit)
    with lease_on(google) as lease:
        lease.check()
    assert "it is taken for dead in 0 s without a sign" in capsys.readouterr().err


def test_a_driver_that_was_taken_for_dead_stops(google: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that beats keeps its lease; once another has it, the first is refused before it writes."""
    monkeypatch.setattr(commits, "BEAT_SECONDS", 0.02)
    place = google / NAME
    with lease_on(google) as lease:
        seen = {place.read_version()[1] for _ in range(20) if not time.sleep(0.02)}
        assert len(seen) > 2
        lease.check()
        place.put(b"{}")
        with lease_on(google) as other:
            time.sleep(0.1)
            other.check()
            with pytest.raises(Refusal, match="this driver stops"):
                lease.check()
    assert json.loads(place.read_bytes()) == {}


def test_a_number_of_a_process_that_was_given_again_is_dead(store: ObjectPath) -> None:
    """A lease that names a living process which began at another time is that of a dead driver."""
    with lease_on(store):
        owner = json.loads((store / NAME).read_bytes())
    (store / NAME).put(json.dumps({**owner, "started": owner["started"] - 1}).encode())
    with lease_on(store) as lease:
        lease.check()
        assert json.loads((store / NAME).read_bytes())["started"] == owner["started"]


def test_of_two_that_come_together_one_gets_the_lease(store: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that read the lease before another took it is refused by the store."""
    read, contexts, first = type(store).read_version, list[AbstractContextManager[Lease]](), list[Lease]()

    def late(place: ObjectPath) -> tuple[bytes, object]:
        result = read(place)
        if place.name == NAME and not contexts:
            contexts.append(lease_on(store))
            first.append(contexts[0].__enter__())
        return result

    with lease_on(store):
        pass
    monkeypatch.setattr(type(store), "read_version", late)
    with pytest.raises(Refusal, match="came first"):
        lease_on(store).__enter__()
    first[0].check()
    contexts[0].__exit__(None, None, None)


def test_a_worker_looks_for_the_lease_of_its_driver(store: ObjectPath) -> None:
    """A worker that sees another token, or none, is refused; one that sees its driver's is not."""
    with lease_on(store) as lease:
        check_sight(lease.sight())
        with pytest.raises(SightError, match=f"does not see the driver's {re.escape(str(store))}"):
            check_sight((lease.sight()[0], "another"))
    with pytest.raises(SightError, match="choose an --out that all workers share"):
        check_sight(lease.sight())
