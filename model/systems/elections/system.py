"""The `elections` system: actions with their guards, scopes and bounds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from kraftcheck.model.language.anynumber import Family, numbers
from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.symmetry import Symmetry
from kraftcheck.model.language.system import (
    ANY,
    Action,
    Arrow,
    Bound,
    Conjuncts,
    Legend,
    Setting,
    System,
    events,
    numbered,
    sent,
)
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, implies, negate, rule
from kraftcheck.model.partition.election import LEADERLESS, may_designate
from kraftcheck.model.partition.registration import FIRST_LOCAL, LOST, MIGRATING, UNASSIGNED
from kraftcheck.model.rules.groups import DataPlaneRules, DirectoryRules, PartitionRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.elections import state
from kraftcheck.model.systems.elections.state import Elections, initial, layout, replicas_offline
from kraftcheck.model.systems.elections.triggers import Triggers, eligible, start
from kraftcheck.model.triggers import leadership
from kraftcheck.model.triggers import table as reassigning
from kraftcheck.model.triggers.leadership import directory_known
from kraftcheck.model.triggers.table import needs_leader, needs_preferred

CONTROLLER, OPERATOR, BROKER = "controller", "operator", "broker {broker}"

STRIP = {"leader": "leader", "ISR": "isr", "ELR": "elr", "replicas": "replicas", "fenced": "fenced"}
"""The partition's registration, and who may not lead it, by their paths in the state."""

CONTROLLER_ARROWS: Mapping[str, tuple[Arrow, ...]] = {
    **events(CONTROLLER, "fence", "sweep_sessions", "unclean_timer", "balance_timer"),
    "unfence": sent(BROKER, CONTROLLER, "heartbeat: wants to be unfenced"),
    "heartbeat": sent(BROKER, CONTROLLER, "heartbeat: wants to be unfenced, reports failed directories"),
    "controlled_shutdown": sent(BROKER, CONTROLLER, "heartbeat: wants to shut down"),
    "directories_offline": sent(BROKER, CONTROLLER, "heartbeat: reports failed directories"),
    "new_incarnation": sent(BROKER, CONTROLLER, "BrokerRegistration"),
    "assign": sent(BROKER, CONTROLLER, "AssignReplicasToDirs"),
    "alter_partition": sent("broker {leader}", CONTROLLER, "AlterPartition"),
    "unregister": sent(OPERATOR, CONTROLLER, "UnregisterBroker"),
    "elect_preferred": sent(OPERATOR, CONTROLLER, "ElectLeaders PREFERRED"),
    "elect_unclean": sent(OPERATOR, CONTROLLER, "ElectLeaders UNCLEAN"),
    "elect_designated": sent(OPERATOR, CONTROLLER, "ElectLeaders DESIGNATED"),
    "set_min_isr": sent(OPERATOR, CONTROLLER, "IncrementalAlterConfigs"),
    "set_unclean_election": sent(OPERATOR, CONTROLLER, "IncrementalAlterConfigs"),
    "enable_elr": sent(OPERATOR, CONTROLLER, "UpdateFeatures"),
    "disable_elr": sent(OPERATOR, CONTROLLER, "UpdateFeatures"),
    "reassign": sent(OPERATOR, CONTROLLER, "AlterPartitionReassignments"),
    "cancel": sent(OPERATOR, CONTROLLER, "AlterPartitionReassignments"),
}


def lanes(bounds: Mapping[str, int]) -> tuple[str, ...]:
    """The operator, the controller, and each broker."""
    return (OPERATOR, CONTROLLER, *numbered("broker", bounds["brokers"]))


LEGEND = Legend(lanes, CONTROLLER_ARROWS, STRIP)


BOUNDS = (
    Bound("brokers", 2, 5, "number of brokers", proven_to=9, takes_any=True),
    Bound("directories", 1, 2, "log directories of each broker"),
    Bound("replication", 1, 5, "largest replication factor", proven_to=9, freed_by="brokers"),
    Bound("reassignment", 0, 1, "whether replicas may be reassigned (0: fixed, replication factor exact)"),
    Bound("reserved", 0, 1, "whether AssignReplicasToDirs may name MIGRATING, UNASSIGNED and LOST"),
)

