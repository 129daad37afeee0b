"""The statements of the early controller design (system `zk-controller`); an id ends with the lines of its text."""

from __future__ import annotations

from kraftcheck.properties.coverage.statement import Statement

EARLY_CONTROLLER: tuple[Statement, ...] = (
    Statement("early controller design 12, 109", "End-to-end latency, 1 write per partition, multi."),
    Statement("early controller design 10, 102", "Broker shutdown sequence (socket server, request handler, log)."),
    Statement("early controller design 13-14, 106-107", "Followers connect and truncate."),
    Statement("early controller design 22-23", "Leader and AR in memory; on_broker_change."),
    Statement("early controller design 27-28", "Read live brokers, partitions without live leader."),
    Statement("early controller design 30", "Read ISR from ZK."),
    Statement("early controller design 32", "Live ISR member leads, ISR = live members."),
    Statement("early controller design 33", "Otherwise any live AR member, alone."),
    Statement("early controller design 33b",
              "'potential data loss' - whether to allow it at all (catalogue 54, KAFKA-1028)."),
    Statement("early controller design 34", "A.1."),
    Statement("early controller design 35-37", "Write, publish, ideally multi."),
    Statement("early controller design 38", "A.2."),
    Statement("early controller design 39", "A.3."),
    Statement("early controller design 42", "Child watch on the queue."),
    Statement("early controller design 49, 52", "Stop the fetcher first."),
    Statement("early controller design 50", "Leader updates ISR only if unchanged."),
    Statement("early controller design 53", "Become follower."),
    Statement("early controller design 56, 72", "New topics, init_leaders."),
    Statement("early controller design 54-56", "Deleted topics."),
    Statement("early controller design 58", "Text of on_topic_change omitted."),
    Statement("early controller design 60", "Multi for topics."),
    Statement("early controller design 64, 70", "Failover: publish all decisions again."),
    Statement("early controller design 64", "Brokers ignore what they followed."),
    Statement("early controller design 64, 68",
              "/controller -> this broker id: brokers compete, the controller IS a broker."),
    Statement("early controller design 70", "To ALL brokers."),
    Statement("early controller design 71", "Change_leaders."),
    Statement("early controller design 77-85", "Startup: read, start, lead/follow, subscribe."),
    Statement("early controller design 93-94", "Read request, StartReplica."),
    Statement("early controller design 95-96", "Check ISR == AR+RAR."),
    Statement("early controller design 96", "'??? need to do that in individual ISR and leader path'."),
    Statement("early controller design 96b", "StopReplica to the right brokers."),
    Statement("early controller design 97-98", "Update AR, delete request."),
    Statement("early controller design 99", "Alternative: watch the ISR."),
    Statement("early controller design 100", "Step 4: inform the CURRENT LEADER of the ISR change."),
    Statement("early controller design 32b", "'select one': which one."),
)  # fmt: skip
"""In the order of the audit."""
