"""The `replication` system: actions, bounds and scopes.

Layout and initial states of the `replication` system.

Replies to fetches that are late, and fetches that are refused.
Source: KAFKA-18723; semantics 7; `AbstractFetcherThread.processFetchRequest`, `UnifiedLog.appendAsFollower`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.anynumber import each_record, numbers
from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.layout import (
    UNBOUNDED,
    Flag,
    all_where,
    anything,
    counter,
    endless,
    filled,
    ints,
    subset_of,
    truth,
)
from kraftcheck.model.language.system import (
    ANY,
    Action,
    Arrow,
    Bound,
    Legend,
    ScopeError,
    Setting,
    System,
    event,
    events,
    sent,
)
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, negate, rule
from kraftcheck.model.partition.registration import DirectoryMap
from kraftcheck.model.rules.groups import DataPlaneRules, PartitionRules
from kraftcheck.model.systems.elections import state as elections
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.model.systems.elections.system import BROKER, CONTROLLER, CONTROLLER_ARROWS, STRIP, lanes, replica_lists
from kraftcheck.model.systems.replication import any_number
from kraftcheck.model.systems.replication.any_number import LAST_EPOCH
from kraftcheck.model.systems.replication.control import Control, Metadata
from kraftcheck.model.systems.replication.dataplane import DataPlane, diverging, shortened
from kraftcheck.model.systems.replication.endless import EndlessLog, allows, unbounded
from kraftcheck.model.systems.replication.log import VACANT, Log, smaller
from kraftcheck.model.systems.replication.settle import (
    fixes_min_isr,
    late_replies,
    limits_lag,
    settle,
    settling,
    smallest_min_isr,
)
from kraftcheck.model.systems.replication.state import (
    INELIGIBLE,
    NONE,
    RUNNING,
    STOPPED_UNCLEAN,
    UNKNOWN,
    Broker,
    Replication,
    ReplicationBudgets,
    Reply,
    Request,
    no_reply,
    no_request,
)

BUDGETS = (
    "records", "unclean_stops", "clean_stops", "fences", "shrinks", "reassignments", "unclean_elections",
    "config_changes", "late_replies",
)  # fmt: skip


NEVER: Any = Flag(0, 0)  # the domain of a truth that is always false

FURTHEST_BEHIND = "the bound lag is how many leader epochs a running broker may be behind; more is left out"
"""Caps: what a Kafka cluster may do, and the scope leaves out."""


def layout(setting: Setting) -> Replication:
    """The domain of each field; what a scope cannot change has one value and costs no bits."""
    if setting["brokers"] == ANY:
        return any_number.layout(setting, _left(setting), _reply(setting))
    brokers, records, epochs = setting["brokers"], setting["records"], setting["epochs"]
    some, epoch = BrokerSet(subset_of(brokers)), counter() if unbounded(setting) else ints(0, epochs, cap=LAST_EPOCH)
    offset, known = (counter(), counter(UNKNOWN)) if unbounded(setting) else (ints(0, records), ints(UNKNOWN, records))
    someone, never = ints(NO_LEADER, brokers - 1, none=NO_LEADER), ints(UNKNOWN, UNKNOWN)
    log = Log((ints(VACANT, epochs + 1),) * records)
    if unbounded(setting):
        log = EndlessLog(endless(VACANT, UNBOUNDED), counter())
    low = smallest_min_isr(setting)
    minimum = ints(low, low if fixes_min_isr(setting) else brokers)

    def broker(number: int) -> Broker:
        ends = tuple(never if b == number else known for b in range(brokers))
        return Broker(
            status=ints(RUNNING, STOPPED_UNCLEAN), log=log, high_watermark=offset, epoch=epoch, current=truth(),
            unseen=truth() if setting.rules.data_plane.equal_epoch_ends_proposal else NEVER,
            isr=some, min_isr=minimum, proposed=some,
            answer=ints(NONE, INELIGIBLE), ends=ends, stale=some,
            empty_epoch=ints(VACANT, epochs + 1 if setting.rules.data_plane.noop_truncation_keeps_epochs else VACANT),
        )  # fmt: skip

    history: tuple[Any, Any, Any] = (someone,) * (epochs + 1), (some,) * (epochs + 1), (minimum,) * (epochs + 1)
    if unbounded(setting):
        history = (endless(NO_LEADER, brokers - 1), endless(0, (1 << brokers) - 1), endless(minimum.lo, minimum.hi))
    return Replication(
        controller=_registration(setting),
        leader_epoch=epoch,
        leaders=history[0], isrs=history[1], minimums=history[2],
        brokers=tuple(broker(number) for number in range(brokers)),
        request=Request(some, some, truth()),
        committed=log, acknowledged=offset, commit_epoch=epoch if unbounded(setting) else ints(0, 0), lossy=truth(),
        lag=ints(0, setting["lag"], cap=FURTHEST_BEHIND) if limits_lag(setting) else ints(0, 0),
        left=_left(setting), deaths=counter() if unbounded(setting) else ints(0, 0),
        reply=_reply(setting),
    )  # fmt: skip


def _reply(setting: Setting) -> Reply:
    """The domain of a late reply: one value where none may be late."""
    if not late_replies(setting):
        nobody, zero = ints(NO_LEADER, NO_LEADER, none=NO_LEADER), ints(0, 0)
        return Reply(nobody, nobody, zero, zero, ints(UNKNOWN, UNKNOWN), cut_end=zero, watermark=zero, sent=Log(()))
    someone, offset = ints(NO_LEADER, setting["brokers"] - 1, none=NO_LEADER), ints(0, setting["records"])
    entry = setting["epochs"] + 1
    return Reply(
        someone, someone, ints(0, setting["epochs"], cap=LAST_EPOCH), offset, ints(UNKNOWN, entry), cut_end=offset,
        watermark=offset,
        sent=Log((ints(VACANT, entry),) * setting["records"]),
    )  # fmt: skip


def _left(setting: Setting) -> ReplicationBudgets:
    """The domain of each budget."""
    bounded = {name: ints(0, number) for name, number in _budgets(setting).items()}
    return ReplicationBudgets(**(dict.fromkeys(BUDGETS, counter()) | bounded))


def _budgets(setting: Setting) -> dict[str, int]:
    """The budgets that have a bound."""
    bounds = {name: name.replace("_", "-") for name in BUDGETS}
    return {name: setting[bound] for name, bound in bounds.items() if bound not in setting.freed}


def _registration(setting: Setting) -> Elections:
    """The controller's part: one directory for each broker, nobody unregisters."""
    brokers, shape, start = setting["brokers"], elections.layout(setting), _start(setting)
    moves, everyone = setting["reassignments"] > 0, (1 << brokers) - 1
    minimum, none = setting["min-isr"], BrokerSet(ints(0, 0))
    return evolve(
        shape,
        replicas=shape.replicas if moves else Replicas(_constants(start.replicas.slots)),
        directories=DirectoryMap(_constants(start.directories.slots)),
        adding=shape.adding if moves else none,
        removing=shape.removing if moves else none,
        registered=BrokerSet(ints(everyone, everyone)),
        shutting_down=shape.shutting_down if allows(setting, "clean-stops") else none,
        online_dirs=(BrokerSet(ints(1, 1)),) * brokers,
        min_insync_replicas=shape.min_insync_replicas if setting["config-changes"] else ints(minimum, minimum),
        unclean_election=NEVER,
    )


