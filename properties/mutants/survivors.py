"""Mutants of the shipped rules that nothing kills, judged: a redundant check, or a small scope.

Survivors that change no state of the scope, or that another system kills, need
no judgement of their own; the table says so by itself. So do those that only
change steps between states.
"""

from __future__ import annotations

from kraftcheck.properties.mutants.judgement import ANY, KINDS, REDUNDANT, SCOPE, Judgement, about
from kraftcheck.properties.mutants.survivors_broker_ids import BROKER_IDS_JUDGEMENTS
from kraftcheck.properties.mutants.survivors_directories import DIRECTORY_JUDGEMENTS

__all__ = ["ANY", "JUDGEMENTS", "KINDS", "Judgement"]



_CONTROLLER = (
    *about(
        REDUNDANT,
        ANY,
        "a new replica that is UNASSIGNED is placed by its broker, as KIP-858 has it: the choice "
        "default-directory-unassigned",
        ("kraftcheck.model.triggers.directory_assignment:default_directory", "count == 1", "never"),
        ("kraftcheck.model.triggers.directory_assignment:default_directory", "registered", "never"),
        ("kraftcheck.model.partition.change:_assignment.wanted", "held", "always"),
    ),
    *about(
        REDUNDANT,
        ANY,
        "a reassignment loses its adding set only where it could end already, and the next change ends it",
        ("kraftcheck.model.partition.registration:merge", "change.adding is present", "always"),
    ),
    *about(
        REDUNDANT,
        ANY,
        "a fenced broker leads nothing and is in no ISR that is led, so its shutdown moves nothing",
        ("controlled_shutdown", "broker is unfenced", "dropped"),
    ),
    *about(
        REDUNDANT,
        ANY,
        "the build elects another leader from the ISR that is proposed",
        ("alter_partition", "ISR holds the leader", "dropped"),
    ),
    *about(
        REDUNDANT,
        ANY,
        "the build does not elect a replica that is not registered; the check only refuses the request",
        ("reassign", "targets are registered", "dropped"),
    ),
)

_DATA = "kraftcheck.model.systems.replication.dataplane:DataPlane."
_METADATA = "kraftcheck.model.systems.replication.metadata:Metadata."
_CONTROL = "kraftcheck.model.systems.replication.control:Control."

_REPLICATION = (
    *about(
        SCOPE, ANY,
        "`replication` refutes candidates-complete in 14 steps in `small`",
        ("fetch", "leader epochs are the same", "dropped"),
        (_DATA + "_propose", "leader.current", "dropped"),
    ),
    *about(
        SCOPE, ANY,
        "`replication` refutes candidates-complete in 10 steps in `small`",
        (_DATA + "may_fetch", "f.running()", "dropped"),
        ("fetch", "follower runs and follows the leader", "dropped"),
    ),
    *about(
        SCOPE, ANY,
        "`replication` refutes watermark-reaches-end in 7 steps in `small`",
        (_CONTROL + "may_fence", "negate(live)", "dropped"),
    ),
    *about(
        SCOPE, ANY,
        "`replication` does not reach the goal shows-elr in `small`",
        (_CONTROL + "may_fence", "state.left.fences > 0", "dropped"),
    ),
    *about(
        SCOPE, ANY,
        "with one record there is none that it could conflict with; not tried with more",
        ("produce_acks_1", "broker believes it leads", "dropped"),
        (_DATA + "fetch", "apart", "never"),
    ),
    *about(
        SCOPE, "kraft",
        "`replication` refutes candidates-complete where the broker epoch is not asked for, with an unclean stop",
        ("kraftcheck.model.systems.kraft.system:request_in_flight", "request.stale", "dropped"),
    ),
    *about(
        SCOPE, ANY,
        "the model has one request and one reply in flight, and a newer replaces the older",
        ("propose_expand", "no change is pending", "dropped"),
        ("propose_expand", "follower is outside the ISR", "dropped"),
    ),
    *about(
        REDUNDANT, ANY,
        "it errs on the safe side: a watermark rises later, or a follower counts later",
        (_DATA + "advance", "quorum.has(b)", "dropped"),
        (_METADATA + "take", "changes", "dropped"),
        (_METADATA + "take", "changes", "never"),
        (_METADATA + "take", "all_of(changes, negate(kept.has(n)))", "always"),
        (_METADATA + "take", "state.leader_at(epoch) == broker", "never"),
    ),
    *about(
        REDUNDANT, ANY,
        "a reply without records brings only the watermark, which a later one brings too",
        (_DATA + "fetch", "received > 0", "always"),
    ),
    *about(
        REDUNDANT, ANY,
        "to drop a member that keeps up costs availability, and no record",
        (_DATA + "may_shrink", "leader.isr.has(follower)", "dropped"),
        ("propose_shrink", "follower lags", "dropped"),
    ),
    *about(
        REDUNDANT, ANY,
        "it errs on the safe side: a broker applies metadata later, or asks again",
        (_METADATA + "may_take", "newer", "dropped"),
        (_METADATA + "may_take", "epoch == state.leader_epoch", "dropped"),
    ),
    *about(
        REDUNDANT, ANY,
        "an answer may be lost at any time, and what it changed comes with the metadata",
        (_CONTROL + "alter", "kept", "never"),
        (_DATA + "may_take_answer", "leader.answer > NONE", "dropped"),
        ("receive_answer", "an answer to its proposal is under way", "dropped"),
        (_DATA + "take_answer", "accepted", "always"),
        (_DATA + "take_answer", "accepted", "never"),
        ("kraftcheck.model.systems.replication.state:outdated", "broker.answer == ACCEPTED", "always"),
    ),
    *about(
        SCOPE, ANY,
        "two brokers leave no earlier ISR that differs from the present one and matters",
        ("kraftcheck.model.systems.replication.state:Replication.isr_at", "epoch == self.leader_epoch", "always"),
    ),
    *about(
        REDUNDANT, ANY,
        "a record that repeats what is there only raises epochs, and is applied once more",
        ("kraftcheck.model.partition.change:bump_on_removal", "negate(p.replicas.within(replicas))", "dropped"),
        ("kraftcheck.model.partition.change:_assignment", "negate(directories.same(p.directories))", "dropped"),
        ("kraftcheck.model.partition.change:_assignment", "differ", "always"),
        ("kraftcheck.model.partition.change:_assignment", "negate(target.replicas.same(p.replicas))", "dropped"),
        ("kraftcheck.model.partition.change:_assignment", "moved", "always"),
        ("kraftcheck.model.partition.change:_assignment", "negate(target.removing.same(p.removing))", "always"),
        ("kraftcheck.model.partition.change:_assignment", "negate(target.adding.same(p.adding))", "always"),
        ("kraftcheck.model.partition.elr:elr_fields", "negate(elr.same(p.elr))", "always"),
        ("kraftcheck.model.partition.change:_isr_field", "negate(isr.same(p.isr))", "dropped"),
        ("kraftcheck.model.partition.change:_last_known_leader", "negate(known.is_empty())", "dropped"),
        ("kraftcheck.model.partition.change:build", "recovering", "dropped"),
    ),
)

JUDGEMENTS: tuple[Judgement, ...] = (*_CONTROLLER, *_REPLICATION, *BROKER_IDS_JUDGEMENTS, *DIRECTORY_JUDGEMENTS)
"""The judgements."""
