"""The kernel on blocks, function by function, against plain Python."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.solvers.blocks.expansion import Expansion
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.blocks.tasks import (
    BlockKernel,
    BlockSpec,
    CandidateSet,
    Words,
    first_claims,
    load_block_kernel,
    sift,
)
from kraftcheck.solvers.machine_code.objectcode import (
    CodeTarget,
    ForeignCodeError,
    ObjectCache,
    check_target,
    host,
    portable,
)
from tests import toys
from tests.ci.spark.levels import program_of
from tests.shared.places import ROOT

PROGRAM = program_of(toys.TWO_PHASE, "3")


@pytest.fixture(scope="module")
def kernel() -> BlockKernel:
    """The toy's kernel with eight buckets."""
    return load_block_kernel(block_spec(PROGRAM, 3, ObjectCache(None)))


def records_of(rows: list[tuple[int, int]]) -> Words:
    """Records of one-word states."""
    return np.array(rows, dtype=np.uint64).reshape(-1, 2)


ROWS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 1 << 63)), max_size=300)


@settings(max_examples=60, deadline=None)
@given(blocks=st.lists(ROWS, max_size=4), visited=st.lists(st.lists(st.integers(0, 60), max_size=200), max_size=3))
def test_sift_keeps_the_first_record_of_each_new_state(
    blocks: list[list[tuple[int, int]]], visited: list[list[int]]
) -> None:
    """What is left is what Python sets and dicts leave, each state once with its first mark, sorted by bucket."""
    kernel = load_block_kernel(block_spec(PROGRAM, 3, ObjectCache(None))) if not _KERNELS else _KERNELS[0]
    _KERNELS[:] = [kernel]
    records, counts = sift(
        kernel, sum(map(len, blocks)), map(records_of, blocks),
        (np.array(states, dtype=np.uint64).reshape(-1, 1) for states in visited),
    )  # fmt: skip
    known = {state for states in visited for state in states}
    first: dict[int, int] = {}
    for block in blocks:
        for state, mark in block:
            first.setdefault(state, mark)
    assert dict(records.tolist()) == {state: mark for state, mark in first.items() if state not in known}
    assert len(records) == len({row[0] for row in records.tolist()}) == counts.sum()
    alone = [kernel.by_bucket(row.reshape(1, 2))[1].argmax() for row in records]
    assert alone == sorted(alone)


_KERNELS: list[BlockKernel] = []


def test_a_full_set_says_so(kernel: BlockKernel) -> None:
    """A set never takes more than its capacity, and never drops a record silently."""
    with pytest.raises(OverflowError, match="a set of 64 records took 64 of 100"):
        CandidateSet(kernel, 64).gather(records_of([(state, 0) for state in range(100)]))


@pytest.mark.parametrize("capacity", [1, 1000])
def test_expansion_gives_every_successor_once(kernel: BlockKernel, capacity: int) -> None:
    """Blocks hold each successor of the states but no state twice between two emptyings, marked with its parent."""
    state = np.array([PROGRAM.initial[0]], dtype=np.uint64)
    expansion = Expansion(kernel, capacity)
    blocks = [*expansion.take(state, 5 << 32), expansion.empty()]
    found = {row[0]: row[1] for records, _ in blocks for row in records.tolist()}
    from kraftcheck.solvers.machine_code.compile import load_kernel

    known = {after[0]: instance for instance, after in load_kernel(PROGRAM).successors(PROGRAM.initial[0])}
    assert {after: mark & 0xFFFF for after, mark in found.items()} == known
    assert {mark >> 16 for mark in found.values()} == {5 << 32}
    assert sum(len(records) for records, _ in blocks) == len(known)


def test_first_claims_are_the_first_rows() -> None:
    """Bits of both words of claims are found with the first row that has them; absent ones are absent."""
    bits = np.zeros((5, 2), dtype=np.uint64)
    bits[3, 0], bits[4, 0], bits[2:, 1] = 0b101, 0b110, 1 << 62
    assert first_claims(bits) == {0: 3, 1: 4, 2: 3, 63 + 62: 2}
    assert first_claims(bits[:0]) == {}


def test_code_for_another_processor_is_refused_in_one_line() -> None:
    """Another architecture or a missing extension is named; code for the oldest processor always loads."""
    here = host()
    with pytest.raises(ForeignCodeError, match=r"compiled for sparc and this worker is \w+$"):
        check_target(CodeTarget("sparc-sun-solaris", "v9", ""), here)
    wide = evolve(here, cpu="future", features=here.features + ",+avx9000")
    with pytest.raises(ForeignCodeError, match=r"for future and this worker's \S+ lacks avx9000; use --portable-code"):
        check_target(wide, here)
    check_target(portable(), here)
    spec = block_spec(PROGRAM, 3, ObjectCache(None), portable())
    assert BlockKernel(spec).spec.target == portable()
    with pytest.raises(ForeignCodeError, match="avx9000"):
        BlockKernel(evolve(spec, target=wide))


def test_workers_import_no_model(tmp_path: Path) -> None:
    """A process that loads a kernel and the modules of the tasks has imported no rule and no compiler of ours."""
    spec = block_spec(PROGRAM, 3, ObjectCache(None))
    (tmp_path / "kernel.o").write_bytes(spec.code)
    values = {name: getattr(spec, name) for name in BlockSpec.__annotations__ if name not in ("code", "target")}
    code = (
        "import sys, numpy as np, kraftcheck.ci.spark.tasks\n"
        "from pathlib import Path\n"
        "from kraftcheck.solvers.blocks.tasks import BlockSpec, load_block_kernel\n"
        "from kraftcheck.solvers.blocks.expansion import Expansion\n"
        "from kraftcheck.solvers.machine_code.objectcode import host\n"
        f"spec = BlockSpec(code=Path('kernel.o').read_bytes(), target=host(), **{values})\n"
        f"states = np.array([{PROGRAM.initial[0]}], dtype='u8')\n"
        "expansion = Expansion(load_block_kernel(spec)); blocks = [*expansion.take(states, 0)]\n"
        "assert len(expansion.empty()[0])\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('z3',)\n"
        "  or m.startswith(('kraftcheck.model', 'kraftcheck.properties', 'kraftcheck.solvers.program.trace',\n"
        "    'kraftcheck.solvers.machine_code.transition', 'kraftcheck.solvers.machine_code.lower',\n"
        "    'kraftcheck.solvers.blocks.kernel'))))"
    )
    root = str(ROOT)
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": root}, capture_output=True, text=True
    )
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")
