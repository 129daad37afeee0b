"""Smaller defects that the catalogue only names, and defects reported since it was written."""

from __future__ import annotations

from kraftcheck.properties.coverage.statement import Statement

SIBLINGS: tuple[Statement, ...] = (
    Statement("sibling KAFKA-19047",
              "A registration waits for the session of a former incarnation that was fenced or shutting down.",
              properties=("sessions fenced-broker-may-return",), variants=("sessions-by-contact",)),
    Statement("sibling KAFKA-19130", "A controller that takes over begins sessions of fenced brokers.",
              properties=("sessions takeover-revives-no-session",),
              variants=("sessions-by-contact+takeover-hears-fenced-brokers",)),
    Statement("sibling KAFKA-19454", "Failovers that are faster than the session timeout fence nobody.",
              rules=("session.begins-with-the-controller",),
              reason="Every release is so, and the right rules too: contact times are not in the log. `sessions` lets "
                     "controllers take over at any time, and promises only that a silent broker can be fenced."),
    Statement("sibling KAFKA-16886", "An assignment of a replica that was removed is retried for ever.",
              places=("model/systems/directories/moves.py: lose",),
              reason="A lost assignment is sent again only while its replica is there; no variant sends it otherwise."),
    Statement("sibling KAFKA-17190", "An assignment of a partition that was deleted is retried for ever.",
              reason="`directories` deletes no topic, so that no assignment outlives its partition."),
    Statement("sibling KAFKA-16365", "The callback of an assignment is lost, or runs too early.",
              rules=("move.promoted-when-accepted",), properties=("directories failure-leads-away",),
              variants=("promotion-unacknowledged",),
              reason="The variant is the callback that runs too early. None is lost: an answer and what it leads to "
                     "are one step."),
    Statement("sibling KAFKA-16082", "A stale future log is continued in the directory of the current one.",
              reason="A future log of the model has one directory, and goes with its move; the one that an ended "
                     "process leaves over is the matter of `startup-swap-ignores-offsets`."),
    Statement("sibling KAFKA-16606",
              "Brokers have several directories before the metadata version can handle their failures."),
    Statement("sibling KAFKA-9654", "The fetcher of a future log keeps an old leader epoch.",
              reason="`directories` says of a future log whether it has caught up, and has no fetches of it."),
    Statement("sibling KAFKA-9750", "The fetcher of a future log races with the end of its move.",
              reason="`directories` promotes a future log in one step, and has no fetches of it."),
    Statement("sibling KAFKA-9263", "A watermark is written to the log that is being replaced.",
              reason="Watermarks are kept by replica, and not in the files of its logs."),
    Statement("sibling KAFKA-9087",
              "A move is stuck, because a new leader epoch meets a future log whose offset does not fit.",
              reason="`directories` says of a future log whether it has caught up, and has no offsets."),
    Statement("sibling KAFKA-19212", "An election of a reassignment is counted as unclean."),
    Statement("sibling KAFKA-18940", "An election from the ELR is counted as unclean."),
    Statement("sibling KAFKA-9491", "A fast election ends with the watermark beyond the end of the log."),
    Statement("sibling KAFKA-13167", "A broker that shuts down waits for its next heartbeat before it says so."),
    Statement("sibling KAFKA-1188", "A late LeaderAndIsr request is followed after a failover of the controller."),
    Statement("sibling the incarnation id of a registration's answer",
              "A broker takes an answer that was meant for its former incarnation."),
)  # fmt: skip
"""In the order of the catalogue."""

LATER: tuple[Statement, ...] = (
    Statement("later KAFKA-20441", "An empty list in a record of a registration is replayed as no change."),
    Statement("later KAFKA-18845", "A member of the ELR whose directory has a new id cannot lead."),
    Statement("later KAFKA-19905", "A controlled shutdown runs in circles for five minutes."),
    Statement("later KAFKA-20708", "A preferred election chooses a broker that still recovers."),
    Statement("later KAFKA-19586", "A broker that loads metadata freezes."),
    Statement("later KAFKA-21022", "A log has no topic id."),
    Statement("later strimzi 11477", "A reassignment asks for more replicas than there are live brokers."),
    Statement("later strimzi 11685", "Min ISR that is set for a broker blocks ELR."),
    Statement("later PR 20003", "A rewritten check of a cancel lost a condition."),
)  # fmt: skip
"""Defects that were reported since 2024."""
