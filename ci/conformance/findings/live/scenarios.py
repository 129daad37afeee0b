"""Every scenario, by name."""

from __future__ import annotations

from kraftcheck.ci.conformance.findings.live import (
    config_change,
    data_loss,
    deleted_member,
    deleted_offline,
    downgrade,
    failed_disk,
    padded_config,
    reassignment_stuck,
    replication_lost,
)

SCENARIOS = {
    module.SCENARIO.name: module.SCENARIO
    for module in (data_loss, deleted_member, config_change, downgrade, deleted_offline, reassignment_stuck,
                   replication_lost, failed_disk, padded_config)
}  # fmt: skip
"""The scenarios, worst effect first."""