SCOPES = {
    "default": {"brokers": 3, "directories": 1, "replication": 3, "reassignment": 1, "reserved": 0},
    "small": {"brokers": 3, "directories": 1, "replication": 3, "reassignment": 0, "reserved": 0},
    "tiny": {"brokers": 2, "directories": 1, "replication": 2, "reassignment": 1, "reserved": 0},
    "directories": {"brokers": 2, "directories": 2, "replication": 2, "reassignment": 0, "reserved": 1},
}


def registered_and(state: Elections, broker: Word, **more: Truth) -> Conjuncts:
    """Guard of triggers that name a registered broker."""
    return {"broker is registered": state.registered.has(broker), **{k.replace("_", " "): v for k, v in more.items()}}


def unfenced(state: Elections, broker: Word) -> Conjuncts:
    """Guard of fencing."""
    return registered_and(state, broker, broker_is_unfenced=negate(state.fenced.has(broker)))


@rule("session.expiry-sees-earlier-fencing", source="KAFKA-13173; catalogue 14", switches=("fences-share-one-base",),
      says="Sessions that expire together are decided one after another, each on what the one before "
           "has left.")  # fmt: skip
def two_unfenced(state: Elections, broker: Word, other: Word) -> Conjuncts:
    """Guard of a sweep that finds two expired sessions."""
    again = {f"the other {name}": truth for name, truth in unfenced(state, other).items()}
    return {**unfenced(state, broker), **again, "they are in order": broker < other}


def fenced(state: Elections, broker: Word) -> Conjuncts:
    """Guard of what a fenced broker does."""
    return registered_and(state, broker, broker_is_fenced=state.fenced.has(broker))


def may_unfence(state: Elections, broker: Word, rules: DirectoryRules) -> Conjuncts:
    """Guard of unfencing: the broker is fenced, and the controller knows where its replica is."""
    known = directory_known(
        state.replicas.has(broker), state.directories.of(broker), state.dirs_of(broker).size(), rules
    )
    return {**fenced(state, broker), "the controller knows its directories": known}


def unfencing(setting: Setting) -> Callable[[Elections, Word], Conjuncts]:
    """The guard of unfencing; with one directory there is nothing to know."""
    return partial(may_unfence, rules=setting.rules.directories) if setting["directories"] > 1 else fenced


def running(state: Elections, broker: Word) -> Conjuncts:
    """Guard of controlled shutdown."""
    return {**unfenced(state, broker), "broker is not shutting down": negate(state.shutting_down.has(broker))}


def has_dirs(state: Elections, broker: Word, failed: BrokerSet) -> Conjuncts:
    """Guard of a directory failure: only ids that are still registered act."""
    return registered_and(state, broker, directories_are_registered=failed.within(state.dirs_of(broker)))


def unfence_has_dirs(state: Elections, broker: Word, failed: BrokerSet, rules: DirectoryRules) -> Conjuncts:
    """Guard of a heartbeat that unfences and reports failures."""
    return {**may_unfence(state, broker, rules), **has_dirs(state, broker, failed)}


def may_assign(state: Elections, broker: Word, directory: Word) -> Conjuncts:
    """Guard of AssignReplicasToDirs: else NOT_LEADER_OR_FOLLOWER or STALE_BROKER_EPOCH."""
    return registered_and(state, broker, broker_is_a_replica=state.replicas.has(broker))


def may_alter(state: Elections, isr: BrokerSet, recovering: Truth, rules: RuleSet) -> Conjuncts:
    """Checks of AlterPartition that do not concern epochs; section 4, rows 5 and 7-11."""
    refused = leadership.kept_out(replicas_offline(state, rules.partition), rules.directories)
    members = leadership.member_checks(isr, state, False, refused, rules.data_plane)
    return {
        **leadership.sender_check(state.leader, state.leader, state),
        **leadership.isr_checks(state.partition(), isr, recovering, rules.partition),
        leadership.ELIGIBLE: members[leadership.ELIGIBLE],
    }


