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
              rules=("move.promoted-when-accepted",), properties=("directories assignment-settles",),
              variants=("promotion-unacknowledged",),
              reason="The variant is the callback that runs too early. None is lost: an answer and what it leads to "
                     "are one step."),
    Statement("sibling KAFKA-16082", "A stale future log is continued in the directory of the current one.",
              reason="A future log of the model has one directory, and goes with its move; the one that an ended "
                     "process leaves over is the matter of `startup-swap-ignores-offsets`."),
    Statement("sibling KAFKA-16606",
              "Brokers have several directories before the metadata version can handle their failures.",
              places=("tests/model/controller/test_controller_lifecycle.py: test_before_directories_none_are_kept",),
              reason="Since 3.8 such a broker does not start; explored systems begin at a version that has "
                     "directories, and the controller on ints keeps none below it."),
    Statement("sibling KAFKA-9654", "The fetcher of a future log keeps an old leader epoch.",
              reason="`directories` says of a future log whether it has caught up, and has no fetches of it."),
    Statement("sibling KAFKA-9750", "The fetcher of a future log races with the end of its move.",
              reason="`directories` promotes a future log in one step, and has no fetches of it."),
    Statement("sibling KAFKA-9263", "A watermark is written to the log that is being replaced.",
              reason="Watermarks are kept by replica, and not in the files of its logs."),
    Statement("sibling KAFKA-9087",
              "A move is stuck, because a new leader epoch meets a future log whose offset does not fit.",
              reason="`directories` says of a future log whether it has caught up, and has no offsets."),
    Statement("sibling KAFKA-19212", "An election of a reassignment is counted as unclean.",
              rules=("election.clean.from-previous-isr",), reason="It feeds a metric and decides nothing."),
    Statement("sibling KAFKA-18940", "An election from the ELR is counted as unclean.",
              rules=("election.clean.from-previous-isr",), reason="It feeds a metric and decides nothing."),
    Statement("sibling KAFKA-9491", "A fast election ends with the watermark beyond the end of the log.",
              properties=("replication watermark-within-log",), variants=("truncation-keeps-watermark",)),
    Statement("sibling KAFKA-13167", "A broker that shuts down waits for its next heartbeat before it says so.",
              reason="It is slower and breaks no promise: `sessions` lets a stop wait for the next heartbeat."),
    Statement("sibling KAFKA-1188", "A late LeaderAndIsr request is followed after a failover of the controller.",
              properties=("zk-controller isr-complete",), variants=("older-decisions-followed",)),
    Statement("sibling the incarnation id of a registration's answer",
              "A broker takes an answer that was meant for its former incarnation.",
              reason="An answer comes on the connection of the process that asked, and ends with it; in no system "
                     "does one outlive its process."),
)  # fmt: skip
"""In the order of the catalogue."""

LATER: tuple[Statement, ...] = (
    Statement("later KAFKA-20441", "An empty list in a record of a registration is replayed as no change.",
              rules=("cordoning.reported-by-heartbeat", "registration.empty-directory-list-is-none-left"),
              places=("tests/model/controller/test_cordoned.py: test_the_registration_changes_when_others_are_named",),
              reason="The twin of X6, for cordoned directories; 4.3.0 was released with it mended, and no explored "
                     "system has cordoned directories."),
    Statement("later KAFKA-18845", "A member of the ELR whose directory has a new id cannot lead.",
              properties=("elections leader-directory-online",), variants=("offline-directory-leader-kept",),
              reason="It is right so: a broker that comes back with other directories has lost that replica. What was "
                     "reported is a test that restarted a broker that way."),
    Statement("later KAFKA-19905", "A controlled shutdown runs in circles for five minutes.",
              reason="Here the controller is gone for good before it grants the shutdown: nothing can grant it, and "
                     "the time until the process gives up is a constant of the broker, which no system has."),
    Statement("later KAFKA-20708", "A preferred election chooses a broker that still recovers.",
              rules=("election.preferred.first-replica",),
              reason="A preferred election takes members of the ISR only, in every release; a leader that has just "
                     "caught up is slow, and breaks no promise."),
    Statement("later KAFKA-19586", "A broker that loads metadata freezes.",
              properties=("sessions broker-returns",),
              reason="Why heartbeats are missing is the broker's affair: in `sessions` any heartbeat may be lost, the "
                     "broker is fenced, and can return."),
    Statement("later KAFKA-21022", "A log has no topic id.",
              reason="Explored systems have one topic, or two that differ, and compare no ids; logs of a topic that "
                     "was deleted and created again are not on their disks."),
    Statement("later strimzi 11477", "A reassignment asks for more replicas than there are live brokers.",
              rules=("assignment-by-hand.registered-and-distinct",),
              properties=("elections reassignment-completes",),
              reason="A target has to be registered, and need not be alive: the reassignment waits for it, and "
                     "completes once it is back."),
    Statement("later strimzi 11685", "Min ISR that is set for a broker blocks ELR.",
              rules=("min-isr.leader-and-controller-agree",),
              properties=("replication candidates-complete",), variants=("brokers-disagree-on-min-isr",),
              reason="Kafka refuses such a value while ELR is on (config.min-isr-of-brokers-with-elr), for the reason "
                     "that the variant shows; what was "
                     "reported is an operator that restarts the broker over the refusal."),
    Statement("later PR 20003", "A rewritten check of a cancel lost a condition.",
              properties=("elections reassignment-keeps-a-leader",), variants=("cancel-ignores-permission",)),
)  # fmt: skip
"""Defects that were reported since 2024."""
