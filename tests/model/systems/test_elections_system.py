"""The `elections` system: each trigger on small examples."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.language.brokersets import BrokerSet
from tests.shared.elections import HEALTHY, ids, refused, replicas


@pytest.mark.parametrize(
    ("changes", "isr", "recovering", "conjunct"),
    [
        ({}, ids(1), False, "ISR holds the leader"),
        ({"replicas": replicas(0, 1)}, ids(0, 2), False, "ISR holds replicas only"),
        ({"recovering": True}, ids(0, 1), True, "a RECOVERING partition has one member"),
        ({}, ids(0), True, "RECOVERING is not requested anew"),
        ({"fenced": ids(2)}, ids(0, 2), False, "members are unfenced and not shutting down"),
        ({"shutting_down": ids(2)}, ids(0, 2), False, "members are unfenced and not shutting down"),
        ({"registered": ids(0, 1)}, ids(0, 2), False, "members are unfenced and not shutting down"),
    ],
)
def test_alter_partition_is_checked(changes: dict[str, Any], isr: BrokerSet, recovering: bool, conjunct: str) -> None:
    """Each check of AlterPartition refuses on its own."""
    state = evolve(HEALTHY, **changes)
    assert refused(state, "alter_partition", isr=isr, recovering=recovering) == [conjunct]
