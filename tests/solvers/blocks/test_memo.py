"""The memo of successors: what it may drop, and that it drops nothing else."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from kraftcheck.solvers.blocks.expansion import WAYS, Descent, SuccessorMemo
from kraftcheck.solvers.blocks.tasks import BlockKernel
from kraftcheck.solvers.machine_code.objectcode import address
from tests import toys
from tests.shared.edges import grid
from tests.solvers.blocks.test_block_edges import BITS, of_hash, records, second_of_hash, spec_of

State = tuple[int, ...]


def level(number: int, run: str = "run") -> Descent:
    """The descent of a level of a run."""
    return Descent(f"{run} {number}", f"{run} {number - 1}")


def recalled(kernel: BlockKernel, memo: SuccessorMemo, states: Sequence[tuple[State, int]]) -> list[State]:
    """The states, each with its hash, that the memo does not drop."""
    block = records([state for state, _ in states])
    hashes = np.array([hashed for _, hashed in states], dtype=np.uint64)
    out = np.zeros((len(block) + 1, block.shape[1]), dtype=np.uint64)
    arrays = (address(memo.control), address(block), address(hashes), len(block), address(out))
    kept = out[: kernel.recall(*arrays)].tolist()
    assert all(tuple(row[:-1]) == states[row[-1]][0] for row in kept)
    assert [row[-1] for row in kept] == sorted(row[-1] for row in kept)
    return [tuple(row[:-1]) for row in kept]


@pytest.mark.parametrize("words", [1, 2])
@pytest.mark.parametrize("slots", [8 * WAYS, 1 << 12])
def test_only_what_is_committed_or_was_given_is_dropped(slots: int, words: int) -> None:
    """A state is dropped only if this expansion gave it, or one of a level before; a large memo drops all of them."""
    kernel = BlockKernel(spec_of(toys.CLOCK if words == 1 else grid(x_first=False)))
    memo, drawn = SuccessorMemo(words, slots), random.Random(words + slots)
    hashes = [drawn.getrandbits(64) for _ in range(200)]
    heads = [drawn.randrange(3) for _ in hashes]
    states = [
        ((of_hash(h),) if words == 1 else (x, second_of_hash(x, h)), h) for h, x in zip(hashes, heads, strict=True)
    ]
    committed, given, number, dropped, stamps = set[State](), set[State](), 0, 0, 0
    for _ in range(120):
        stamps += 1
        if stamps == slots // WAYS:  # more stamps than it has
            committed, given, stamps = set(), set(), 1
        if drawn.random() < 0.4:
            number, committed, given = number + 1, committed | given, set()
        memo.begin("key", level(number))
        own, block = set[State](), drawn.choices(states, k=60)
        kept = recalled(kernel, memo, block)
        expected = list(dict.fromkeys(state for state, _ in block if state not in committed))
        assert list(dict.fromkeys(kept)) == expected if slots > 1000 else set(expected) <= set(kept)
        assert len(kept) == len(expected) or slots < 1000
        dropped += len(block) - len(kept)
        given |= own | set(kept)
    assert dropped > 500


def test_states_whose_hashes_meet_stay_apart() -> None:
    """States of two words and one hash are different states, and a vacant entry is none, not even of the hash 0."""
    kernel = BlockKernel(spec_of(grid(x_first=False)))
    memo, hashed = SuccessorMemo(2, 1 << 10), 0x1234_5678_9ABC_DEF0
    alike = [((first, second_of_hash(first, hashed)), hashed) for first in range(WAYS)]
    vacant = [((0, second_of_hash(0, low)), low) for low in range(0, 1 << 10, WAYS)]
    memo.begin("key", level(0))
    assert recalled(kernel, memo, alike[:3] + vacant) == [state for state, _ in alike[:3] + vacant]
    memo.begin("key", level(1))
    assert recalled(kernel, memo, alike) == [alike[3][0]]
    empty = SuccessorMemo(2, 1 << 10)
    for number in range(3):
        empty.begin("key", level(number))
        assert recalled(kernel, empty, vacant[number : number + 1]) == [vacant[number][0]]


SEQUENCES = {
    "the next level": ([("key", level(3))], ("key", level(4)), False),
    "the same level again": ([("key", level(3))], ("key", level(3)), True),
    "the same level, after another's": ([("other", level(2)), ("key", level(3))], ("key", level(3)), True),
    "a level later": ([("key", level(3))], ("key", level(5)), True),
    "an earlier level": ([("key", level(3))], ("key", level(2)), True),
    "the next level of another run": ([("key", level(3))], ("key", level(4, "other")), True),
    "another frontier after the same": ([("key", level(3))], ("key", Descent("other", "run 2")), True),
    "another key": ([("key", level(3))], ("other", level(4)), True),
    "another key, and back": ([("key", level(3)), ("other", level(9))], ("key", level(4)), True),
    "the first level": ([("key", Descent("run 0", ""))], ("key", Descent("other 0", "")), True),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_memo_serves_its_own_next_level_alone(name: str) -> None:
    """A successor of one expansion is dropped by an expansion of the next level of the same run, and by no other."""
    before, after, is_kept = SEQUENCES[name]
    kernel, memo = BlockKernel(spec_of(toys.CLOCK)), SuccessorMemo(1, 1 << 10)
    state = ((of_hash(hashed := 0xABCD_EF01_2345_6789 & BITS),), hashed)
    for key, descent in before:
        memo.begin(key, descent)
        assert recalled(kernel, memo, [state]) == [state[0]]
    memo.begin(*after)
    assert recalled(kernel, memo, [state, state]) == [state[0]] * is_kept


def test_a_memo_without_stamps_is_emptied() -> None:
    """When stamps run out nothing is dropped that the stamps before would have dropped, and nothing wrongly."""
    kernel, memo = BlockKernel(spec_of(toys.CLOCK)), SuccessorMemo(1, 2 * WAYS)
    hashes = [number * 0x0123_4567_89AB_CDEF & BITS for number in range(1, 9)]
    block = [((of_hash(hashed),), hashed) for hashed in hashes]
    for number in range(5):
        memo.begin("key", level(number))
        assert recalled(kernel, memo, block) == [state for state, _ in block]


@pytest.mark.parametrize(("words", "size", "slots"), [(1, 1 << 20, 1 << 17), (2, 1 << 20, 1 << 16), (3, 100, 2 * WAYS)])
def test_a_memo_takes_no_more_bytes_than_it_may(words: int, size: int, slots: int) -> None:
    """The number of entries is the largest power of two that fits, but such that one stamp has room."""
    memo = SuccessorMemo.of_bytes(words, size)
    assert memo.slots == slots
    assert 8 * words * slots <= size or slots == 2 * WAYS
