"""What a term is said to read and to change is what decides its value, on random graphs, and no more on masks."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.search.orders import ALL, BitReader, Bits
from tests.shared.explored import values_of
from tests.solvers.machine_code.test_lower import VARIABLES, graphs, random_rows

WANTED = (ALL, 1, 2, 5, 1 << 61, ~1)


def alike(graph: Graph, row: Sequence[int], other: Sequence[int], read: Bits) -> list[int]:
    """The second row with the bits that are read taken from the first, where that is in the interval."""
    made = []
    variables = {term.value: term for term in graph.nodes if term.op == "var"}
    for place, (own, its) in enumerate(zip(row, other, strict=True)):
        bits, term = read.get(variables[place].index, 0), variables[place]
        mixed = own if term.is_truth and bits else (own & bits) | (its & ~bits)
        made.append(mixed if term.lo <= mixed <= term.hi else own)
    return made


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_bits_that_are_not_read_decide_nothing(data: st.DataObject) -> None:
    """Two rows that agree on the bits that are read give the same wanted bits, for every node of a random graph."""
    graph, terms = data.draw(graphs())
    rows, bits, reader = random_rows(data.draw, 4), data.draw(st.sampled_from(WANTED)), BitReader()  # type: ignore[arg-type]
    for term in terms[-8:]:
        wanted = ALL if term.is_truth else bits
        read = reader.read([(term, wanted)])
        for row, other in itertools.pairwise(rows):
            here, there = values_of(graph, row), values_of(graph, alike(graph, row, other, read))
            assert here[term.index] & wanted == there[term.index] & wanted, term.described()


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_bits_that_are_not_changed_stay(data: st.DataObject) -> None:
    """Every node of a random graph, taken as the next value of a variable, has its bits where none may change."""
    graph, terms = data.draw(graphs())
    rows, reader = random_rows(data.draw, 3), BitReader()  # type: ignore[arg-type]
    variables = [term for term in graph.nodes if term.op == "var"]
    values = [values_of(graph, row) for row in rows]
    for before in variables:
        for after in (term for term in terms[-12:] if term.is_truth == before.is_truth):
            kept = ~reader.changed(before, after)
            for known in values:
                assert known[before.index] & kept == known[after.index] & kept, (before.described(), after.described())


def eight_processes() -> Term:
    """A mask of eight processes."""
    return Graph().variable("mask", 0, 255)


@pytest.fixture
def mask() -> Term:
    """A mask of eight processes, new for each test."""
    return eight_processes()


def lifted(mask: Term, op: str, *others: int) -> Term:
    """An operator applied to a mask and constants."""
    return mask.graph.lift(mask.graph.apply(op, mask, *(mask.graph.constant(one) for one in others)))


def test_a_member_reads_one_bit_of_a_mask(mask: Term) -> None:
    """Asking for process 3 reads bit 3, and a mask that is cut to some processes reads theirs."""
    reader = BitReader()
    assert reader.read([(lifted(mask, "member", 3), ALL)]) == {mask.index: 8}
    cut = lifted(mask, "band", 6)
    assert reader.read([(mask.graph.lift(cut == 0), ALL)]) == {mask.index: 6}
    assert reader.read([(lifted(mask, "count"), ALL)]) == {mask.index: ALL}


def test_adding_and_removing_a_process_changes_one_bit_and_reads_none(mask: Term) -> None:
    """Neither `bor` nor `bclear` with a constant bit reads the mask; cutting it changes what it drops."""
    reader = BitReader()
    for op, bits in (("bor", 4), ("bclear", 4)):
        after = lifted(mask, op, 4)
        changed = reader.changed(mask, after)
        assert changed == bits
        assert reader.read([(after, changed)]) == {}
    assert reader.changed(mask, lifted(mask, "band", 0xF3)) == 0x0C
    assert reader.changed(mask, mask) == 0
    assert reader.changed(mask, mask.graph.constant(5)) & 255 == 255


def test_the_rows_of_these_tests_differ() -> None:
    """A row that takes over what is read has other bits where nothing is: the first test compares different states."""
    graph = Graph()
    for place, (lo, hi) in enumerate(VARIABLES):
        graph.variable(f"w{place}", lo, hi)
    row, other = [0, 1, 8, 0, 0, 0, 5, 0], [0, 6, 7, 0, 0, 0, 5, 0]
    assert alike(graph, row, other, {1: 1, 2: 8}) == [0, 7, 15, 0, 0, 0, 5, 0]
