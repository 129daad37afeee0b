"""KRaft leader elections: who leads a partition, given who may.

Source: `PartitionChangeBuilder.electLeader`; designated elections from the
unclean-recovery KIP.
"""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.rule import rule
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, negate
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RuleSet


@frozen
class Election:
    """Result of an election.

    Attributes:
        leader: the winner, or NO_LEADER.
        unclean: whether the winner is outside ISR and ELR.
        last_known: whether the winner is the last known leader.
    """

    leader: Word
    unclean: Truth
    last_known: Truth


@frozen
class Candidates:
    """What an election chooses from.

    Attributes:
        replicas, isr, elr: as wanted by the change.
        leader: the current leader, or NO_LEADER.
        last_known: the last-known list before the change.
        acceptable: brokers that may lead: active, on an online directory.
    """

    replicas: Brokers
    isr: Brokers
    elr: Brokers
    leader: Word
    last_known: Brokers
    acceptable: Brokers

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
        rules: the rule set.
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
        p: the partition.
        eligible: brokers that may lead it.
        broker: the one that is designated.
        rules: the rule set.

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
