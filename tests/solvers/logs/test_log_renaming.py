"""Results of changes and events do not depend on the names of brokers and directories."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, fields, frozen
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.ci.bench.synthetic import SyntheticLog, SyntheticSize
from kraftcheck.ci.logs.format.read import SkipCount, find, read
from kraftcheck.ci.logs.releases import rules_of
from kraftcheck.model.controller.brokers import (
    RegistrationContext,
    RegistrationRequest,
    directories_failed,
    fenced,
    leaving,
    register_broker,
    unfenced,
    unregister,
)
from kraftcheck.model.controller.elections import PREFERRED, UNCLEAN, elect_leaders
from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.partitions import (
    UNCHECKED,
    AlterPartitionRequest,
    Assignment,
    Proposal,
    alter_partition,
    assign_replicas_to_dirs,
)
from kraftcheck.model.controller.state import Controller, Features
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import present
from kraftcheck.model.partition.registration import (
    LOST,
    MIGRATING,
    UNASSIGNED,
    DirectoryList,
    DirectoryMismatch,
    Partition,
    PartitionChange,
    no_change,
)
from kraftcheck.model.records.records import Feature, PartitionChangeRecord, Registration, directory_order
from kraftcheck.model.rules.ruleset import RuleSet, parse
from kraftcheck.solvers.logs.explain.explain import ReplayedBatch, explain, violations_of
from kraftcheck.solvers.logs.explain.judge import with_broker
from kraftcheck.solvers.logs.explain.state import Batch, EntryError, State
from kraftcheck.solvers.logs.memo import ledger, steps
from kraftcheck.solvers.logs.memo.ledger import compact
from kraftcheck.solvers.logs.memo.replay import MemoisedReplay
from kraftcheck.solvers.logs.memo.situation import (
    EPOCH,
    TOPIC,
    Context,
    Renaming,
    Shape,
    ShapeNames,
    brokers_of,
    canonical_directory,
    names_of,
    numbers_of,
    plain_registration,
)
from kraftcheck.solvers.logs.memo.steps import QueryResult, broker_events, query_change, query_event, query_shutdown
from tests.shared.captures import ELR, TROUBLE, batches, corrupted, replay_log, replayed, with_data
from tests.solvers.logs.test_log_quick import rename_brokers, verdict

BROKERS = 4
LEVELS = {"metadata.version": 27}
RULES = [parse(text) for text in ("kafka-4.1", "kafka-4.0", "kafka-3.9", "fixed")]
RESERVED = (MIGRATING, UNASSIGNED, LOST)


@frozen
class World:
    """One partition, its context, four brokers and directories with the names of a shape, and other names for all."""

    partition: Partition
    context: Context
    registrations: dict[int, Registration | None]
    features: Features
    rules: RuleSet
    other: Renaming
    isr: tuple[int, ...]
    directory: int

    def shape(self) -> Shape:
        """The partition with the registrations that it names."""
        return Shape(self.partition, self.context, {b: self.registrations[b] for b in brokers_of(self.partition)})

    def rename(self) -> Shape:
        """The same with the other names."""
        shape = self.shape()
        return Shape(self.other.partition(shape.partition), self.context, self.other.registrations(shape.registrations))

    def base(self) -> State:
        """What a state holds besides."""
        return State(Controller(features=self.features), LEVELS)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Any partition of up to three replicas, whether it can come about or not."""
    elr_enabled = draw(st.booleans())
    other = draw(other_names(elr_enabled))
    brokers = tuple(broker for broker in other.brokers if broker >= 0)
    some = st.lists(st.sampled_from(brokers), unique=True, max_size=3).map(tuple)
    dirs = {b: tuple(canonical_directory(b, j) for j in range(draw(st.integers(0, 3)))) for b in brokers}
    registrations = {b: _registration(draw, b, dirs[b]) for b in brokers}
    replicas = draw(some.filter(bool))
    within = st.lists(st.sampled_from(replicas), unique=True).map(tuple)
    places = tuple(draw(st.sampled_from((*RESERVED, *dirs[b], canonical_directory(b, 3)))) for b in replicas)
    lost = draw(st.integers(0, 3)) == 0
    isr, elr = ((), ()) if lost else (draw(within), draw(within | some))
    last_known = () if lost else draw(st.just(()) | st.tuples(st.sampled_from((-1, *replicas))))
    p = Partition(
        IdList(replicas), DirectoryList(replicas, places), IdList(isr), IdList(tuple(b for b in elr if b not in isr)),
        IdList(last_known), IdList(draw(st.just(()) | within)), IdList(draw(st.just(()) | within)),
        draw(st.sampled_from((-1, *isr, *(() if lost else replicas)))), draw(st.booleans()), EPOCH, EPOCH,
    )  # fmt: skip
    features = Features(elr_enabled=elr_enabled)
    context = Context(draw(st.integers(1, len(replicas))), draw(st.booleans()))
    directory = draw(st.sampled_from([*chain(*dirs.values())] or [canonical_directory(brokers[0], 0)]))
    return World(p, context, registrations, features, draw(st.sampled_from(RULES)), other, draw(within), directory)


