"""Laws of the rules, over drawn inputs; beside each stands a mutant that breaks it."""

from collections.abc import Callable, Iterable
from typing import Any

from attrs import evolve
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from kraftcheck.model.controller.commits import replay_all
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.words import EMPTY, NO_LEADER
from kraftcheck.model.partition.change import Target, build_change
from kraftcheck.model.partition.election import Candidates, Election, elect
from kraftcheck.model.partition.registration import merge
from kraftcheck.model.records.replay import ClusterImage, ReplayError, replay
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RIGHT, RuleSet, parse
from tests.shared.recordings import Case, as_lists, cases
from tests.solvers.hypothesis.record_strategies import batches

ANY = settings(phases=[Phase.generate], max_examples=2000)  # for examples that need not be small


def broken(strategy: st.SearchStrategy[Any], law: Callable[[Any], bool]) -> Any:
    """An input that breaks the law, not shrunk; `find` raises where there seems to be none."""
    return find(strategy, lambda drawn: not law(drawn), settings=ANY)


# Replay is a homomorphism.

Replay = Callable[[ClusterImage, Iterable[Any]], ClusterImage]
SPLIT = st.tuples(batches(), st.integers(0, 12))


def replayed(run: Replay, image: ClusterImage | str, batch: list[Any]) -> ClusterImage | str:
    """The image after a batch, or why it cannot be replayed; what failed stays failed."""
    if isinstance(image, str):
        return image
    try:
        return run(image, batch)
    except ReplayError as error:
        return str(error)


def in_two_parts(run: Replay, drawn: tuple[list[Any], int]) -> bool:
    """A batch replayed whole is the batch replayed in two parts, and one by one."""
    batch, at = drawn
    whole = replayed(run, ClusterImage(), batch)
    parts = replayed(run, replayed(run, ClusterImage(), batch[:at]), batch[at:])
    one_by_one: ClusterImage | str = ClusterImage()
    for record in batch:
        one_by_one = replayed(run, one_by_one, [record])
    return whole == parts == one_by_one


@given(SPLIT)
def test_replay_is_a_homomorphism(drawn: tuple[list[Any], int]) -> None:
    """Replaying a batch is replaying its parts one after the other, refusals included."""

    def in_batch(image: ClusterImage, batch: Iterable[Any]) -> ClusterImage:
        return replay_all(Controller(image=image), batch, RIGHT).image

    assert in_two_parts(in_batch, drawn)


def test_a_replay_that_counts_batches_breaks_the_law() -> None:
    """A replay that gives a whole batch one offset is told from a right one."""

    def one_offset(image: ClusterImage, batch: Iterable[Any]) -> ClusterImage:
        after = image
        for record in batch:
            after = evolve(replay(after, record), next_offset=image.next_offset)
        return evolve(after, next_offset=image.next_offset + 1)

    assert broken(SPLIT, lambda drawn: in_two_parts(one_offset, drawn))


# The change build is idempotent.


Build = Callable[..., Any]


def settled(build: Build, case: Case) -> bool:
    """Building again from the result of a build writes nothing, from the third time on at the latest.

    One build may leave something for the next: a leader just remembered, members
    that stay listed, a reassignment that an election put in sync; see the tests
    of the change build, which name these exceptions.
    """
    made = as_lists(evolve(case, designated=None))
    p = merge(made.partition, build(made.partition, made.target, made.context, RIGHT.partition))
    for _ in range(3):
        change = build(p, Target.of(p), made.context, RIGHT.partition)
        if change.is_noop():
            return True
        p = merge(p, change)
    return False


@given(cases())
def test_building_from_its_own_result_comes_to_rest(case: Case) -> None:
    """The build is idempotent from its own result on: again and again it writes nothing."""
    assert settled(build_change, case)


