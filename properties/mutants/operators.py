"""Operator mutants that nothing kills, judged: each by the exact text that it changes, and why that is right.

A judgement names a function, the expression as it is written and as it is changed. It says that the change makes no
difference to Kafka (`redundant`), or none that the scope can show (`scope`). An unjudged one is open.
"""

from __future__ import annotations

from kraftcheck.properties.mutants.judgement import ANY, REDUNDANT, SCOPE, Judgement, about

_ELECTIONS = "kraftcheck.model.systems.elections."
_REPLICATION = "kraftcheck.model.systems.replication."
_DIRECTORIES = "kraftcheck.model.systems.directories."

OPERATOR_JUDGEMENTS: tuple[Judgement, ...] = (
    *about(
        SCOPE, "elections", "which lists of replicas the scope offers to a reassignment is no rule of Kafka",
        (_ELECTIONS + "system:replica_lists", "largest + 1", "largest"),
    ),
    *about(
        REDUNDANT, ANY, "an answer may be lost at any time, and what it changed comes with the metadata",
        (_REPLICATION + "dataplane:DataPlane.take_answer",
         "any_of(leader.answer == ACCEPTED, leader.answer == OVERTAKEN)", "any_of(leader.answer == ACCEPTED)"),
    ),
    *about(
        SCOPE, "replication", "it is the variant answered-request-survives, which breaks quorum-superset in `small`",
        (_REPLICATION + "dataplane:DataPlane.take_answer",
         "negate(rules.data_plane.answered_request_survives)", "rules.data_plane.answered_request_survives"),
    ),
    *about(
        REDUNDANT, ANY,
        "where the known assignment is wrong a correction is queued, and a queue that is not empty fences by itself",
        (_DIRECTORIES + "host:Host.settled",
         "all_of(self.moving(), self.known == self.directory(self.future))", "all_of(self.moving())"),
    ),
    *about(
        REDUNDANT, ANY, "a future log that is assigned too early is promoted no earlier",
        (_DIRECTORIES + "moves:Moves.may_request",
         "{'a move runs': host.moving(), 'future log is level': host.copied, "
         "'no assignment was asked for': host.promotion == IDLE}",
         "{'a move runs': host.moving(), 'no assignment was asked for': host.promotion == IDLE}"),
    ),
)  # fmt: skip
"""The judgements."""
