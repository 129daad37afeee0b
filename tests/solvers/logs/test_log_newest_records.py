"""What the newest release adds to the log: cordoned directories, and controllers that are unregistered."""

from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.logs.format import segments
from kraftcheck.ci.logs.format.read import SkipCount, find, read, read_compact
from kraftcheck.ci.logs.releases import rules_of
from kraftcheck.model.records.codecs import encode
from kraftcheck.model.records.records import BrokerRegistrationChangeRecord, Feature, RegisterBrokerRecord
from kraftcheck.solvers.logs.memo.replay import MemoisedReplay
from tests.shared.captures import json_lines, replay_log
from tests.shared.recordings import DIR_A, DIR_B

FEATURES = (Feature("metadata.version", 7, 33),)
CORDONED = BrokerRegistrationChangeRecord(1, 2, cordoned=(DIR_B,))
RECORDS: tuple[tuple[str, int, Any], ...] = (
    ("FEATURE_LEVEL_RECORD", 0, {"name": "metadata.version", "featureLevel": 33}),
    ("REGISTER_CONTROLLER_RECORD", 0, {
        "controllerId": 3000, "incarnationId": "B" * 21 + "A", "zkMigrationReady": False, "endPoints": [],
        "features": [],
    }),
    ("REGISTER_BROKER_RECORD", 4, encode(
        RegisterBrokerRecord(1, 2, "C" * 21 + "A", features=FEATURES, log_dirs=(DIR_A, DIR_B))
    )["data"]),
    ("BROKER_REGISTRATION_CHANGE_RECORD", 3, encode(BrokerRegistrationChangeRecord(1, 2, fenced=-1))["data"]),
    ("BROKER_REGISTRATION_CHANGE_RECORD", 3, encode(CORDONED)["data"]),
    ("UNREGISTER_CONTROLLER_RECORD", 0, {"controllerId": 3000}),
)  # fmt: skip
"""A batch of each, in the layouts of metadata version 4.4-IV2."""


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """A segment with these records."""
    path = tmp_path / "00000000000000000000.log"
    values = [segments.record_bytes(*record) for record in RECORDS]
    path.write_bytes(b"".join(segments.batch_bytes(offset, 1, [value]) for offset, value in enumerate(values)))
    return path


@pytest.mark.parametrize("text", [False, True], ids=["segment", "lines"])
def test_cordoned_directories_and_unregistered_controllers_are_replayed(segment: Path, text: bool) -> None:
    """With and without the memo, from bytes and text: one broker, with what is cordoned, and no controller."""
    if text:
        lines = json_lines(list(read(find((segment,))[0], SkipCount(0))))
        segment = segment.with_suffix(".jsonl")
        segment.write_text(lines, encoding="utf-8")
    (log,) = find((segment,))
    *_, last = replay_log(read(log, SkipCount(0)), rules_of)
    memoised = MemoisedReplay(rules_of)
    assert len(list(memoised.replay(read_compact(log, SkipCount(0))))) == len(RECORDS)
    assert last.explanation is not None
    assert last.explanation.steps[0].name == "controller 3000 is unregistered"
    for state in (last.state, memoised.state):
        registration = state.controller.registration(1)
        assert registration is not None
        assert (registration.fenced, registration.dirs, registration.cordoned) == (False, (DIR_A, DIR_B), (DIR_B,))
        assert not state.controller.controllers
