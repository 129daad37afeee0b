"""Operator mutants that nothing kills, judged: each by the exact text that it changes, and why that is right.

A judgement names a function, the expression as it is written and as it is changed. It says that the change makes no
difference to Kafka (`redundant`), or none that the scope can show (`scope`). An unjudged one is open.
"""

from __future__ import annotations

from kraftcheck.properties.mutants.judgement import ANY, REDUNDANT, SCOPE, Judgement, about

_ELECTIONS = "kraftcheck.model.systems.elections."
_REPLICATION = "kraftcheck.model.systems.replication."
_DIRECTORIES = "kraftcheck.model.systems.directories."
_BROKER_IDS = "kraftcheck.model.systems.broker_ids."
_SESSIONS = "kraftcheck.model.systems.sessions."
_RECOVERY = "kraftcheck.model.systems.unclean_recovery."
_ZK_CONTROLLER = "kraftcheck.model.systems.zk_controller."
_ZK_JBOD = "kraftcheck.model.systems.zk_jbod."

_STOPPED = (
    "evolve(self, up=False, seen=False, replica=ABSENT, known=NOTHING, leads=False, behind=False, moved=False, "
    "promotion=IDLE, ready=NOTHING, sent=NOTHING, answered=False, late_stale=negate(self.late == NOTHING), "
    "failed=Slots(), told=Slots())"
)

_TAKEN = (
    "evolve(kept_on, log=log, high_watermark=smaller(b.high_watermark, log.end()), epoch=epoch, current=newest, "
    "unseen=False, isr=isr, min_isr=state.minimum_at(epoch), ends=rewritten_records(b.ends, "
    "lambda n, end: choose(all_of(changes, negate(kept.has(n))), UNKNOWN, end))"
)

