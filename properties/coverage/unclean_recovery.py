"""The statements of the unclean-recovery KIP (system `unclean-recovery` and its tool), by the lines of its text."""

from __future__ import annotations

from kraftcheck.properties.coverage.statement import Statement

UNCLEAN_RECOVERY: tuple[Statement, ...] = (
    Statement("unclean-recovery KIP 8", "Offline when ISR/ELR are gone; data loss."),
    Statement("unclean-recovery KIP 9", "Unclean.leader.election.enable, every 5 minutes."),
    Statement("unclean-recovery KIP 9b", "Random pick of a live replica."),
    Statement("unclean-recovery KIP 10", "Replica added after the partition went offline."),
    Statement("unclean-recovery KIP 18-19", "--recovery-duration-ms 30000."),
    Statement("unclean-recovery KIP 20-21", "--recovery-election-attempts 3."),
    Statement("unclean-recovery KIP 22-34", "Show / manual file / automated, exclusions."),
    Statement("unclean-recovery KIP 35-50", "Input json, all offline."),
    Statement("unclean-recovery KIP 51-80", "Elect-leaders with DESIGNATED."),
    Statement("unclean-recovery KIP 84", "1000 per ElectLeaders."),
    Statement("unclean-recovery KIP 83, 111", "ACLs."),
    Statement("unclean-recovery KIP 94-102", "DesignatedLeaders by index."),
    Statement("unclean-recovery KIP 104", "TimeoutMs 60000."),
    Statement("unclean-recovery KIP 121", "Null TopicPartitions."),
    Statement("unclean-recovery KIP 112, 132, 145", "1000 and HasMoreData."),
    Statement("unclean-recovery KIP 133, 154", "LastWrittenLeaderEpoch removed, PartitionLeaderEpoch returned."),
    Statement("unclean-recovery KIP 143-144", "BrokerEpoch in the response."),
    Statement("unclean-recovery KIP 156", "ErrorCode."),
    Statement("unclean-recovery KIP 141", "ThrottleTimeMs."),
    Statement("unclean-recovery KIP 162", "Only if offline."),
    Statement("unclean-recovery KIP 162b", "Replica, unfenced, online."),
    Statement("unclean-recovery KIP 163", "Retry until the deadline."),
    Statement("unclean-recovery KIP 163b", "Highest epoch, then longest."),
    Statement("unclean-recovery KIP 163c", "Manual file."),
    Statement("unclean-recovery KIP 163d", "Amortised GetReplicaLogInfo."),
    Statement("unclean-recovery KIP 164",
              "Time limit over the elections too ('as many elections as it can within a time limit')."),
    Statement("unclean-recovery KIP 164b", "SIGTERM, exit status, stderr."),
    Statement("unclean-recovery KIP 164c", "Idempotent."),
    Statement("unclean-recovery KIP 166", "Operator reaches fenced brokers."),
    Statement("unclean-recovery KIP 166b", "Dry run."),
    Statement("unclean-recovery KIP 167", "ELR replica back first."),
    Statement("unclean-recovery KIP 169", "Additive."),
    Statement("unclean-recovery KIP 171-177",
              "The system test of the Test Plan (ISR killed, tool, leader from the non-ISR set)."),
    Statement("unclean-recovery KIP 179-182",
              "Rejected: unclean.recovery.strategy Balanced/Aggressive in the controller."),
    Statement("unclean-recovery KIP 183", "Tool failure has no effect on controller liveness."),
    Statement("unclean-recovery KIP 8b",
              "'the new leader truncates the others' and RECOVERING state of the partition."),
)  # fmt: skip
"""In the order of the audit."""
