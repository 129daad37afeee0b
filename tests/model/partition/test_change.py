"""The change build and reassignments: lists and masks agree, terms agree with ints."""

from functools import cache
from itertools import permutations
from typing import Any

import pytest
from attrs import evolve
from hypothesis import assume, given, settings

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne, IdList
from kraftcheck.model.language.layout import ints, subset_of, truth
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import EMPTY, NO_LEADER, Maybe, absent, present
from kraftcheck.model.partition.change import Target, build, build_change, complete, plan, plan_for, revert
from kraftcheck.model.partition.election import BuildContext, by_leadership
from kraftcheck.model.partition.registration import FIRST_LOCAL, UNASSIGNED, DirectoryMap, Partition, merge, no_change
from kraftcheck.model.rules.ruleset import PRESETS, RIGHT, parse
from tests.shared.explored import numbers, read, symbolic, values_of
from tests.shared.recordings import BROKERS, Case, as_lists, as_masks, cases, partition, plainly

RULES = ("fixed", "kafka-4.0", "kip", "fixed+elr-keeps-isr-members+elr-elected-over-isr+completion-keeps-removing")


@pytest.mark.parametrize("rules", RULES)
@settings(max_examples=400, deadline=None)
@given(case=cases())
def test_lists_and_masks_agree(rules: str, case: Case) -> None:
    """The build on ordered lists and on masks writes a record in the same cases, with the same result as sets."""
    results = []
    for given_as in (as_lists(case), as_masks(case)):
        change = build_change(given_as.partition, given_as.target, given_as.context, parse(rules).partition)
        noop = change.is_noop()
        after = given_as.partition if noop else merge(given_as.partition, change)
        results.append((noop, plainly(after)))
    assert results[0] == results[1]


def _shape() -> tuple[Any, ...]:
    """Domains of everything a build reads: partition, target, directories assigned, and context words."""
    some: Any = BrokerSet(subset_of(BROKERS))
    slots, places = (ints(NO_LEADER, BROKERS - 1),) * BROKERS, (ints(0, FIRST_LOCAL + 1),) * BROKERS
    partition = Partition(
        Replicas(slots), DirectoryMap(places), some, some, AtMostOne(ints(EMPTY, BROKERS - 1)), some, some,
        ints(NO_LEADER, BROKERS - 1), truth(), ints(0, 9), ints(0, 9),
    )  # fmt: skip
    target = some, Replicas(slots), some, some, truth(), DirectoryMap(places), some
    context = some, ints(1, BROKERS), truth(), truth(), some
    return partition, target, context


def _build(values: tuple[Any, ...], rules: str, preferred: bool, designated: int | None) -> Any:
    """The build of values of `_shape`: the change, the election and whether a reassignment completed."""
    partition, (isr, replicas, removing, adding, recovering, places, assigned), context = values
    acceptable, min_isr, unclean, elr, stopped = context
    target = Target(isr, replicas, removing, adding, recovering, lambda b: Maybe(assigned.has(b), places.of(b)))
    surroundings = BuildContext(
        acceptable,
        min_isr,
        preferred,
        unclean,
        elr,
        True,
        stopped,
        True,
        True,
        False,
        lambda b: FIRST_LOCAL,
        designated,
    )
    built = build(partition, target, surroundings, parse(rules).partition)
    return built.change, built.election, built.completed


@cache
def _traced(rules: str, preferred: bool, designated: int | None) -> tuple[Graph, Any]:
    graph = Graph()
    return graph, _build(symbolic(graph, _shape()), rules, preferred, designated)


@pytest.mark.parametrize("rules", RULES[:2])
@settings(max_examples=150, deadline=None)
@given(case=cases())
def test_terms_agree_with_ints(rules: str, case: Case) -> None:
    """The whole build, traced once with everything symbolic, has every field of the build on ints."""
    made = as_masks(case)
    target, context = made.target, made.context
    places = DirectoryMap(tuple(case.assigned.get(b, UNASSIGNED) for b in range(BROKERS)))
    wanted = (target.isr, target.replicas, target.removing, target.adding, target.recovering)
    surroundings = (context.acceptable, context.min_isr, context.unclean, context.elr, context.unclean_shutdown)
    values = made.partition, (*wanted, places, BrokerSet.of(case.assigned)), surroundings
    graph, traced = _traced(rules, case.preferred, case.designated)
    direct = _build(values, rules, case.preferred, case.designated)
    assert read(traced, values_of(graph, numbers(values))) == direct


