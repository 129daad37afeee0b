"""KRaft leader elections, eligible leader replicas, and what a build knows of those who may lead."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import hash_union
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, Maybe, all_of, any_of, choose, negate, rule
from kraftcheck.model.partition.registration import Partition, PartitionChange, no_change
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RuleSet


@frozen
class Election:
    """Result of an election."""

    leader: Word  # the winner, or NO_LEADER
    unclean: Truth  # whether the winner is outside ISR and ELR
    last_known: Truth  # whether the winner is the last known leader


@frozen
class Candidates:
    """The candidates of an election."""

    # replicas, isr, elr: as wanted by the change
    replicas: Brokers
    isr: Brokers
    elr: Brokers
    leader: Word  # the current leader, or NO_LEADER
    last_known: Brokers  # the last-known list before the change
    acceptable: Brokers  # brokers that may lead: active, on an online directory

    @rule("election.elr.only-when-isr-empty", source="KIP-966; semantics 2; PartitionChangeBuilder.isValidNewLeader",
          switches=("elr-elected-over-isr",),
          says="An ELR member may be elected only when the ISR has no member.")  # fmt: skip
    def valid(self, rules: PartitionRules) -> Brokers:
        """Brokers a clean election may choose: ISR members, or ELR members once the ISR is empty."""
        source = choose(self.isr.is_empty(), self.elr, self.isr)
        if rules.elr_elected_over_isr:
            source = self.isr.plus(self.elr)
        return source.keep(self.acceptable)


@rule("election.clean.keeps-valid-leader", source="semantics 2.3; PartitionChangeBuilder.electAnyLeader",
      says="A leader that may still lead stays; otherwise the first replica that may lead is elected.")  # fmt: skip
@rule("election.preferred.first-replica", source="semantics 2.3; PartitionChangeBuilder.electPreferredLeader",
      says="A preferred election elects the first replica where it may lead, and never uncleanly.")  # fmt: skip
@rule("election.unclean.only-where-allowed", source="KIP-106; semantics 2.3", switches=("unclean-election-unasked",),
      says="A replica outside ISR and ELR is elected only where the topic or an operator allows it.")  # fmt: skip
def elect(c: Candidates, preferred: bool, unclean: Truth, last_known_allowed: Truth, rules: PartitionRules) -> Election:
    """Run an election.

    Args:
        c: whom to choose from.
        preferred: the first replica wins where valid; else the current leader does.
        unclean: whether a replica outside ISR and ELR may win (never in a preferred election).
        last_known_allowed: whether the last known leader may win.
    """
    valid = c.valid(rules)
    clean = choose(valid.has(c.leader), c.leader, c.replicas.first_in(valid))
    if preferred:
        clean = choose(valid.has(c.replicas.first()), c.replicas.first(), clean)
    found = clean != NO_LEADER
    if rules.unclean_election_unasked:
        unclean = True
    by_last_known = all_of(negate(found), last_known_allowed, _last_known_electable(c, rules))
    lossy = NO_LEADER if preferred else choose(unclean, c.replicas.first_in(c.acceptable), NO_LEADER)
    otherwise = choose(by_last_known, c.last_known.first(), lossy)
    return Election(
        leader=choose(found, clean, otherwise),
        unclean=all_of(negate(found), any_of(by_last_known, lossy != NO_LEADER)),
        last_known=by_last_known,
    )


@rule("election.last-known.alive", source="KAFKA-19522; B1; PartitionChangeBuilder.canElectLastKnownLeader",
      switches=("dead-last-known-leader-electable",),
      says="The last known leader is elected only when it may lead: alive, on an online directory.")  # fmt: skip
@rule("election.last-known.is-replica", source="B1; KAFKA-19522", switches=("last-known-leader-may-be-removed",),
      says="The last known leader is elected only while it is a replica.")  # fmt: skip
@rule("election.last-known.isr-and-elr-empty", source="semantics 2.3; KIP-966",
      switches=("last-known-elected-beside-elr",),
      says="The last known leader is elected only when ISR and ELR are empty.")  # fmt: skip
def _last_known_electable(c: Candidates, rules: PartitionRules) -> Truth:
    """Only when ISR and ELR are empty, and (rightly) only a live replica."""
    single = all_of(c.isr.is_empty(), c.elr.is_empty(), c.last_known.size() == 1)
    if rules.last_known_elected_beside_elr:
        single = all_of(c.isr.is_empty(), c.last_known.size() == 1)
    if rules.dead_last_known_leader_electable:
        return single
    last = c.last_known.first()
    if rules.last_known_leader_may_be_removed:
        return all_of(single, c.acceptable.has(last))
    return all_of(single, c.acceptable.has(last), c.replicas.has(last))


@rule("election.designated.unclean-unless-eligible",
      source="unclean-recovery KIP, Designated Leader Elections; KIP-966",
      says="A designated election is unclean unless an ordinary one could have chosen the broker.")  # fmt: skip
def designate(c: Candidates, broker: Word, rules: PartitionRules) -> Election:
    """The election of a designated broker; unclean unless an ordinary one could have chosen it."""
    return Election(broker, negate(c.valid(rules).has(broker)), False)


LEADERLESS = "partition is leaderless"
"""What every election on request but a preferred one asks for; Kafka answers ELECTION_NOT_NEEDED else."""

DESIGNATED_ONLINE = "designated broker is unfenced and its directory online"


@rule("election.designated.leaderless-only", source="unclean-recovery KIP, Designated Leader Elections",
      switches=("designated-over-leader",),
      says="A leader is designated only for a partition without one.")  # fmt: skip
@rule("election.designated.online-replica", source="unclean-recovery KIP, Designated Leader Elections",
      switches=("designated-may-be-fenced",),
      says="Only an unfenced replica on an online directory is designated.")  # fmt: skip
@rule("election.designated.not-being-removed", source="unclean-recovery KIP, Designated Leader Elections",
      switches=("designated-may-be-leaving",),
      says="A replica that a reassignment removes is not designated.")  # fmt: skip
def may_designate(p: Partition, eligible: Brokers, broker: Word, rules: RuleSet) -> dict[str, Truth]:
    """Named conditions of a designated election.

    Args:
        eligible: brokers that may lead it.
        broker: the one that is designated.

    Source: unclean-recovery KIP, "Proposed Changes": only while leaderless, and
    only an unfenced replica on an online directory.
    """
    named = {
        LEADERLESS: p.leader == NO_LEADER,
        "designated broker is a replica": p.replicas.has(broker),
        DESIGNATED_ONLINE: eligible.has(broker),
        "designated broker is not being removed": negate(p.removing.has(broker)),
    }
    waived = {
        LEADERLESS: rules.unclean_recovery.designated_over_leader,
        DESIGNATED_ONLINE: rules.unclean_recovery.designated_may_be_fenced,
        "designated broker is not being removed": rules.partition.designated_may_be_leaving,
    }
    return {name: truth for name, truth in named.items() if not waived.get(name, False)}


@frozen
class BuildContext:
    """Everything outside the partition that a build depends on."""

    acceptable: Brokers  # brokers that may lead, judged on the state before the event
    min_isr: Word  # effective min ISR of the topic
    preferred: bool  # a preferred election; the build never elects uncleanly then
    unclean: Truth  # whether an unclean election is allowed
    elr: Truth  # whether ELR is on for this build
    use_last_known_leader: bool  # last-known leader mode (always on in the controller)
    unclean_shutdown: Brokers  # brokers known to have stopped uncleanly
    # directory_assignment, leader_recovery, bump_on_isr_shrink: what the metadata version has
    directory_assignment: bool
    leader_recovery: bool
    bump_on_isr_shrink: bool
    default_directory: Callable[[Word], Word]  # directory of a replica that has none yet
    designated: Word | None = None  # elect exactly this broker (None: an ordinary election)


@frozen
class Eligible:
    """The ELR and the last-known ELR of a partition."""

    elr: Brokers
    last_known: Brokers


@frozen
class ElrInputs:
    """The inputs of the new ELR."""

    isr: Brokers  # the wanted ISR
    previous_isr: Brokers  # the ISR before the change
    replicas: Brokers  # the wanted replicas
    eligible: Eligible  # ELR and last-known ELR before the change
    unclean_shutdown: Brokers  # brokers known to have stopped uncleanly
    min_isr: Word  # effective min ISR
    collect_last_known: bool  # whether former members are collected (the mode without last-known leader)


@rule("elr.isr-leavers-stay-eligible",
      source="KIP-966; semantics 2.2; PartitionChangeBuilder.maybePopulateTargetElr; invariant 35",
      says="Below min ISR, members that leave the ISR enter the ELR.")  # fmt: skip
@rule("elr.empty-at-min-isr", source="KIP-966; semantics 2.2; PartitionChangeBuilder.maybePopulateTargetElr",
      switches=("elr-kept-at-min-isr",), says="At min ISR the ELR is empty.")  # fmt: skip
@rule("elr.excludes-isr",
      source="KIP-966; semantics 2.2; PartitionChangeBuilder.maybePopulateTargetElr; S1; invariant 6",
      switches=("elr-keeps-isr-members",), says="No ISR member is in the ELR.")  # fmt: skip
@rule("elr.excludes-unclean-stops", source="KAFKA-15586; KIP-966; invariant 36",
      switches=("elr-keeps-unclean-replicas",),
      says="A replica that stopped uncleanly is not in the ELR.")  # fmt: skip
@rule("elr.off.excludes-lost-replicas", source="KIP-966", switches=("switched-off-elr-is-neglected",),
      says="With ELR off, who stopped uncleanly or is no replica any more leaves an ELR that is kept.")  # fmt: skip
@rule("elr.listed-in-hash-order", source="PartitionChangeBuilder.maybePopulateTargetElr; semantics 2.2",
      says="A build lists the ELR as java.util.HashSet does, and writes it where the list on file "
           "differs.")  # fmt: skip
@rule("elr.within-replicas", source="B4; X1; invariant 7", switches=("removed-replicas-stay-in-elr",),
      says="Every ELR member is a replica.")  # fmt: skip
def populate(inputs: ElrInputs, enabled: Truth, rules: PartitionRules) -> Eligible:
    """The ELR for the wanted ISR.

    At or above min ISR nobody needs to be eligible. Below it, old ELR and old
    ISR members that leave the ISR stay eligible, unless they stopped
    uncleanly or are no longer replicas.
    """
    isr, old = inputs.isr, inputs.eligible
    candidates = hash_union(old.elr, inputs.previous_isr)
    elr = candidates if rules.elr_keeps_isr_members else candidates.minus(isr)
    if not rules.elr_keeps_unclean_replicas:
        elr = elr.minus(inputs.unclean_shutdown)
    if not rules.removed_replicas_stay_in_elr:
        elr = elr.keep(inputs.replicas)
    last_known = old.last_known
    if inputs.collect_last_known:
        last_known = hash_union(old.elr, inputs.previous_isr, last_known).minus(isr).minus(elr)
    at_min = Eligible(old.elr.minus(isr) if rules.elr_kept_at_min_isr else old.elr.none(), old.last_known.none())
    populated = choose(isr.size() >= inputs.min_isr, at_min, Eligible(elr, last_known))
    if not rules.switched_off_elr_is_neglected:
        old = evolve(old, elr=old.elr.minus(inputs.unclean_shutdown).keep(inputs.replicas))
    return choose(enabled, populated, old)


@rule("election.unclean.clears-elr", source="KIP-966; semantics 2.5", switches=("unclean-election-keeps-elr",),
      says="An unclean election empties the ELR.")  # fmt: skip
@rule("elr.off.clears", source="KIP-966; semantics 2.5", switches=("switched-off-elr-is-neglected",),
      says="A build with ELR off empties the ELR, unless the ISR stays empty: then only its members have the "
           "data.")  # fmt: skip
def elr_fields(
    p: Partition, change: PartitionChange, eligible: Eligible, isr: Brokers, context: BuildContext,
    rules: PartitionRules,
) -> PartitionChange:  # fmt: skip
    """Step 5: an unclean election, and a build with ELR off, clear both lists."""
    off = negate(context.elr)
    if not rules.switched_off_elr_is_neglected:
        off = all_of(off, negate(all_of(isr.is_empty(), p.isr.is_empty())))
    clear = any_of(change.isr.present, off)
    elr = choose(off if rules.unclean_election_keeps_elr else clear, eligible.elr.none(), eligible.elr)
    change = evolve(change, elr=change.elr.set_when(negate(elr.same(p.elr)), elr))
    if context.use_last_known_leader:
        return change
    last_known = choose(clear, eligible.last_known.none(), eligible.last_known)
    differs = negate(last_known.same(p.last_known_elr))
    return evolve(change, last_known_elr=change.last_known_elr.set_when(differs, last_known))


@rule("last-known.noted-on-leader-loss", source="PR 20629; semantics 13",
      switches=("last-known-leader-on-leader-loss",),
      says="From 4.1.1 on, the last known leader is noted when leadership is lost, and forgotten with "
           "the next leader.")  # fmt: skip
def by_leadership(known: Brokers, leader: Maybe[Word], enabled: Truth) -> tuple[Truth, Truth]:
    """From 4.1.1 on: whether to remember the leader that is lost as the last known, and whether to forget the old one.

    Args:
        known: the last known leader of before.
        leader: the new leader, where the change names one.
        enabled: whether ELR is on, without which none is noted.
    """
    lost = all_of(leader.present, leader.value == NO_LEADER)
    won = all_of(leader.present, leader.value >= 0)
    return all_of(enabled, lost, known.is_empty()), all_of(won, negate(known.is_empty()))


def clears(p: Partition) -> Truth:
    """Whether there is something to clear: an ELR or a last known leader."""
    return negate(all_of(p.elr.is_empty(), p.last_known_elr.is_empty()))


def clear_elr(p: Partition, when: Truth) -> PartitionChange:
    """The record that clears ELR and last-known ELR, where one is not empty."""
    change = no_change(p)
    listed = all_of(when, clears(p))
    return evolve(
        change,
        elr=change.elr.set_when(listed, p.elr.none()),
        last_known_elr=change.last_known_elr.set_when(listed, p.last_known_elr.none()),
    )
