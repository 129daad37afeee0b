"""Drawn requests about partitions: proposals of leaders, reassignments, elections, directories."""

from __future__ import annotations

from kraftcheck.ci.conformance.kafka.fuzz.broker_requests import FIRST_DIRECTORY, Brokers
from kraftcheck.ci.conformance.kafka.fuzz.draws import Draws
from kraftcheck.ci.conformance.kafka.fuzz.model import Decided, ModelController, Request
from kraftcheck.model.controller.alter_partition import AlterPartitionRequest, Proposal, alter_partition
from kraftcheck.model.controller.assign_dirs import Assignment, assign_replicas_to_dirs
from kraftcheck.model.controller.elect_leaders import balance_leaders, elect_leaders, elect_unclean
from kraftcheck.model.controller.reassign import Reassignment, reassign
from kraftcheck.model.controller.state import Controller, Place
from kraftcheck.model.records.records import ids
from kraftcheck.model.rules.ruleset import RuleSet


def _place(world: ModelController, draws: Draws) -> Place | None:
    places = list(world.controller.places())
    return draws.pick(places) if places else None


def alter(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """A leader proposes another ISR; seldom with a wrong epoch, or by a broker that does not lead."""
    place = _place(world, draws)
    if place is None:
        return None
    p, controller = place.partition, world.controller
    sender = draws.pick(brokers.ids) if p.leader < 0 or draws.percent(5) else int(p.leader)
    isr, joining = list(ids(p.isr)), [broker for broker in ids(p.replicas) if not p.isr.has(broker)]
    if joining and not draws.percent(40):
        isr += draws.some(joining, 1 + draws.below(3))
    elif len(isr) > 1:
        isr.remove(draws.pick([broker for broker in isr if broker != sender] or isr))
    isr += [draws.pick(brokers.ids)] if draws.percent(3) else []

    def epoch_of(broker: int) -> int:
        known = controller.registration(broker)
        return -1 if known is None else known.epoch

    wrong = (draws.below(5), draws.below(5)) if draws.percent(6) else (1, 1)
    recovering = bool(p.recovering) and draws.percent(30)
    proposal = Proposal(
        place.topic_id, place.index, int(p.leader_epoch) + wrong[0] - 1, int(p.partition_epoch) + wrong[1] - 1,
        tuple((broker, epoch_of(broker)) for broker in isr), recovering,
    )  # fmt: skip
    request = AlterPartitionRequest(sender, epoch_of(sender), (proposal,))

    def decide(controller: Controller, rules: RuleSet) -> Decided:
        outcome = alter_partition(controller, request, rules)
        return outcome, ",".join(row.error for row in outcome.response)

    epochs = f"{proposal.leader_epoch}/{proposal.partition_epoch}/{int(recovering)}"
    members = ",".join(f"{broker}:{epoch}" for broker, epoch in proposal.new_isr) or "-"
    row = f"{world.topics[place.topic_id]}/{place.index}/{epochs}/{members}"
    return Request(f"alter {sender} {request.broker_epoch} {row}", decide)


def reassigned(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """One or two partitions are reassigned, to other replicas or another order, or a reassignment is cancelled."""
    places = list(world.controller.places())
    if not places:
        return None
    fixed = world.rules.controller.factor_change_can_be_forbidden and draws.percent(20)
    rows = tuple(_wanted(world, draws.pick(places), brokers, draws) for _ in range(1 + draws.percent(20)))

    def decide(controller: Controller, rules: RuleSet) -> Decided:
        outcome = reassign(controller, rows, rules, factor_may_change=not fixed)
        return outcome, ",".join(row.error for row in outcome.response)

    return Request(f"reassign {';'.join(map(_row_text, rows))} {'same-factor' if fixed else '-'}", decide)


def _wanted(world: ModelController, place: Place, brokers: Brokers, draws: Draws) -> Reassignment:
    p, name = place.partition, world.controller.topic(place.topic_id).name
    old = ids(p.replicas)
    if draws.percent(20):
        return Reassignment(name, place.index, None)
    if draws.percent(50):
        return Reassignment(name, place.index, draws.some(brokers.ids, len([b for b in old if not p.adding.has(b)])))
    return Reassignment(name, place.index, draws.some(old if draws.percent(40) else brokers.ids, 1 + draws.below(4)))


def _row_text(row: Reassignment) -> str:
    replicas = "cancel" if row.replicas is None else ",".join(map(str, row.replicas))
    return f"{row.topic}/{row.partition}/{replicas}"


def elect(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """Elections are asked for, in one partition, often one that its first replica does not lead, or in all."""
    places = list(world.controller.places())
    elsewhere = [place for place in places if place.partition.leader != ids(place.partition.replicas)[0]]
    place = draws.pick(elsewhere) if elsewhere and not draws.percent(20) else _place(world, draws)
    kind = draws.below(2)
    if place is None:
        return None
    name = world.controller.topic(place.topic_id).name
    listed = None if draws.percent(25) else ((name, place.index),)

    def decide(controller: Controller, rules: RuleSet) -> Decided:
        outcome = elect_leaders(controller, kind, listed, rules)
        return outcome, ",".join(sorted(f"{row.topic}/{row.partition}={row.error}" for row in outcome.response))

    return Request(f"elect {kind} {'all' if listed is None else f'{name}/{place.index}'}", decide)


def balance(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """The balance timer."""
    return Request("balance", lambda controller, rules: (balance_leaders(controller, rules), ""))


def unclean(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """The timer of unclean elections."""
    return Request("unclean", lambda controller, rules: (elect_unclean(controller, rules), ""))


def assign(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """A broker assigns a replica to one of its directories, or seldom to another's, or a replica of another."""
    place = _place(world, draws)
    if place is None:
        return None
    broker = draws.pick(brokers.ids if draws.percent(5) else ids(place.partition.replicas))
    known = world.controller.registration(broker)
    epoch = (0 if known is None else known.epoch) - (1 if draws.percent(3) else 0)
    own = brokers.directories_of(broker) if broker in brokers.ids else (FIRST_DIRECTORY,)
    directory = FIRST_DIRECTORY if draws.percent(4) else draws.pick(own)
    wanted = (Assignment(directory, place.topic_id, place.index),)

    def decide(controller: Controller, rules: RuleSet) -> Decided:
        outcome = assign_replicas_to_dirs(controller, broker, epoch, wanted, rules)
        return outcome, ",".join(row.error for row in outcome.response)

    return Request(f"assign {broker} {epoch} {directory}/{world.topics[place.topic_id]}/{place.index}", decide)