CALM = Case(
    replicas=[0, 1, 2], directories=[FIRST_LOCAL] * 3, isr=[2, 0], elr=[], last_known=[], removing=[], adding=[],
    leader=0, recovering=False, wanted=([0, 1, 2], [2, 0], [], [], False), assigned={}, acceptable=[0, 1, 2],
    stopped=[], min_isr=2, unclean=False, elr_on=True,
)  # fmt: skip
"""Three replicas, of which 2 and 0 are in sync; nothing to do."""


def change_of(case: Case, rules: str = "fixed") -> Any:
    """The change of a case, on lists."""
    made = as_lists(case)
    return build_change(made.partition, made.target, made.context, parse(rules).partition)


def wants_isr(case: Case, isr: list[int]) -> Case:
    """The case with another wanted ISR."""
    return evolve(case, wanted=(case.replicas, isr, *case.wanted[2:]))


def test_a_permuted_isr_is_a_change_to_the_list_and_none_to_the_mask() -> None:
    """What the mask forgets: Kafka writes a record for an ISR in another order, an explored system none."""
    case = wants_isr(CALM, [0, 2])
    listed, masked = as_lists(case), as_masks(case)
    assert change_of(case) == evolve(no_change(listed.partition), isr=present(IdList((0, 2))))
    assert build_change(masked.partition, masked.target, masked.context, PRESETS["fixed"].partition).is_noop()


def test_the_list_minus_one_is_an_isr_member_only_on_lists() -> None:
    """The other thing the mask forgets: electing the last known leader -1 (defect B5) writes the ISR [-1]."""
    case = wants_isr(evolve(CALM, isr=[0], last_known=[-1], stopped=[0], acceptable=[]), [])
    kafka = parse("kafka-4.0")
    assert change_of(case, "kafka-4.0").isr == present(IdList((-1,)))
    masked = as_masks(case)
    assert build_change(masked.partition, masked.target, masked.context, kafka.partition).isr == present(BrokerSet())


def test_an_elr_member_waits_while_the_isr_has_a_member_that_may_not_lead() -> None:
    """It is elected only once the ISR has no member at all."""
    case = evolve(CALM, isr=[2], elr=[0], leader=NO_LEADER, acceptable=[0])
    assert not change_of(wants_isr(case, [2])).leader.present
    assert change_of(wants_isr(case, [])).leader.value == 0


def built_twice(case: Case) -> tuple[Any, Partition, Any]:
    """A build under `fixed`, the partition after it, and a second build that wants that partition as it is."""
    made = as_lists(case)
    first = build(made.partition, made.target, made.context, PRESETS["fixed"].partition)
    after = merge(made.partition, first.change)
    return first, after, build_change(after, Target.of(after), made.context, PRESETS["fixed"].partition)


@settings(max_examples=600, deadline=None)
@given(case=cases())
def test_building_again_is_a_noop_where_the_isr_ended_as_wanted(case: Case) -> None:
    """An ordinary build repeated on its own result writes nothing if the ISR is the wanted one and not empty."""
    first, after, again = built_twice(evolve(case, designated=None))
    assume(after.isr.same(first.target_isr) and not after.isr.is_empty())
    assert again.is_noop(), (plainly(after), again)


@pytest.mark.parametrize(
    ("known", "leader", "enabled", "expected"),
    [
        ((), present(NO_LEADER), True, (True, False)),
        ((), present(NO_LEADER), False, (False, False)),
        ((), absent(NO_LEADER), True, (False, False)),
        ((), present(1), True, (False, False)),
        ((2,), present(NO_LEADER), True, (False, False)),
        ((2,), present(1), True, (False, True)),
    ],
)
def test_the_last_known_leader_of_later_releases(
    known: tuple[int, ...], leader: Maybe[Any], enabled: bool, expected: tuple[bool, bool]
) -> None:
    """From 4.1.1 on it is remembered when a leader is lost, once, and forgotten with the next leader."""
    assert by_leadership(IdList(known), leader, enabled) == expected