def _registration(draw: st.DrawFn, broker: int, dirs: tuple[int, ...]) -> Registration | None:
    if draw(st.integers(0, 9)) == 0:
        return None
    return Registration(broker, EPOCH, "", fenced=draw(st.booleans()), in_controlled_shutdown=draw(st.booleans()),
                        dirs=dirs, no_dir_left=not dirs and draw(st.booleans()))  # fmt: skip


BROKER_IDS = st.integers(0, 12) | st.integers(13, 60) | st.sampled_from((64, 128, 1 << 16, (1 << 31) - 1))


@st.composite
def other_names(draw: st.DrawFn, elr_enabled: bool) -> Renaming:
    """The ids that the names of a shape stand for, far and near; directories with either half negative for Kafka."""
    ids = tuple(sorted(draw(st.sets(BROKER_IDS, min_size=BROKERS, max_size=BROKERS))))
    names = numbers_of(ids, elr_enabled) or ()
    halves = st.sampled_from([1, 2, 3, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
    wide = st.tuples(halves, halves | st.just(0)).map(lambda pair: (pair[0] << 64) + pair[1])
    drawn = draw(st.lists(wide, unique=True, min_size=4 * BROKERS, max_size=4 * BROKERS))
    owned = {canonical_directory(name, j): d for b, name in enumerate(names)
             for j, d in enumerate(sorted(drawn[4 * b : 4 * b + 4], key=directory_order))}  # fmt: skip
    return Renaming({-1: -1, **dict(zip(names, ids, strict=True))}, {**{d: d for d in RESERVED}, **owned})


def written(world: World) -> list[tuple[Any, ...]]:
    """What the events that the world admits write for its partition."""
    c, rules, records_written = world.shape().state(world.base(), {}).controller, world.rules, []
    place, p = ((TOPIC, 0),), world.partition
    members = tuple((b, UNCHECKED) for b in dict.fromkeys((int(p.leader), *world.isr)))
    request = AlterPartitionRequest(int(p.leader), EPOCH, (Proposal(TOPIC, 0, EPOCH, EPOCH, members),))
    mine = (Assignment(world.directory, TOPIC, 0),)
    makes: list[Callable[[], Sequence[Any]]] = [
        lambda: elect_leaders(c, PREFERRED, place, rules).records,
        lambda: elect_leaders(c, UNCLEAN, place, rules).records,
        lambda: alter_partition(c, request, rules).records,
        *[lambda b=b: assign_replicas_to_dirs(c, b, EPOCH, mine, rules).records for b in world.registrations],  # type: ignore[misc]
    ]
    for broker in world.registrations:
        makes += _of_broker(world, broker)
    for make in makes:
        try:
            records_written.append(tuple(make()))
        except (RequestError, Resignation, DirectoryMismatch):
            continue
    return [records for records in records_written if records]


def _of_broker(world: World, broker: int) -> list[Callable[[], Sequence[Any]]]:
    c, rules = world.shape().state(world.base(), {broker: world.registrations[broker]}).controller, world.rules
    registration = world.registrations[broker]
    dirs = () if registration is None else registration.dirs
    again = RegistrationRequest(None, broker, "another", (), (Feature("metadata.version", 1, 27),), None,
                                dirs or (canonical_directory(broker, 0),), False, EPOCH)  # fmt: skip
    context = RegistrationContext(LEVELS)
    return [
        lambda: fenced(c, broker, rules),
        lambda: unfenced(c, broker, rules),
        lambda: leaving(c, broker, rules),
        lambda: unregister(c, broker, rules).records,
        lambda: directories_failed(c, broker, dirs[:1], rules),
        lambda: register_broker(c, again, context, rules).records,
        lambda: register_broker(c, evolve(again, previous_epoch=None), context, rules).records,
        lambda: register_broker(c, evolve(again, incarnation="", dirs=dirs[1:]), context, rules).records,
    ]


def renamed_answer(answer: QueryResult | None, other: Renaming) -> QueryResult | None:
    """An answer with the other names."""
    return None if answer is None else QueryResult(
        other.partition(answer.end), other.registrations(answer.registrations), answer.count, other.words(answer.words),
        answer.action, tuple(evolve(v, parts=tuple(with_broker(p, other.brokers.__getitem__) for p in v.parts))
                             for v in answer.violations),
    )  # fmt: skip


def commutes(world: World, counts: Counter[str]) -> None:
    """Every event of a world has the same result with both names."""
    base, shape, renamed, other, rules = world.base(), world.shape(), world.rename(), world.other, world.rules
    for records in written(world):
        changes = [r for r in records if isinstance(r, PartitionChangeRecord)]
        rest = [r for r in records if not isinstance(r, PartitionChangeRecord)]
        for change in changes:
            answer = query_change(base, shape, change, rules)
            assert query_change(base, renamed, other.change(change), rules) == renamed_answer(answer, other)
            _note(counts, answer)
        if len(rest) == 1 and len(changes) < 2:
            state = shape.state(base, {rest[0].broker_id: world.registrations[rest[0].broker_id]})
            for event in broker_events(state, rest[0], bool(changes) and records[0] is changes[0], rules):
                for change in {None, *changes}:
                    answer = query_event(base, shape, event, change, rules)
                    twin = None if change is None else other.change(change)
                    assert query_event(base, renamed, event.rename(other), twin, rules) == renamed_answer(answer, other)
                    _note(counts, answer)
    for broker in shape.registrations:
        going = query_shutdown(base, shape, broker, rules)
        assert going == query_shutdown(base, renamed, other.brokers[broker], rules)


def _note(counts: Counter[str], answer: QueryResult | None) -> None:
    counts["none" if answer is None else answer.action] += 1
    if answer is not None:
        counts["violated"] += bool(answer.violations)
        counts["broker in a part"] += any("broker" in part for v in answer.violations for part in v.parts)


def test_other_names_change_no_answer() -> None:
    """Asked with other ids in the same order, and other directories in theirs, the answer is the same but for names."""
    seen: Counter[str] = Counter()

    @given(worlds())
    def check(world: World) -> None:
        commutes(world, seen)

    check()
    kinds = {"fence", "unfence", "controlled_shutdown", "unregister", "directories_offline", "new_incarnation",
              "alter_partition", "elect_preferred", "elect_unclean", "assign", "", "none", "violated"}  # fmt: skip
    assert {name for name in kinds if seen[name] < 5} == set(), seen


@pytest.fixture
def queried_shapes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The shapes in which the slow code is asked, one for each question."""
    shapes: list[Any] = []
    for name in ("query_change", "query_event"):
        real = getattr(steps, name)

        def ask(base: State, shape: Shape, *rest: Any, real: Any = real) -> QueryResult | None:
            shapes.append(shape)
            answer: QueryResult | None = real(base, shape, *rest)
            return answer

        monkeypatch.setattr(steps, name, ask)
    return shapes


def synthetic(folder: Path, seed: int) -> list[Batch]:
    """A log of five brokers with three replicas a partition."""
    size = SyntheticSize(brokers=5, topics=3, partitions=4, records=500, seed=seed)
    (folder / f"{0:020}.log").write_bytes(b"".join(SyntheticLog(size).batches()))
    return list(read(find((folder,))[0], SkipCount(0)))


def compare_batches(
    log: Sequence[Batch], plain: Sequence[ReplayedBatch], step: int, replay: MemoisedReplay
) -> Counter[bool]:
    """Every `step`-th change of one field has its plain explanation from the memo; the counts, by whether it fails.

    Args:
        log: the batches of a log.
        plain: the plain replay of each of its batches.
        step: 0 takes the batches as they are.
        replay: the memoised replay; it keeps its memo.
    """
    counted: Counter[bool] = Counter()
    for number, (before, good) in enumerate(pairwise(plain), 1):
        if good.explanation is None:
            continue
        cases = [log[number]] if step == 0 else [
            with_data(log[number], index, data)
            for index, entry in enumerate(log[number].entries) for _, data in corrupted(entry)
        ][number % step :: step]  # fmt: skip
        for batch in cases:
            try:
                explanation = explain(before.state, batch, good.rules)
            except EntryError:
                continue
            replay.restart_at(before.state)
            (memoised,) = replay.replay([compact(batch)])
            violations = tuple(violations_of(explanation, good.rules))
            expected = ReplayedBatch(batch, explanation, violations, explanation.after, good.rules)
            assert verdict(memoised) == verdict(expected)
            assert replay.state.controller.image.topics == explanation.after.controller.image.topics
            counted[not explanation.explained] += 1
    return counted


@pytest.mark.parametrize("folder", [ELR, TROUBLE], ids=lambda folder: folder.name)
def test_a_log_with_other_ids_teaches_nothing_new(folder: Path, queried_shapes: list[Any]) -> None:
    """What one log taught is known of the same log with other broker ids, and right there too."""
    replay, last = MemoisedReplay(rules_of), replayed(folder)[-1].state
    start = next(n for n, batch in enumerate(replayed(folder)) if batch.state.levels == last.levels)
    compare_batches(batches(folder)[start:], replayed(folder)[start:], 0, replay)
    first, other = len(queried_shapes), rename_brokers(batches(folder))
    plain = list(replay_log(other, rules_of))
    assert compare_batches(other[start:], plain[start:], 0, replay)[False] > 50
    # Not none: events also visit partitions that named the id in the first log, or that the ELR index lists for it.
    assert len(queried_shapes) - first < first / 10 > 5


@pytest.mark.parametrize("seed", [0, 1])
def test_corrupted_logs_of_more_brokers_fail_alike(tmp_path: Path, seed: int) -> None:
    """Where partitions with different brokers share a memo, a changed field gets the verdict of the plain replay."""
    log = synthetic(tmp_path, seed)
    plain = list(replay_log(log, rules_of))
    counted = compare_batches(log, plain, 17, MemoisedReplay(rules_of))
    assert counted[True] > 50
    assert counted[False] > 0


def backwards(*arguments: Any) -> ShapeNames:
    """Names in the wrong order: the last broker is called 0."""
    names = names_of(*arguments)
    return ShapeNames(names.brokers[::-1], names.directories[::-1], names.renamed)


class _Forgetful(ShapeNames):
    """Names that forget which of a broker's directories is meant."""

    @property
    def to_shape(self) -> Renaming:
        first = {d: canonical_directory(k, 0) for k, own in enumerate(self.directories) for d in own}
        right = ShapeNames(self.brokers, self.directories, True).to_shape
        return evolve(right, directories={**{d: d for d in RESERVED}, **first})


def with_one_directory(*arguments: Any) -> ShapeNames:
    """Names with one directory a broker."""
    names = names_of(*arguments)
    return _Forgetful(names.brokers, names.directories, True) if names.renamed else names


@pytest.mark.parametrize("false_names", [backwards, with_one_directory])
def test_wrong_names_show_in_a_log(false_names: Callable[..., ShapeNames], monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that are not in order, or forget directories, change a verdict, or how many batches the memo explains."""
    log, plain = [compact(batch) for batch in batches(ELR)], [verdict(batch) for batch in replayed(ELR)]
    right, other = MemoisedReplay(rules_of), MemoisedReplay(rules_of)
    assert [verdict(batch) for batch in right.replay(log)] == plain
    for module in (ledger, steps):
        monkeypatch.setattr(module, "names_of", false_names)
    verdicts = [verdict(batch) for batch in other.replay(log)]
    assert (verdicts, other.memo_hits) != (plain, right.memo_hits)


def test_names_out_of_order_change_answers() -> None:
    """Where a greater id gets the lesser name, some answer is another: the order of brokers seen."""
    seen: Counter[str] = Counter()

    @given(worlds())
    def check(world: World) -> None:
        ids = {-1: -1, **dict(zip(world.registrations, reversed(world.registrations), strict=True))}
        try:
            commutes(evolve(world, other=evolve(world.other, brokers=ids)), Counter())
        except AssertionError:
            seen["another"] += 1

    check()
    assert seen["another"] > 0


def some_partition() -> Partition:
    """A partition of a captured log."""
    topic, *_ = replayed(ELR)[-1].state.controller.image.topics.values()
    return topic.partitions[0]


def test_forms_tell_all_that_answers_depend_on() -> None:
    """Each field of a change, and of a plain registration, makes a form of its own; ids that make no sense stay."""
    p = some_partition()
    names = names_of(p, [(b, None) for b in brokers_of(p)])
    empty, filled = no_change(p), {f.name: present(getattr(p, f.name)) for f in fields(PartitionChange)}
    forms = [names.to_shape.form_of_change(evolve(empty, **{name: value})) for name, value in filled.items()]
    assert len({names.to_shape.form_of_change(empty), *forms}) == len(filled) + 1 == 10
    registration = plain_registration(Registration(1, 5, "x", dirs=(300,)))
    same = Renaming({0: 0, 1: 1}, {300: 300, 301: 301})
    assert registration is not None
    other_fields = {"id": 0, "fenced": True, "in_controlled_shutdown": True, "is_migrating_zk_broker": True,
              "dirs": (301,), "no_dir_left": True}  # fmt: skip
    other_forms = {same.form_of_registration(evolve(registration, **{k: v})) for k, v in other_fields.items()}
    assert len({same.form_of_registration(registration), *other_forms}) == len(other_fields) + 1
    other_names = {f.name for f in fields(Registration)} - other_fields.keys()
    copied = {name: getattr(registration, name) for name in other_names}
    assert registration == evolve(Registration(1, EPOCH, "", dirs=(300,)), **copied)
    assert other_names == {"epoch", "incarnation", "listeners", "features", "rack", "cordoned"}


@pytest.mark.parametrize(
    ("replicas", "dirs", "directories_by_broker"),
    [
        ((0, 1), (300, 301), {0: (), 1: (300,)}),
        ((0, 1), (300, 301), {0: (99,), 1: ()}),
        ((0, 1), (300,), {0: (), 1: ()}),
        ((0, 0), (300, 301), {0: ()}),
        ((0, -1), (300, 301), {0: ()}),
        ((0, 1), (300, 301), {-2: (), 0: (), 1: ()}),
    ],
    ids=["two owners", "reserved", "too few", "twice", "no broker", "below none"],
)
def test_ids_that_make_no_sense_are_not_renamed(
    replicas: tuple[int, ...], dirs: tuple[int, ...], directories_by_broker: dict[int, tuple[int, ...]]
) -> None:
    """A directory of two brokers, a reserved one, odd lists and ids below -1 stay as they are."""
    p = evolve(some_partition(), replicas=IdList(replicas), directories=DirectoryList(replicas, dirs))
    names = names_of(p, [(b, Registration(b, 1, "", dirs=listed)) for b, listed in directories_by_broker.items()])
    assert not names.renamed
    assert names.to_shape.partition(p) == names.to_ids.partition(p) == p
