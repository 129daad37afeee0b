"""Strategies: legal values are within their domains, boundary ones at the ends, illegal ones outside in one place."""

from functools import cache, reduce
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.layout import Flag, Range, leaves
from kraftcheck.model.language.system import Action
from kraftcheck.model.records.codecs import decode, encode
from kraftcheck.model.records.fields import INT32, FormError
from kraftcheck.model.records.records import PartitionRecord
from kraftcheck.model.records.replay import ClusterImage, ReplayError, replay
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.hypothesis.strategies import SORTS, arguments, moves, reachable, states, values
from kraftcheck.solvers.reference.interpreter import Integers
from tests.solvers.hypothesis.record_strategies import KINDS, batches, illegal_documents, records, records_of
from tests.toys import CLOCK, COUNTER

ANY = settings(phases=[Phase.generate], max_examples=2000)  # for examples that need not be small

EVERY = pytest.mark.parametrize("name", SYSTEMS)


@cache
def engine(name: str) -> Integers:
    """A shipped system at its first scope, mended."""
    system = SYSTEMS[name]
    return Integers(system, system.setting(rules=parse("fixed") if system.rules else None))


def strays(shape: Any, state: Any) -> int:
    """How many leaves are outside their domains."""
    pairs = zip(leaves(shape), leaves(state), strict=True)
    return sum(not domain.lo <= leaf <= domain.hi for (_, domain), (_, leaf) in pairs)


@EVERY
@settings(max_examples=25)
@given(data=st.data())
def test_states_are_of_their_sort(name: str, data: st.DataObject) -> None:
    """Legal and boundary states fit the layout; illegal ones have one leaf outside its domain."""
    shape = SYSTEMS[name].layout(engine(name).setting)
    sort = data.draw(st.sampled_from(SORTS))
    state = data.draw(states(shape, sort))
    assert strays(shape, state) == (sort == "illegal")
    assert type(state) is type(shape)
    if sort == "boundary":
        pairs = zip(leaves(shape), leaves(state), strict=True)
        assert all(min(leaf - domain.lo, domain.hi - leaf) <= 1 for (_, domain), (_, leaf) in pairs)


@EVERY
@settings(max_examples=25)
@given(data=st.data())
def test_arguments_are_of_their_sort(name: str, data: st.DataObject) -> None:
    """Legal and boundary arguments are an instance of the action; illegal ones are none."""
    run = engine(name)
    sort = data.draw(st.sampled_from(SORTS))
    action = data.draw(st.sampled_from([a for a in run.actions if a.parameters or sort != "illegal"]))
    chosen = data.draw(arguments(action, sort))
    assert (run.move_of(action.name, chosen) is None) == (sort == "illegal")
    if sort == "boundary":
        assert all(chosen[name] in (table[0], table[-1]) for name, table in action.parameters.items())


@EVERY
@settings(max_examples=25)
@given(data=st.data())
def test_reachable_states_are_reached(name: str, data: st.DataObject) -> None:
    """What a random run reaches is in its domains, and a drawn move is enabled there."""
    run = engine(name)
    state = data.draw(reachable(run, steps=4))
    assert run.field_outside(state) is None
    move = data.draw(moves(run, state))
    if move is None:
        assert all(run.first_enabled(state, kind, 0) is None for kind in range(len(run.actions)))
        return
    assert run.is_enabled(state, move)
    assert run.move_of(run.actions[move.action].name, run.arguments(move)) == move


def test_reachable_goes_the_whole_way() -> None:
    """Some drawn run of the counter goes from 0 to 5 and arms, by steps of 1 and 2."""
    run = Integers(COUNTER, COUNTER.setting())
    assert find(reachable(run, steps=8), lambda state: state.armed, settings=ANY).count == 5


@pytest.mark.parametrize("domain", [Range(3, 9), Range(-1, -1), Flag()])
def test_sorts_of_values_differ(domain: Any) -> None:
    """Every legal value can be drawn, the ends are boundary values, and the values beside the ends are illegal."""
    for value in range(domain.lo, domain.hi + 1):
        assert find(values(domain), lambda drawn, wanted=value: drawn == wanted, settings=ANY) == value
    for end in (domain.lo, domain.hi):
        assert find(values(domain, "boundary"), lambda drawn, wanted=end: drawn == wanted, settings=ANY) == end
    assert find(values(domain, "illegal"), lambda drawn: drawn == domain.hi + 1, settings=ANY) == domain.hi + 1


def test_what_cannot_be_drawn_is_refused() -> None:
    """There is no other sort of value, and no illegal argument for an action without arguments."""
    with pytest.raises(ValueError, match="'odd' is none of legal, boundary, illegal"):
        values(Range(0, 1), "odd")
    tick: Action = Integers(CLOCK, CLOCK.setting()).actions[0]
    with pytest.raises(ValueError, match="takes no arguments"):
        find(arguments(tick, "illegal"), lambda _: True, settings=ANY)


@given(records() | records(boundary=True))
def test_records_can_be_written(record: Any) -> None:
    """Every drawn record has a document in the form of the code, which reads back as the record."""
    assert decode(encode(record)) == record


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_record_is_drawn(kind: type) -> None:
    """Each kind is among the records, and its boundary values are at the end of what fits."""
    assert isinstance(find(records(), lambda record: type(record) is kind, settings=ANY), kind)
    assert isinstance(find(records_of(kind, boundary=True), lambda _: True, settings=ANY), kind)


def test_boundary_records_reach_the_ends() -> None:
    """The largest broker id that fits 32 bits is drawn."""
    edge = records_of(PartitionRecord, boundary=True)
    assert find(edge, lambda record: record.leader == INT32[1], settings=ANY).leader == INT32[1]


@given(illegal_documents())
def test_illegal_documents_are_refused(drawn: tuple[dict[str, Any], str]) -> None:
    """The codec refuses a document that differs from a legal one in one place, and names the key."""
    document, key = drawn
    with pytest.raises(FormError, match=key.replace(".", r"\.")):
        decode(document)


@pytest.mark.slow
def test_batches_replay() -> None:
    """A batch of three records is drawn that replays, and leaves a registered broker."""

    def rich(batch: list[Any]) -> bool:
        try:
            image = reduce(replay, batch, ClusterImage())
        except ReplayError:
            return False
        return len(batch) >= 3 and bool(image.registrations)

    assert rich(find(batches(), rich, settings=ANY))