IDS = range(4)
LISTS = [p for size in range(5) for p in permutations(IDS, size)]
SETS = [tuple(b for b in IDS if mask >> b & 1) for mask in range(16)]


def slots(ids):
    """A list of the mask family."""
    return Replicas.of(ids, len(IDS))


def masked(replicas, isr=(), removing=(), adding=()):
    """A partition of the mask family."""
    return Partition(
        replicas=slots(replicas),
        directories=DirectoryMap((0,) * 4),
        isr=BrokerSet.of(isr),
        elr=BrokerSet(),
        last_known_elr=AtMostOne(),
        removing=BrokerSet.of(removing),
        adding=BrokerSet.of(adding),
        leader=NO_LEADER,
        recovering=False,
        leader_epoch=0,
        partition_epoch=0,
    )


def test_plan_keeps_kafkas_orders():
    """The running list is the target, then what goes; both sets ascend."""
    made = plan(IdList((3, 2, 1, 0)), IdList((7, 3, 1, 9)))
    assert (made.removing, made.adding) == (IdList((0, 2)), IdList((7, 9)))
    assert made.replicas == IdList((7, 3, 1, 9, 0, 2))


def test_revert_to_nothing_is_impossible():
    """A reassignment whose added replicas are all there is cannot be reverted."""
    back = revert(partition((4, 5), isr=(4,), adding=(4, 5)))
    assert not back.possible
    assert not back.unclean


def test_plans_agree():
    """Lists and masks plan alike, for every pair of lists of up to four brokers."""
    for replicas in LISTS:
        for target in LISTS:
            listed, slotted = plan(IdList(replicas), IdList(target)), plan(slots(replicas), slots(target))
            assert tuple(slotted.replicas) == listed.replicas.ids
            assert tuple(slotted.removing) == listed.removing.ids
            assert tuple(slotted.adding) == listed.adding.ids


@pytest.mark.parametrize("replicas", [r for r in LISTS if r in ((), (0,), (1, 0), (2, 0, 1), (3, 1, 0, 2))])
def test_completions_agree(replicas):
    """Lists and masks complete alike, for every ISR, removing and adding set of four brokers."""
    for isr in SETS:
        for removing in SETS:
            for adding in SETS:
                listed = complete(IdList(replicas), IdList(isr), IdList(removing), IdList(adding))
                sets = (BrokerSet.of(isr), BrokerSet.of(removing), BrokerSet.of(adding))
                slotted = complete(slots(replicas), *sets)
                assert (slotted.done, tuple(slotted.replicas)) == (listed.done, listed.replicas.ids)
                assert tuple(slotted.isr) == listed.isr.ids


@pytest.mark.parametrize("replicas", [r for r in LISTS if r in ((), (0,), (1, 0), (2, 0, 1), (3, 1, 0, 2))])
def test_reverts_agree(replicas):
    """Lists and masks revert alike, for every ISR and adding set of four brokers."""
    for isr in SETS:
        for adding in SETS:
            listed = revert(partition(replicas, isr=isr, adding=adding))
            slotted = revert(masked(replicas, isr, (), adding))
            assert (slotted.possible, slotted.unclean) == (listed.possible, listed.unclean)
            assert tuple(slotted.replicas) == listed.replicas.ids
            assert tuple(slotted.isr) == listed.isr.ids


def test_rules_trace():
    """Every rule runs on symbolic partitions."""
    graph = Graph()
    replicas = Replicas(tuple(graph.variable(f"r{n}", -1, 3) for n in range(4)))
    target = Replicas(tuple(graph.variable(f"t{n}", -1, 3) for n in range(4)))
    isr, removing, adding = (BrokerSet(graph.variable(name, 0, 15)) for name in ("isr", "removing", "adding"))
    symbolic = evolve(masked(()), replicas=replicas, isr=isr, removing=removing, adding=adding)
    assert isinstance(complete(replicas, isr, removing, adding).done, Term)
    assert isinstance(revert(symbolic).unclean, Term)
    assert isinstance(plan_for(symbolic, target, RIGHT.partition).removing.mask, Term)