def test_a_build_that_repeats_the_leader_breaks_the_law() -> None:
    """A build that names the leader in every record raises its epoch for ever, and is found."""

    def insistent(p: Any, target: Target, context: Any, rules: PartitionRules) -> Any:
        change = build_change(p, target, context, rules)
        return evolve(change, leader=change.leader.set_when(p.recovering, p.leader))

    assert broken(cases(), lambda case: settled(insistent, case))


# Elections are monotone in the acceptable set.

Elect = Callable[[Candidates, Any, Any, Any, PartitionRules], Election]
EVERYONE = range(5)
SUBSETS = st.sets(st.sampled_from(list(EVERYONE))).map(BrokerSet.of)


@st.composite
def ballots(draw: st.DrawFn) -> tuple[Candidates, BrokerSet, bool, bool, bool]:
    """Candidates, a larger acceptable set, and whether preferred, unclean and last-known elections are allowed."""
    replicas = draw(st.permutations(list(EVERYONE)))[: draw(st.integers(1, 5))]
    some = BrokerSet.of(replicas)
    isr = draw(SUBSETS).keep(some)
    known = draw(st.sampled_from([EMPTY, *replicas]))
    leader = draw(st.sampled_from([NO_LEADER, *replicas]))
    choice = Candidates(
        Replicas.of(replicas, 5), isr, draw(SUBSETS).keep(some).minus(isr), leader, AtMostOne(known), draw(SUBSETS)
    )
    return choice, choice.acceptable.plus(draw(SUBSETS)), draw(st.booleans()), draw(st.booleans()), draw(st.booleans())


def monotone(
    run: Elect, ballot: tuple[Candidates, BrokerSet, bool, bool, bool], rules: PartitionRules = RIGHT.partition
) -> bool:
    """More acceptable brokers never cost a leader or a clean election; a winner who stays still wins."""
    choice, larger, preferred, unclean, last_known = ballot
    few = run(choice, preferred, unclean, last_known, rules)
    many = run(evolve(choice, acceptable=larger), preferred, unclean, last_known, rules)
    keeps_leader = few.leader == NO_LEADER or many.leader != NO_LEADER
    stays_clean = few.leader == NO_LEADER or few.unclean or not many.unclean
    same_winner = many.leader == NO_LEADER or not choice.acceptable.has(many.leader) or few.leader == many.leader
    return bool(keeps_leader and stays_clean and same_winner)


@given(ballots())
def test_elections_are_monotone(ballot: Any) -> None:
    """An election over more acceptable brokers is at least as good, and only a new broker changes its winner."""
    assert monotone(elect, ballot)


def test_an_election_that_prefers_the_last_breaks_the_law() -> None:
    """An election that takes no leader where two brokers could lead is found."""

    def unsure(c: Candidates, preferred: bool, unclean: bool, last_known: bool, rules: PartitionRules) -> Election:
        found = elect(c, preferred, unclean, last_known, rules)
        return evolve(found, leader=NO_LEADER) if c.valid(rules).size() > 1 else found

    assert broken(ballots(), lambda ballot: monotone(unsure, ballot))


def test_a_dead_last_known_leader_breaks_the_law() -> None:
    """Electing the last known leader without asking whether it lives is not monotone: defect B1."""
    rules = parse("fixed+dead-last-known-leader-electable")
    choice, larger, *_ = broken(ballots(), lambda ballot: only_the_living(ballot, rules))
    assert not choice.acceptable.has(choice.last_known.first()) or not larger.has(choice.last_known.first())


def only_the_living(ballot: tuple[Candidates, BrokerSet, bool, bool, bool], rules: RuleSet) -> bool:
    """Whoever wins is acceptable."""
    choice, _, preferred, unclean, last_known = ballot
    winner = elect(choice, preferred, unclean, last_known, rules.partition).leader
    return bool(winner == NO_LEADER or choice.acceptable.has(winner))


@given(ballots())
def test_winners_are_acceptable(ballot: Any) -> None:
    """Mended, whoever is elected is acceptable."""
    assert only_the_living(ballot, RIGHT)
