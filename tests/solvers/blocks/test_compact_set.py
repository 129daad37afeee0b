"""The compact set against a Python set: what it holds without a copy of any state is exactly what was added."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.system import System
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.blocks.tasks import BlockKernel, Words
from kraftcheck.solvers.blocks.visited import LINE, PADDING, TAG_BITS, CompactBucket, OutOfMemoryError
from kraftcheck.solvers.machine_code.objectcode import ObjectCache
from kraftcheck.solvers.program.trace import trace
from tests import toys
from tests.shared.edges import grid
from tests.solvers.blocks.test_block_edges import BUCKET_BITS, ODD, of_hash, unshifted

ONE_WORD, TWO_WORDS = toys.CLOCK, grid(x_first=False)
BUCKET = 5
SYSTEMS = pytest.mark.parametrize("system", [ONE_WORD, TWO_WORDS], ids=["one word", "two words"])

_KERNELS: dict[str, BlockKernel] = {}  # the functions of each system, for the test that asks a hundred times


def kernel_of(system: System) -> BlockKernel:
    """The functions on blocks of a system with eight buckets."""
    return BlockKernel(block_spec(trace(system, system.setting()), BUCKET_BITS, ObjectCache(None)))


def state_of(kernel: BlockKernel, quotient: int, other: int) -> tuple[int, ...]:
    """The state of the bucket whose hash ends in this quotient; with two words, the one with this second word."""
    whole = of_hash(BUCKET << 64 - BUCKET_BITS | quotient)
    if not kernel.spec.other_bytes:
        return (whole,)
    mixed = unshifted(whole ^ other, 32)
    return (mixed * pow(ODD[0], -1, 1 << 64) & (1 << 64) - 1, other)


def records(states: list[tuple[int, ...]]) -> Words:
    """Records of states, marked with their places."""
    return np.array([(*state, number) for number, state in enumerate(states)], dtype=np.uint64)


QUOTIENTS = st.integers(0, (1 << 64 - BUCKET_BITS) - 1) | st.integers(0, 40) | st.sampled_from([1 << 52, 1 << 44])


@SYSTEMS
@settings(max_examples=30, deadline=None)
@given(blocks=st.lists(st.lists(st.tuples(QUOTIENTS, st.integers(0, 7)), max_size=400), max_size=4))
def test_a_set_holds_what_was_added(system: System, blocks: list[list[tuple[int, int]]]) -> None:
    """Of each block those states are new, in order and with their marks, that a Python set did not have."""
    kernel = _KERNELS[system.name] if system.name in _KERNELS else kernel_of(system)
    _KERNELS[system.name] = kernel
    compact, reference = CompactBucket(kernel, 1 << 30), set[tuple[int, ...]]()
    for block in blocks:
        states = [state_of(kernel, quotient, other) for quotient, other in block]
        new = [(*state, at) for at, state in enumerate(states) if state not in reference and state not in states[:at]]
        if states:
            assert [tuple(row) for row in compact.admit(records(states)).tolist()] == new
        reference.update(states)
        assert compact.count == len(reference)


@SYSTEMS
def test_full_lines_run_over(system: System) -> None:
    """Neighbouring lines with more states than they hold, alike but for their line, keep each of them once."""
    kernel = kernel_of(system)
    compact = CompactBucket(kernel, 1 << 30)
    lines = [(line << 57 | rest, rest % 8) for line in (3, 4, 5) for rest in range(LINE + 4)]
    states = [state_of(kernel, quotient, other) for quotient, other in lines]
    size = compact.bytes_in_use
    for new in (len(states), 0):
        assert len(compact.admit(records(states))) == new
        assert compact.count == len(states)
    assert compact.bytes_in_use == size
    further = [state_of(kernel, number << 50 | 1 << 30, 1) for number in range(1, 1 << 10)]
    assert len(compact.admit(records(further))) == len(further)
    assert compact.bytes_in_use > 4 * size
    assert len(compact.admit(records(states))) == 0


@SYSTEMS
@pytest.mark.parametrize("apart", [43, 48], ids=["one line", "far apart"])
def test_states_of_one_place_stay_apart(system: System, apart: int) -> None:
    """More states than all lines of one place hold are each held once, and found again after the table grew."""
    kernel = kernel_of(system)
    compact = CompactBucket(kernel, 1 << 30)
    size, alike = compact.bytes_in_use, 8 if kernel.spec.other_bytes else 1
    numbers = range(LINE * (1 << TAG_BITS[-1]) + 5)
    states = [state_of(kernel, number // alike << apart, number % alike) for number in numbers]
    for new in (len(states), 0):
        assert len(compact.admit(records(states))) == new
        assert compact.count == len(states)
    absent = [state_of(kernel, number << apart | 1 << 20, number % 8) for number in numbers]
    assert len(compact.admit(records(absent))) == len(absent)
    assert compact.bytes_in_use > size


@SYSTEMS
def test_a_set_keeps_its_states_while_it_grows(system: System) -> None:
    """Forty thousand states, added in blocks, are all there and no other; an entry is less than a state."""
    kernel = kernel_of(system)
    compact = CompactBucket(kernel, 1 << 30)
    drawn = np.random.default_rng(7).integers(0, 1 << 61, size=40_000).tolist()
    states = records([state_of(kernel, quotient, quotient % 8) for quotient in dict.fromkeys(drawn)])
    for at in range(0, len(states), 3_001):
        assert len(compact.admit(states[at : at + 3_001])) == len(states[at : at + 3_001])
    assert len(compact.admit(np.ascontiguousarray(states[:, :-1]))) == 0
    assert compact.count == len(states)
    assert compact.bytes_in_use / compact.count < 8 * kernel.spec.words / 0.4


@SYSTEMS
def test_a_large_set_grows_by_small_steps(system: System) -> None:
    """A table that is much of its budget grows by a quarter at most, and loses nothing."""
    kernel, budget = kernel_of(system), 600_000
    compact, sizes = CompactBucket(kernel, budget), [0]
    room = int(0.95 * 0.8 / 1.25 * budget / (8 * kernel.spec.words))
    drawn = np.random.default_rng(11).integers(0, 1 << 61, size=room).tolist()
    states = records([state_of(kernel, quotient, quotient % 8) for quotient in dict.fromkeys(drawn)])
    for at in range(0, len(states), 500):
        assert len(compact.admit(states[at : at + 500])) == len(states[at : at + 500])
        if compact.bytes_in_use != sizes[-1]:
            sizes.append(compact.bytes_in_use)
            assert len(compact.admit(states[: at + 500])) == 0
    large = [size for size in sizes if size > budget / 8]
    assert len(large) >= 6
    assert all(after <= 1.26 * before for before, after in itertools.pairwise(large))
    assert compact.bytes_in_use <= budget


def test_a_set_whose_tags_are_wide_is_full_at_its_end() -> None:
    """Where an entry has bits to spare, nine tenths of the last table are states when memory ends."""
    kernel = kernel_of(ONE_WORD)
    compact = CompactBucket(kernel, 600_000)
    drawn = np.random.default_rng(13).integers(0, 1 << 61, size=100_000).tolist()
    with pytest.raises(OutOfMemoryError):
        compact.admit(records([state_of(kernel, quotient, 0) for quotient in dict.fromkeys(drawn)]))
    entry = 7
    assert 0.89 < compact.count * entry / compact.bytes_in_use < 0.91


def test_no_table_is_taken_that_a_larger_one_beats() -> None:
    """Entries are a byte shorter from so many lines on: a table with fewer lines that takes more bytes is skipped."""
    kernel = kernel_of(ONE_WORD)
    compact, sizes = CompactBucket(kernel, 150_000), [0]
    drawn = dict.fromkeys(np.random.default_rng(17).integers(0, 1 << 61, size=14_500).tolist())
    states = records([state_of(kernel, quotient, 0) for quotient in drawn])
    for at in range(0, len(states), 100):
        compact.admit(states[at : at + 100])
        if compact.bytes_in_use != sizes[-1]:
            sizes.append(compact.bytes_in_use)
    forms = ((13 << 6, 8), (8 << 7, 7), (9 << 7, 7))
    assert sizes[-3:] == [LINE * lines * entry + PADDING for lines, entry in forms]
    assert compact.count == len(states)


def test_a_set_with_room_need_not_grow() -> None:
    """A set with room for its states keeps its table, unless the budget has no room for that."""
    kernel = kernel_of(ONE_WORD)
    drawn = dict.fromkeys(np.random.default_rng(19).integers(0, 1 << 61, size=9_000).tolist())
    states = records([state_of(kernel, quotient, 0) for quotient in drawn])
    compact = CompactBucket(kernel, 1 << 20, len(states))
    size = compact.bytes_in_use
    assert len(compact.admit(states)) == len(states)
    assert compact.bytes_in_use == size
    assert 10_000 < CompactBucket(kernel, 20_000, len(states)).bytes_in_use <= 20_000


def test_a_set_does_not_outgrow_its_budget() -> None:
    """A set that may not grow says so, and holds what it took by then."""
    kernel = kernel_of(ONE_WORD)
    compact = CompactBucket(kernel, 4_000)
    with pytest.raises(OutOfMemoryError):
        compact.admit(records([state_of(kernel, number << 40, 0) for number in range(10_000)]))
    assert 100 < compact.count < 10_000
    assert compact.bytes_in_use <= 4_000
