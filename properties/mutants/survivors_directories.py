"""Mutants of `directories` and `kraft` that nothing kills, judged; part of `kraftcheck.properties.mutants.survivors`.

Their rules are shared, and so are the judgements: one without a system is about each whose rules have it.
"""

from __future__ import annotations

from kraftcheck.properties.mutants.judgement import ANY, REDUNDANT, SCOPE, Judgement, about

_CATCHUP = "kraftcheck.model.systems.directories.catchup:"
_CONTROL = "kraftcheck.model.systems.directories.control:Control."
_HOST = "kraftcheck.model.systems.directories.host:"
_MOVES = "kraftcheck.model.systems.directories.moves:Moves."
_STATE = "kraftcheck.model.systems.directories.state:"
_KRAFT = "kraftcheck.model.systems.kraft."
_METADATA = "kraftcheck.model.systems.replication.metadata:"

_ASSIGNMENTS = (
    *about(
        REDUNDANT, ANY, "an assignment to where the replica is already changes nothing",
        (_CATCHUP + "_corrected", "negate(actual == directory)", "dropped"),
        (_CATCHUP + "_corrected", "elsewhere", "dropped"),
        (_HOST + "failing", "undecided", "dropped"),
    ),
    *about(
        REDUNDANT, ANY, "a replica is reported LOST again, or as LOST and by a heartbeat, which changes no more",
        (_CATCHUP + "_corrected", "assigned.online", "dropped"),
        (_CATCHUP + "_corrected", "negate(reported)", "dropped"),
        (_HOST + "failing", "negate(host.promotion == IDLE)", "dropped"),
    ),
    *about(
        REDUNDANT, ANY, "what is applied or asked for again is as it was",
        ("apply_metadata", "metadata is newer", "dropped"),
        (_STATE + "decided.told_of", "host.up", "dropped"),
        (_STATE + "decided.told_of", "concerned", "dropped"),
        (_STATE + "decided.told_of", "changed", "dropped"),
        ("request_promotion", "no assignment was asked for", "dropped"),
    ),
    *about(
        REDUNDANT, ANY,
        "where the known assignment is wrong a correction is queued, and a queue that is not empty fences by itself",
        (_HOST + "Host.settled", "self.moving()", "dropped"),
        (_HOST + "Host.settled", "self.known == self.directory(self.future)", "dropped"),
        (_HOST + "Host.settled", "wrong", "dropped"),
    ),
    *about(
        REDUNDANT, ANY, "a replica that is closed gets no new log while a directory is offline, offline itself or not",
        (_CATCHUP + "taken", "all_of(host.replica == OFFLINE, negate(opened))", "dropped"),
        (_CATCHUP + "taken", "kept", "never"),
    ),
    *about(
        REDUNDANT, ANY, "a new log elsewhere than where it is assigned is reported, and the assignment settles there",
        (_HOST + "Host.slot_of", "name + FIRST_LOCAL == directory", "dropped"),
    ),
)

_HEARTBEATS = (
    *about(
        REDUNDANT, ANY, "the reply to a heartbeat may be lost each time, or not; the controller has processed it",
        (_CONTROL + "_acknowledged", "marks", ANY),
    ),
    *about(
        REDUNDANT, ANY, "a budget of the scope, and no check of Kafka",
        (_CONTROL + "may_fence", "negate(state.host(broker).up)", "dropped"),
        (_MOVES + "may_lose", "negate(copy)", "dropped"),
    ),
    *about(
        SCOPE, ANY, "here a leader changes nothing but in one step with the controller; `replication` has it in flight",
        (_CONTROL + "_leads", "negate(leader.behind)", "dropped"),
        ("write", "the leader knows", "dropped"),
    ),
)

_OF_MOVES = (
    *about(
        REDUNDANT, ANY, "a move goes on only between two working directories of an open log; the next one starts over",
        (_HOST + "failing", "from_source", "dropped"),
        (_HOST + "failing", "at_target", "dropped"),
        (_HOST + "failing", "any_of(from_source, at_target)", "never"),
        (_MOVES + "answer", "host.moving()", "dropped"),
        ("move", "replica is served", "dropped"),
        ("copy", "a move runs", "dropped"),
        ("cancel_move", "a move runs", "dropped"),
    ),
    *about(
        REDUNDANT, ANY, "metadata with the assignment says that it was accepted too",
        (_MOVES + "answer", "confirmed", "never"),
    ),
    *about(
        REDUNDANT, ANY, "a move to where the log is leaves it where it is",
        ("move", "it is another directory", "dropped"),
    ),
    *about(
        REDUNDANT, ANY, "a future log that is assigned too early is promoted no earlier",
        ("request_promotion", "future log is level", "dropped"),
    ),
)

_OF_KRAFT = (
    *about(
        SCOPE, "kraft", "`directories` refutes candidates-complete in 4 steps by the same guard of its apply_metadata",
        ("apply_directories", "broker runs", "dropped"),
    ),
    *about(
        SCOPE, "kraft", "`replication` refutes candidates-complete in 12 steps in `small`",
        (_METADATA + "forget_incarnation", "request.stated.has(broker)", "dropped"),
    ),
    *about(
        SCOPE, "kraft", "it takes two members that restart under one request; `replication` shows no step in `small`",
        (_METADATA + "forget_incarnation", "request.stale", "dropped"),
    ),
    *about(SCOPE, "kraft", "`tiny` has no move", (_KRAFT + "state:replicated", "host.copied", "dropped")),
    *about(
        REDUNDANT, "kraft", "a broker that applies what has not changed finds nothing to do",
        (_KRAFT + "state:_same", "a.recovering", "always"),
        (_KRAFT + "state:_same", "b.recovering", "always"),
        (_KRAFT + "state:replicated", "negate(_same(state.data.controller, data.controller))", "always"),
    ),
    *about(
        REDUNDANT, "kraft", "AlterPartition changes the ISR alone, which a broker's directories do not depend on",
        (_KRAFT + "state:_same", "a.isr.same(b.isr)", "dropped"),
        (_KRAFT + "state:replicated", "negate(_same(state.data.controller, data.controller))", "never"),
    ),
    *about(
        REDUNDANT, "kraft", "a broker whose log is not open reads and writes nothing",
        (_KRAFT + "state:_synced", "all_of(broker.running(), negate(host.up))", "never"),
    ),
    *about(
        REDUNDANT, "kraft", "a log that is closed only gets what its leader has",
        ("fetch", "follower has its log open", "dropped"),
    ),
    *about(
        REDUNDANT, "kraft", "a broker that leads no more raises its watermark by what was fetched from it, which is so",
        ("kraftcheck.model.systems.replication.metadata:Metadata.take", "state.leader_at(epoch) == broker", "always"),
    ),
    *about(
        REDUNDANT, "kraft", "to fence a fenced broker only spends the scope's budget",
        ("fence", "broker is unfenced", "dropped"),
    ),
)

DIRECTORY_JUDGEMENTS: tuple[Judgement, ...] = (*_ASSIGNMENTS, *_HEARTBEATS, *_OF_MOVES, *_OF_KRAFT)
"""The judgements."""