OPERATOR_JUDGEMENTS: tuple[Judgement, ...] = (
    *about(
        SCOPE, "elections", "which lists of replicas the scope offers to a reassignment is no rule of Kafka",
        (_ELECTIONS + "system:replica_lists", "largest + 1", "largest"),
    ),
    *about(
        REDUNDANT, ANY, "an answer may be lost at any time, and what it changed comes with the metadata",
        (_REPLICATION + "control:Control.alter", "changed.leader_epoch == state.leader_epoch",
         "changed.leader_epoch != state.leader_epoch"),
    ),
    *about(
        SCOPE, "replication", "it is the variant answered-request-survives, which breaks quorum-superset in `small`",
        (_REPLICATION + "dataplane:DataPlane.take_answer",
         "negate(rules.data_plane.answered_request_survives)", "rules.data_plane.answered_request_survives"),
    ),
    *about(
        SCOPE, ANY, "which producers use acks=1 is no rule of Kafka; the scope has them where acks=all is refused",
        (_REPLICATION + "dataplane:DataPlane.may_produce_locally", "leader.isr.size() < self.minimum(leader)",
         "leader.isr.size() >= self.minimum(leader)"),
    ),
    *about(
        SCOPE, ANY, "a budget bounds the scope, and is no rule of Kafka",
        (_REPLICATION + "dataplane:DataPlane.shrink",
         "evolve(state, left=evolve(state.left, shrinks=state.left.shrinks - 1))", "state"),
        (_REPLICATION + "dataplane:DataPlane.shrink", "evolve(state.left, shrinks=state.left.shrinks - 1)",
         "state.left"),
        (_ZK_CONTROLLER + "faults:Faults.crash", "state.left.stops - 1", "state.left.stops"),
        (_ZK_JBOD + "faults:Faults.break_disk",
         "evolve(state.left, disk_failures=state.left.disk_failures - 1)", "state.left"),
    ),
    *about(
        REDUNDANT, "replication", "a crash takes no more than there is; what is beyond the end of a log is nothing",
        ("crash", "no more is lost than there is", "dropped"),
    ),
    *about(
        REDUNDANT, ANY, "a request that names the ISR as it is changes nothing",
        (_DIRECTORIES + "control:Control.may_expand", "controller.isr", "controller.elr"),
    ),
    *about(
        REDUNDANT, ANY, "a new process has seen nothing, and applies all metadata whatever the last one had to apply",
        (_DIRECTORIES + "host:Host.stopped", _STOPPED, _STOPPED.replace("behind=False, ", "")),
    ),
    *about(
        REDUNDANT, ANY, "a broker that is no replica makes no log, so that no directory is chosen",
        (_DIRECTORIES + "process:Process.may_apply", "all_of(replica, verdict.free)", "any_of(replica, verdict.free)"),
    ),
    *about(
        REDUNDANT, ANY, "what a heartbeat has yet to tell is assigned LOST besides, and both end in the same election",
        (_DIRECTORIES + "catchup:_corrected", "host.failed", "host.told"),
    ),
    *about(
        REDUNDANT, ANY, "what is not there is neither lost nor ended by it",
        ("lose", "a request is in flight", "dropped"), ("expire", "id is registered", "dropped"),
        ("drop_broker", "it has something to lose", "dropped"), ("stop_fetcher", "its fetcher runs", "dropped"),
    ),
    *about(
        REDUNDANT, "directories", "a stop of what has stopped takes a crash from the budget, and changes no broker",
        ("crash", "broker runs", "dropped"),
    ),
    *about(
        REDUNDANT, "kraft", "what is applied again is as it was", ("apply_directories", "metadata is newer", "dropped"),
    ),
    *about(
        REDUNDANT, "kraft", "disks and processes read nothing of the ISR, and what is applied again is as it was",
        ("kraftcheck.model.systems.kraft.state:_same", "a.isr.same(b.isr)", "negate(a.isr.same(b.isr))"),
    ),
    *about(
        SCOPE, "broker-ids", "only a broker that finds an id asks who has its data, and by these rules none finds one",
        (_BROKER_IDS + "faults:Faults.lose_disk", "home == machine", "home != machine"),
    ),
    *about(
        REDUNDANT, "broker-ids", "the session of a process that has stopped may expire in the next step",
        (_BROKER_IDS + "faults:Faults.stop", "all_of(clean, held)", "never"),
    ),
    *about(
        REDUNDANT, ANY, "a heartbeat that is due when its round ends is one that was lost",
        (_SESSIONS + "system:Touch.may_pass", "peer.up", "negate(peer.up)"),
    ),
    *about(
        SCOPE, "sessions", "each heartbeat may be lost, so that the same session may be over after some rounds",
        ("expire", "session is over", "dropped"),
    ),
    *about(
        SCOPE, ANY, "of two brokers nobody is proposed who has not fetched in the epoch, and is stale no more",
        (_REPLICATION + "metadata:Metadata.take", _TAKEN + ", stale=choose(changes, b.stale.keep(kept), b.stale))",
         _TAKEN + ")"),
    ),
    *about(
        REDUNDANT, ANY, "only the variant interrupted-recovery-succeeds asks whether a run was interrupted",
        (_RECOVERY + "tool:Tool.fail",
         "evolve(state, partitions=gone, phase=IDLE, finished=BrokerSet(), clock=0, tries=0, interrupted=False)",
         "evolve(state, partitions=gone, phase=IDLE, finished=BrokerSet(), clock=0, tries=0)"),
        (_RECOVERY + "tool:Tool.finish", "evolve(state, partitions=gone, phase=IDLE, tries=0, interrupted=False)",
         "evolve(state, partitions=gone, phase=IDLE, tries=0)"),
    ),
    *about(
        REDUNDANT, "zk-controller", "a decision and its entries in queues are one transaction: none is published late",
        (_ZK_CONTROLLER + "control:Control.load", "choose(n.version > 0, t, BrokerSet())",
         "choose(n.version > 0, BrokerSet(), t)"),
    ),
    *about(
        SCOPE, "zk-controller", "it is the variant backlog-revives-replica, seen beside reassignment-skips-leader",
        (_ZK_CONTROLLER + "hosts:Hosts._read", "choose(node.version == 0, NOTHING, entry)",
         "choose(node.version == 0, entry, NOTHING)"),
    ),
    *about(
        SCOPE, "unclean-recovery", "with one partition nothing is asked after the last try, and a run begins anew",
        (_RECOVERY + "tool:Tool.request", "spent", "dropped"),
    ),
    *about(
        SCOPE, "zk-controller", "it stops only fetches from a leader that a later decision has replaced",
        (_ZK_CONTROLLER + "control:Control._decision", "lossy", "dropped"),
    ),
    *about(
        SCOPE, "zk-controller", "what a fetch brings after its fetcher has stopped could have come before",
        ("fetch", "its fetcher runs", "dropped"),
    ),
)  # fmt: skip
"""The judgements."""
