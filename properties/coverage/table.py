"""The coverage table: every document with its statements."""

from __future__ import annotations

from kraftcheck.properties.coverage.behaviours import BEHAVIOURS, FINDINGS
from kraftcheck.properties.coverage.broker_ids import BROKER_IDS
from kraftcheck.properties.coverage.catalogue_head import CATALOGUE_HEAD
from kraftcheck.properties.coverage.catalogue_tail import CATALOGUE_TAIL
from kraftcheck.properties.coverage.early_controller import EARLY_CONTROLLER
from kraftcheck.properties.coverage.invariants import INVARIANTS
from kraftcheck.properties.coverage.jbod_on_zookeeper import JBOD_ON_ZOOKEEPER
from kraftcheck.properties.coverage.kip_858 import KIP_858
from kraftcheck.properties.coverage.siblings import LATER, SIBLINGS
from kraftcheck.properties.coverage.statement import Document
from kraftcheck.properties.coverage.unclean_recovery import UNCLEAN_RECOVERY

DOCUMENTS: tuple[Document, ...] = (
    Document("JBOD KIP on ZooKeeper", "JBOD KIP on ZooKeeper, which KIP-112 replaced", JBOD_ON_ZOOKEEPER),
    Document("KIP-858", "KIP-858, disk failures of brokers with several directories under KRaft", KIP_858),
    Document("early controller design", "Early controller design, before there were controller epochs",
             EARLY_CONTROLLER),
    Document("broker-id KIP", "Broker-id KIP, ids that are not configured", BROKER_IDS),
    Document("unclean-recovery KIP", "Unclean-recovery KIP, a tool that chooses leaders", UNCLEAN_RECOVERY),
    Document("invariant", "Candidate invariants of the semantics reference", INVARIANTS),
    Document("behaviour", "Suspicious behaviours of the semantics reference", BEHAVIOURS),
    Document("finding", "Findings of the catalogue of defects", FINDINGS),
    Document("catalogue", "Entries of the catalogue of defects", CATALOGUE_HEAD + CATALOGUE_TAIL),
    Document("sibling", "Smaller defects that the catalogue names", SIBLINGS),
    Document("later", "Defects reported since 2024", LATER),
)  # fmt: skip
"""The design documents in the order of their age, then what the reference pages list."""