def _constants(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(ints(value, value) for value in values)


def _start(setting: Setting) -> Elections:
    """A partition on live brokers, with the scope's replication factor, min ISR and ISR.

    Raises:
        ScopeError: when there are fewer brokers than replicas, or fewer replicas or ISR members than the min ISR.
    """
    brokers, factor, minimum = setting["brokers"], setting["replication"], setting["min-isr"]
    members = setting["initial-isr"] or factor
    if not minimum <= factor <= brokers:  # where a bound is lowered to see what that saves
        raise ScopeError(f"min-isr = {minimum}, replication = {factor} and brokers = {brokers} do not rise")
    if members < minimum:
        raise ScopeError(f"initial-isr = {members} is less than min-isr = {minimum}; raise --initial-isr")
    starts = elections.initial(setting)
    found = next(s for s in starts if s.min_insync_replicas == minimum and s.replicas.size() == factor)
    elr_enabled = bool(setting["elr"]) and setting.rules.partition.elr_available
    return evolve(found, isr=BrokerSet.of(range(members)), elr_enabled=elr_enabled)


def initial(setting: Setting) -> list[Replication]:
    """An empty partition on live brokers, everything applied everywhere."""
    if setting["brokers"] == ANY:
        return [all_where(lambda state: any_number.new_topic(setting, state, _budgets(setting)))]
    brokers, epochs, low = setting["brokers"], setting["epochs"], smallest_min_isr(setting)
    empty, controller = Log((VACANT,) * setting["records"]), _start(setting)
    left = ReplicationBudgets(**(dict.fromkeys(BUDGETS, anything()) | _budgets(setting)))
    if unbounded(setting):
        empty = EndlessLog(anything(), 0)
    broker = Broker(
        RUNNING, empty, 0, 0, True, unseen=False, isr=controller.isr, min_isr=controller.effective_min_isr(),
        proposed=BrokerSet(), answer=NONE,
        ends=(UNKNOWN,) * brokers, stale=BrokerSet(),
    )  # fmt: skip
    state = Replication(
        controller=controller, leader_epoch=0,
        leaders=(0, *(NO_LEADER,) * epochs), isrs=(BrokerSet(),) * (epochs + 1), minimums=(low,) * (epochs + 1),
        brokers=(broker,) * brokers, request=no_request(), committed=empty, acknowledged=0, commit_epoch=0,
        lossy=False, lag=0, left=left, reply=no_reply(setting["records"] if late_replies(setting) else 0),
    )  # fmt: skip
    settled = settle(state, setting)
    if unbounded(setting):
        return [evolve(settled, leaders=filled(0, NO_LEADER), isrs=anything(), minimums=anything())]
    return [settled]


@frozen
class LateReplies:
    """At most one reply is under way; the leader has noted its fetch, the follower has not seen it."""

    data: DataPlane
    room: int

    def may_serve(self, state: Replication, follower: Word, leader: Word) -> dict[str, Truth]:
        """A fetch is served as any other."""
        return {
            **self.data.may_fetch(state, follower, leader, 0),
            "a late reply is left": state.left.late_replies > 0,
            "no reply is under way": negate(state.reply.is_under_way()),
        }

    def serve(self, state: Replication, follower: Word, leader: Word) -> Replication:
        """The leader replies; nothing arrives yet."""
        f, ldr = state.broker(follower), state.broker(leader)
        apart, entry, end = diverging(self.data.rules.data_plane, f, ldr)
        reply = Reply(
            follower, leader, f.epoch, f.log.end(), choose(apart, entry, UNKNOWN), cut_end=choose(apart, end, 0),
            watermark=ldr.high_watermark, sent=ldr.log,
        )  # fmt: skip
        left = evolve(state.left, late_replies=state.left.late_replies - 1)
        served = evolve(state, reply=reply, left=left)
        return self.data.noted(served, follower, leader, choose(apart, UNKNOWN, f.log.end()))

    def may_arrive(self, state: Replication, reread: Word) -> dict[str, Truth]:
        """Its bytes are those of the leader's file when the fetch was served, or of any time since."""
        reply = state.reply
        return {
            "a reply is under way": reply.is_under_way(),
            "the file is there": any_of(reread == 0, state.broker(reply.leader).running()),
        }

    @rule("follower.replies-are-of-its-epoch", source="KAFKA-18723; KAFKA-7786; catalogue 69; semantics 7",
          switches=("earlier-reply-applied", "stale-truncation-applied"),
          says="A follower drops a reply of an earlier leader epoch, or of another end of its log.")  # fmt: skip
    @rule("follower.appends-up-to-epoch-of-fetch", source="KAFKA-18723; catalogue 39",
          switches=("append-beyond-fetch-epoch",),
          says="A follower appends no record of a later leader epoch than that of its fetch.")  # fmt: skip
    def arrive(self, state: Replication, reread: Word) -> Replication:
        """The follower cuts or appends, unless the reply is out of date."""
        rules, reply = self.data.rules.data_plane, state.reply
        f, ldr = state.broker(reply.follower), state.broker(reply.leader)
        follows = negate(state.leads(reply.follower, f))
        owned = all_of(state.leader_at(f.epoch) == reply.leader, follows)
        current = all_of(owned, f.log.end() == reply.offset)
        if not rules.earlier_reply_applied:
            current = all_of(current, f.epoch == reply.epoch)
        apart = reply.cut_epoch > UNKNOWN
        cuts = all_of(apart, any_of(current, follows if rules.stale_truncation_applied else False))
        bytes_sent = choose(reread > 0, ldr.log.truncate(reply.sent.end()), reply.sent)
        if not rules.append_beyond_fetch_epoch:
            bytes_sent = bytes_sent.truncate(bytes_sent.count_to(f.epoch + 1))
        grown = f.log.copy_of(bytes_sent)
        appended = evolve(f, log=grown, high_watermark=smaller(reply.watermark, grown.end()))
        cut = shortened(rules, f, reply.cut_epoch, reply.cut_end)
        after: Broker = choose(cuts, cut, choose(all_of(current, negate(apart)), appended, f))
        return evolve(state.with_broker(reply.follower, after), reply=no_reply(self.room))

    def actions(self, each: dict[str, Any], others: Sequence[Action]) -> list[Action]:
        """The other actions, of which a newer fetch loses the reply, and those of a late reply."""
        pair = {"follower": each["broker"], "leader": each["broker"]}
        return [
            *(evolve(a, effect=self._fetched(a)) if a.name == "fetch" else a for a in others),
            Action("serve_late", self.serve, self.may_serve, pair, "ReplicaManager.fetchMessages"),
            Action("late_reply", self.arrive, self.may_arrive, {"reread": (0, 1)}, "AbstractFetcherThread"),
        ]

    def _fetched(self, fetch: Action) -> Any:
        """A follower has one fetch under way at a leader: a newer one means that it has given the older one up."""

        def effect(state: Replication, follower: Word, leader: Word, received: Word) -> Replication:
            given_up = all_of(state.reply.follower == follower, state.reply.leader == leader)
            reply = choose(given_up, no_reply(self.room), state.reply)
            found: Replication = fetch.effect(evolve(state, reply=reply), follower, leader, received)
            return found

        return effect


REPLICATION_ARROWS: Mapping[str, tuple[Arrow, ...]] = {
    **events(BROKER, "produce", "produce_acks_1", "crash", "give_up", "propose_expand", "propose_shrink"),
    "fetch": sent("broker {leader}", "broker {follower}", "records"),
    "apply_metadata": sent(CONTROLLER, BROKER, "metadata records"),
    "apply_equal_metadata": sent(CONTROLLER, BROKER, "metadata records"),
    "alter_partition": sent("broker {leader}", CONTROLLER, "AlterPartition"),
    "lose_alter_partition": sent("broker {leader}", CONTROLLER, "AlterPartition, before another controller takes over"),
    "receive_answer": sent(CONTROLLER, BROKER, "answer to AlterPartition"),
    **{name: CONTROLLER_ARROWS[name] for name in ("fence", "unfence", "elect_preferred")},
}
"""What the data plane adds to the controller; `kraft` has it too."""

_TRIGGERS = ("elect_unclean", "elect_designated", "set_min_isr", "reassign", "cancel")

LEGEND = Legend(
    lanes,
    {
        **REPLICATION_ARROWS,
        **{name: CONTROLLER_ARROWS[name] for name in _TRIGGERS},
        "register": sent(BROKER, CONTROLLER, "BrokerRegistration"),
        "shut_down": sent(BROKER, CONTROLLER, "heartbeat: wants to shut down"),
        **events(BROKER, "stop", "end_recovering"),
        "refused_fetch": sent("broker {follower}", "broker {leader}", "a fetch that is refused"),
        "serve_late": event("broker {leader}"),
        "late_reply": event("broker {reply.follower}"),
    },
    {
        **{label: f"controller.{path}" for label, path in STRIP.items()},
        "leader epoch": "leader_epoch",
        "committed": "committed",
        "acknowledged": "acknowledged",
    },
)


Parameters = Mapping[str, Sequence[Any]]

BOUNDS = (
    Bound("brokers", 2, 5, "number of brokers", takes_any=True),
    Bound("replication", 1, 5, "replication factor at the start", freed_by="brokers", at_most="brokers"),
    Bound("min-isr", 1, 5, "min.insync.replicas at the start", freed_by="brokers", at_most="replication"),
    Bound("elr", 0, 1, "whether ELR is on"),
    Bound("epochs", 1, 14, "largest leader epoch", freed_by="unbounded"),
    Bound(
        "lag",
        1,
        14,
        "leader epochs that a running broker may be behind; from the bound epochs on, any number",
        freed_by="unbounded",
    ),
    Bound("loss", 0, 4, "records that an unclean stop may lose", freed_by="unbounded"),
    Bound("records", 1, 4, "budget: records produced", freed_by="unbounded"),
    Bound("unclean-stops", 0, 3, "budget: processes that die", freed_by="unbounded"),
    Bound("clean-stops", 0, 3, "budget: controlled shutdowns", freed_by="unbounded"),
    Bound("fences", 0, 4, "budget: live brokers that are fenced", freed_by="unbounded"),
    Bound("shrinks", 0, 4, "budget: ISR shrinks that leaders propose", freed_by="unbounded"),
    Bound("reassignments", 0, 4, "budget: reassignments and cancellations"),
    Bound("unclean-elections", 0, 2, "budget: unclean elections on request"),
    Bound("config-changes", 0, 2, "budget: changes of min.insync.replicas"),
    Bound(
        "initial-isr",
        0,
        5,
        "members of the ISR at the start, the first replicas; 0: every replica",
        freed_by="brokers",
        at_most="replication",
    ),
    Bound("late-replies", 0, 1, "budget: replies to fetches that arrive late", proven_to=0),
    Bound("takeovers", 0, 1, "whether another controller may take over before a decision is committed"),
    Bound(
        "unbounded",
        0,
        0,
        "`prove` only: 1 for any number of leader epochs, records, records lost, stops, fences and shrinks",
        proven_to=1,
    ),
    # These give `elections`, which serves as the controller, its own bounds.
    Bound("directories", 1, 1, "log directories of each broker"),
    Bound("reassignment", 0, 1, "whether the controller starts with any replication factor"),
)

_BASE = {
    "brokers": 3, "replication": 3, "min-isr": 2, "elr": 1, "epochs": 6, "lag": 14, "loss": 1, "records": 1,
    "unclean-stops": 1, "clean-stops": 0, "fences": 1, "shrinks": 0, "reassignments": 0, "unclean-elections": 0,
    "config-changes": 0, "directories": 1, "reassignment": 0,
}  # fmt: skip

SCOPES = {
    "small": _BASE,
    "tiny": {**_BASE, "brokers": 2, "replication": 2, "shrinks": 1},
    "one-crash": {**_BASE, "fences": 2, "shrinks": 1, "epochs": 7},
    "medium": {**_BASE, "unclean-stops": 2, "fences": 2, "shrinks": 1, "epochs": 9},
    "large": {**_BASE, "fences": 2, "clean-stops": 1, "shrinks": 1, "epochs": 7},
    "takeovers": {**_BASE, "brokers": 2, "replication": 2, "min-isr": 1, "shrinks": 1, "takeovers": 1},
}


def actions(setting: Setting) -> list[Action]:
    """Controller events, the data plane, and what breaks; every effect ends in a settled state."""
    return [evolve(action, effect=settling(action.effect, setting)) for action in unsettled_actions(setting)]


def unsettled_actions(setting: Setting) -> list[Action]:
    """The actions as they are, without settling: what settled states are compared with."""
    brokers, rules = setting["brokers"], setting.rules
    control, data = Control(rules), DataPlane(rules)
    metadata = Metadata(data)
    each = {"broker": numbers() if brokers == ANY else tuple(range(brokers))}
    pair = {**each, "follower": each["broker"]}
    amounts: Sequence[Any] = tuple(sorted({0, 1, setting["records"]}))  # the reply is lost, or has one record, or all
    if unbounded(setting):
        amounts = numbers()
    known = {**each, "epoch": numbers() if unbounded(setting) else tuple(range(setting["epochs"] + 1))}
    always_there = [
        Action("produce", data.produce, data.may_produce, each, "Partition.appendRecordsToLeader"),
        Action("produce_acks_1", data.produce, data.may_produce_locally, each, "Partition.appendRecordsToLeader"),
        Action("fetch", data.fetch, data.may_fetch,
               {"follower": each["broker"], "leader": each["broker"], "received": amounts},
               "ReplicaManager.fetchMessages"),
        Action("apply_metadata", metadata.take, metadata.may_take, known, "ReplicaManager.applyDelta"),
        Action("propose_expand", data.expand, data.may_expand, pair, "Partition.maybeExpandIsr"),
        Action("receive_answer", data.take_answer, data.may_take_answer, each, "Partition.handleAlterPartitionUpdate"),
        Action("alter_partition", control.alter, control.may_alter, {}, "alterPartition"),
        Action("fence", control.fence, control.may_fence, each, "handleBrokerFenced"),
        Action("unfence", control.unfence, control.may_unfence, each, "handleBrokerUnfenced"),
        Action("register", control.register, control.may_register, each, "registerBroker"),
        Action("elect_preferred", control.elect_preferred, control.may_elect_preferred, {}, "electLeaders"),
    ]  # fmt: skip
    if rules.data_plane.equal_epoch_ends_proposal:
        always_there.append(
            Action("apply_equal_metadata", metadata.take_equal, metadata.may_take_equal, each, "B18; makeLeader")
        )
    if rules.data_plane.fetch_noted_before_checks:
        two = {"follower": each["broker"], "leader": each["broker"]}
        always_there.append(Action("refused_fetch", data.refuse, data.may_refuse, two, "KAFKA-13837"))
    listed = [*always_there, *_failures(setting, control, data, each), *_operations(setting, control, each)]
    return LateReplies(data, setting["records"]).actions(each, listed) if late_replies(setting) else listed


@rule("restart.marked-clean-once-recovered", source="KAFKA-15375; KAFKA-10471; catalogue 66",
      switches=("clean-marker-written-early",),
      says="A stop counts as clean only if the log had been recovered by then.")  # fmt: skip
@rule("proposal.lost-answer-keeps-it", source="KAFKA-14154; catalogue 40; semantics 4",
      switches=("unknown-outcome-is-failure",),
      says="A proposal whose answer is lost stays pending until metadata tells.")  # fmt: skip
def _failures(setting: Setting, control: Control, data: DataPlane, each: Parameters) -> list[Action]:
    """What breaks, as far as there is budget for it."""
    listed = []
    if allows(setting, "unclean-stops"):
        amounts = numbers() if unbounded(setting) else tuple(range(setting["loss"] + 1))
        lost = {**each, "lost": amounts}
        listed.append(Action("crash", control.crash, control.may_crash, lost, "power failure"))
        if setting.rules.data_plane.clean_marker_written_early:
            listed.append(
                Action("end_recovering", control.end_recovering, control.may_end_recovering, each, "KAFKA-15375")
            )
    if allows(setting, "clean-stops"):
        listed += [
            Action("shut_down", control.shut_down, control.may_shut_down, each, "handleBrokerInControlledShutdown"),
            Action("stop", control.stop, control.may_stop, each, "BrokerLifecycleManager"),
        ]
    if allows(setting, "shrinks"):
        pair = {**each, "follower": each["broker"]}
        listed.append(Action("propose_shrink", data.shrink, data.may_shrink, pair, "Partition.maybeShrinkIsr"))
    if setting["takeovers"]:
        aborted, may_abort = control.lose_alter, control.may_lose_alter
        listed.append(Action("lose_alter_partition", aborted, may_abort, {}, "a takeover"))
    if setting.rules.data_plane.unknown_outcome_is_failure:
        listed.append(Action("give_up", data.give_up, _leads, each, "KAFKA-14154"))
    return listed


def _leads(state: Replication, broker: Word) -> Truth:
    return state.leads(broker, state.broker(broker))


def _operations(setting: Setting, control: Control, each: Parameters) -> list[Action]:
    """What operators do, as far as there is budget for it."""
    listed = []
    if setting["unclean-elections"]:
        listed.append(
            Action("elect_unclean", control.elect_uncleanly, control.may_elect_uncleanly, {}, "electLeaders UNCLEAN")
        )
        if setting.rules.partition.designated_elections:
            named = control.elect_designated
            listed.append(Action("elect_designated", named, control.may_designate, each, "unclean-recovery KIP"))
    if setting["reassignments"]:
        targets = {"target": replica_lists(setting["brokers"], setting["brokers"])}
        listed += [
            Action("reassign", control.reassign, control.may_reassign, targets, "changePartitionReassignment"),
            Action("cancel", control.cancel, control.may_cancel, {}, "cancelPartitionReassignment"),
        ]
    if setting["config-changes"]:
        any_number = setting["brokers"] == ANY
        values = {"minimum": numbers(1) if any_number else tuple(range(1, setting["replication"] + 1))}
        listed.append(
            Action("set_min_isr", control.set_min_isr, control.may_set_min_isr, values, "min.insync.replicas")
        )
    return listed


def healed(state: Replication) -> Truth:
    """Every process runs, is unfenced, and has applied all metadata: nothing is left to do but new work."""
    current = each_record(
        state.brokers,
        lambda n, b: all_of(b.running(), b.epoch == state.leader_epoch, any_of(b.current, negate(state.leads(n, b)))),
    )
    return all_of(state.controller.fenced.is_empty(), *current.values())


REPLICATION = System(
    name="replication",
    summary="controller, brokers and logs of one partition: is an acknowledged record ever lost?",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    quiescent=healed,
    rules=(PartitionRules, DataPlaneRules),
    legend=LEGEND,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