def not_preferred(state: Elections) -> Conjuncts:
    """Guard of preferred elections: else ELECTION_NOT_NEEDED."""
    return {"leader is not the first replica": needs_preferred(state.partition())}


def leaderless(state: Elections) -> Conjuncts:
    """Guard of unclean elections on request: else ELECTION_NOT_NEEDED."""
    return {LEADERLESS: needs_leader(state.partition())}


def leaderless_and_unclean(state: Elections) -> Conjuncts:
    """Guard of the unclean timer."""
    return {**leaderless(state), "topic allows unclean election": state.unclean_election}


def targets_registered(state: Elections, target: Replicas) -> Conjuncts:
    """Guard of a reassignment: else INVALID_REPLICA_ASSIGNMENT."""
    return {"targets are registered": reassigning.targets_registered(target, state.registered)}


def may_cancel(state: Elections, rules: PartitionRules) -> Conjuncts:
    """Guard of a cancellation: else NO_REASSIGNMENT_IN_PROGRESS or INVALID_REPLICA_ASSIGNMENT."""
    return reassigning.may_cancel(state.partition(), eligible(state, rules), state.unclean_election, rules)


def other_min_isr(state: Elections, minimum: Word) -> Conjuncts:
    """Guard of a change of min.insync.replicas."""
    return {"value differs": negate(state.min_insync_replicas == minimum)}


def replica_lists(brokers: int, largest: int) -> Family:
    """Every replica list of 1..largest distinct brokers; of any number of brokers, every list."""
    if brokers == ANY:
        return state.lists()

    def listed() -> Iterator[Replicas]:
        for size in range(1, largest + 1):
            for ids in itertools.permutations(range(brokers), size):
                yield Replicas.of(ids, brokers)

    def member(value: Replicas) -> Truth:
        return all_of(well_formed(value), *(slot == NO_LEADER for slot in value.slots[largest:]))

    return Family(Replicas((ints(NO_LEADER, brokers - 1),) * brokers), member, listed)


def well_formed(replicas: Replicas) -> Truth:
    """Whether slots hold a list: a member first, none twice, vacant slots last."""
    slots = replicas.slots
    distinct = (any_of(a != b, a == NO_LEADER) for a, b in itertools.combinations(slots, 2))
    vacant_last = (implies(a == NO_LEADER, b == NO_LEADER) for a, b in itertools.pairwise(slots))
    return all_of(slots[0] != NO_LEADER, *distinct, *vacant_last)


def _nonempty_sets(count: int) -> list[BrokerSet]:
    return [BrokerSet(mask) for mask in range(1, 1 << count)]


def _ids(brokers: int) -> Sequence[int]:
    return numbers() if brokers == ANY else tuple(range(brokers))


def _proposals(brokers: int) -> Sequence[BrokerSet]:
    return state.sets() if brokers == ANY else _nonempty_sets(brokers)


def _minimums(setting: Setting) -> Sequence[int]:
    return numbers(1) if setting["brokers"] == ANY else tuple(range(1, setting["replication"] + 1))


