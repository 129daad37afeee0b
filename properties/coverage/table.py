"""The coverage table: every document with its statements."""

from __future__ import annotations

from kraftcheck.properties.coverage.broker_ids import BROKER_IDS
from kraftcheck.properties.coverage.early_controller import EARLY_CONTROLLER
from kraftcheck.properties.coverage.jbod_on_zookeeper import JBOD_ON_ZOOKEEPER
from kraftcheck.properties.coverage.kip_858 import KIP_858
from kraftcheck.properties.coverage.statement import Document
from kraftcheck.properties.coverage.unclean_recovery import UNCLEAN_RECOVERY

DOCUMENTS: tuple[Document, ...] = (
    Document("JBOD KIP on ZooKeeper", "the JBOD KIP on ZooKeeper, which KIP-112 replaced", JBOD_ON_ZOOKEEPER),
    Document("KIP-858", "KIP-858: disk failures of brokers with several directories under KRaft", KIP_858),
    Document("early controller design", "the early controller design, before there were controller epochs",
             EARLY_CONTROLLER),
    Document("broker-id KIP", "the broker-id KIP: ids that are not configured", BROKER_IDS),
    Document("unclean-recovery KIP", "the unclean-recovery KIP: a tool that chooses leaders", UNCLEAN_RECOVERY),
)  # fmt: skip
"""The design documents in the order of their age, then what the reference pages list."""