def actions(setting: Setting) -> list[Action]:
    """Every trigger of semantics 3."""
    brokers, dirs, rules = setting["brokers"], setting["directories"], setting.rules
    do = Triggers(rules)
    each = {"broker": _ids(brokers)}
    dir_sets = _nonempty_sets(dirs)
    listed = [
        Action("fence", do.fence, unfenced, each, "handleBrokerFenced"),
        Action("unfence", do.unfence, unfencing(setting), each, "handleBrokerUnfenced"),
        Action("controlled_shutdown", do.controlled_shutdown, running, each, "handleBrokerInControlledShutdown"),
        Action("unregister", do.unregister, registered_and, each, "handleBrokerUnregistered"),
        Action("new_incarnation", do.register, None, {**each, "clean": (False, True), "dirs": dir_sets},
               "registerBroker, handleBrokerUncleanShutdown"),
        Action("assign", do.assign, may_assign, {**each, "directory": _assignable(setting)},
               "handleAssignReplicasToDirs"),
        Action("alter_partition", do.alter_partition,
               lambda state, isr, recovering: may_alter(state, isr, recovering, rules),
               {"isr": _proposals(brokers), "recovering": (False, True)}, "alterPartition"),
        Action("elect_preferred", do.elect_preferred, not_preferred, {}, "electLeaders PREFERRED"),
        Action("elect_unclean", do.elect_unclean, leaderless, {}, "electLeaders UNCLEAN"),
        Action("unclean_timer", do.elect_unclean, leaderless_and_unclean, {},
               "maybeElectUncleanLeaders"),
        Action("balance_timer", do.elect_preferred, not_preferred, {}, "maybeBalancePartitionLeaders"),
        Action("set_min_isr", do.set_min_isr, other_min_isr,
               {"minimum": _minimums(setting)}, "min.insync.replicas"),
        Action("set_unclean_election", do.set_unclean_election, None, {}, "unclean.leader.election.enable"),
    ]  # fmt: skip
    if dirs > 1:  # A broker halts when its only directory fails; to the controller that is a fence.
        failures = {**each, "failed": dir_sets}
        listed += [
            Action("directories_offline", do.directories_offline, has_dirs, failures, "handleDirectoriesOffline"),
            Action("heartbeat", do.heartbeat, partial(unfence_has_dirs, rules=rules.directories), failures,
                   "processBrokerHeartbeat"),
        ]  # fmt: skip
    if rules.partition.fences_share_one_base:
        pair = {**each, "other": each["broker"]}
        listed.append(Action("sweep_sessions", do.fence_two, two_unfenced, pair, "KAFKA-13173"))
    if rules.partition.designated_elections:
        listed.append(Action("elect_designated", do.elect_designated, designation(rules), each, "unclean-recovery KIP"))
    listed += _switches(do, rules.partition)
    if setting["reassignment"]:
        targets = replica_lists(brokers, setting["replication"])
        listed += [
            Action("reassign", do.reassign, targets_registered, {"target": targets}, "changePartitionReassignment"),
            Action(
                "cancel", do.cancel, lambda state: may_cancel(state, rules.partition), {}, "cancelPartitionReassignment"
            ),
        ]
    return listed


def _switches(do: Triggers, rules: PartitionRules) -> list[Action]:
    """The changes of the feature, as far as a release has them."""
    on = Action("enable_elr", do.enable_elr, lambda state: {"ELR is off": negate(state.elr_enabled)}, {},
                "eligible.leader.replicas.enable")  # fmt: skip
    off = Action("disable_elr", do.disable_elr, lambda state: {"ELR is on": state.elr_enabled}, {},
                 "updateFeatures SAFE_DOWNGRADE")  # fmt: skip
    return [on] * rules.elr_available + [off] * rules.elr_downgrade


def _assignable(setting: Setting) -> tuple[int, ...]:
    reserved = (MIGRATING, UNASSIGNED, LOST) if setting["reserved"] else ()
    return (*reserved, *(FIRST_LOCAL + d for d in range(setting["directories"])))


def designation(rules: RuleSet) -> Callable[[Elections, Word], Conjuncts]:
    """The guard of designated elections under a rule set."""

    def guard(state: Elections, broker: Word) -> Conjuncts:
        return may_designate(state.partition(), eligible(state, rules.partition), broker, rules)

    return guard


def symmetries(setting: Setting) -> list[Symmetry]:
    """The directories of each broker; brokers are told apart by the order of replicas."""
    return [
        Symmetry(f"directories of broker {b}", setting["directories"], (f"online_dirs[{b}]",),
                 {f"directories[{b}]": FIRST_LOCAL})
        for b in range(setting["brokers"])
    ]  # fmt: skip


ELECTIONS = System(
    name="elections",
    summary="one partition's registration under every trigger of the controller",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    rules=(PartitionRules, DataPlaneRules, DirectoryRules),
    symmetries=symmetries,
    legend=LEGEND,
    quiet=lambda state: start(state).event,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
