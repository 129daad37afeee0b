"""The graph of a property's region: its states and the steps between them, computed once from the committed levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from kraftcheck.ci.dataset.store.places import PLACE_BITS
from kraftcheck.ci.spark.exchange import Batches
from kraftcheck.ci.spark.liveness.rounds import Round, RoundLog
from kraftcheck.solvers.blocks.regions import RegionPart, RegionQuestion, region_part
from kraftcheck.solvers.blocks.tasks import BlockKernel, BlockSpec, Words, load_block_kernel

STATE, COUNT = -1, -2
"""Instead of an action instance: the row is a state of the region; or it says of how many states the property is."""

STATES_AT_ONCE = 4096

NODES = "place bigint, enabled bigint, waiting boolean, cut boolean"
EDGES = "src bigint, instance int, taken bigint, dst bigint"


@frozen
class RegionFrames:
    """The graph.

    Attributes:
        nodes: `NODES`: what each state enables, whether it has to wait for the goal, whether a step leaves the bounds.
        edges: `EDGES`: the steps within the region, and the constraints that each is a step of.
        concerned: how many states the property is about.
    """

    nodes: Round
    edges: Round
    concerned: int


def region_task(shipped: Callable[[], BlockSpec], question: RegionQuestion) -> Callable[[Batches], Batches]:
    """For states (place, words) the rows of a region: its states, their steps, and how many states are concerned."""

    def compute_region(batches: Batches) -> Batches:
        kernel = load_block_kernel(shipped())
        for places, states in state_parts(batches, kernel):
            part = region_part(kernel, question, places >> PLACE_BITS == 0, states)
            own = places[part.chosen]
            words = [part.records[:, i].view(np.int64) for i in range(kernel.spec.words)]
            steps = (np.repeat(own, part.counts), part.records[:, -1].astype(np.int32), part.taken)
            yield _rows(kernel.spec.words, *steps, words=words)
            yield _rows(kernel.spec.words, own, _same(own, STATE), part.allowed, part=part)
            one = np.zeros(1, dtype=np.int64)
            yield _rows(kernel.spec.words, one, _same(one, COUNT), one + part.concerned)

    return compute_region


def state_parts(batches: Batches, kernel: BlockKernel) -> Iterator[tuple[Any, Words]]:
    """Rows (place, words) as arrays, a few thousand at once."""
    for batch in batches:
        for at in range(0, batch.num_rows, STATES_AT_ONCE):
            part = batch.slice(at, STATES_AT_ONCE)
            columns = [part.column(i).to_numpy(zero_copy_only=False) for i in range(1 + kernel.spec.words)]
            yield columns[0], np.ascontiguousarray(np.column_stack(columns[1:]).view(np.uint64))


def _same(like: Any, value: int) -> Any:
    return np.full(len(like), value, dtype=np.int32)


def _rows(count: int, src: Any, instance: Any, bits: Any, *, words: Any = None, part: RegionPart | None = None) -> Any:
    """Rows of `SCHEMA`; those of states have what a step has not, and the other way round."""
    nulls = [pa.nulls(len(src), kind) for kind in (pa.int64(), pa.bool_(), pa.bool_())]
    flags = nulls if part is None else [pa.array(part.hidden), pa.array(part.waiting), pa.array(part.cut)]
    absent = [pa.nulls(len(src), pa.int64())] * count
    columns = absent if words is None else [pa.array(np.ascontiguousarray(word)) for word in words]
    arrays = [pa.array(np.ascontiguousarray(a)) for a in (src, instance, bits)]
    names = ["src", "instance", "bits", "hidden", "waiting", "cut", *(f"w{i}" for i in range(count))]
    return pa.RecordBatch.from_arrays([*arrays, *flags, *columns], names=names)


def region_frames(
    log: RoundLog, name: str, states: Any, shipped: Callable[[], BlockSpec], question: RegionQuestion, words: int
) -> RegionFrames:
    """The graph of a region, of the committed states (place, words)."""
    names = [f"w{i}" for i in range(words)]
    schema = ", ".join(
        ["src bigint, instance int, bits bigint, hidden bigint, waiting boolean, cut boolean"]
        + [f"{word} bigint" for word in names]
    )
    rows = log.round(f"{name}-rows", schema, lambda: states.mapInArrow(region_task(shipped, question), schema)).frame
    raw = "src bigint, instance int, bits bigint, dst bigint"
    places = states.withColumnRenamed("place", "dst")
    steps = log.round(
        f"{name}-steps", raw,
        lambda: rows.where("instance >= 0").join(places, names, "left").select("src", "instance", "bits", "dst"),
    ).frame  # fmt: skip
    every = (1 << len(question.excuses)) - 1

    def nodes() -> Any:
        leaves = "coalesce(bool_or(dst IS NULL), false)"
        shown = steps.groupBy("src").agg(_expr("bit_or(bits) AS shown"), _expr(f"{leaves} AS lost"))
        own = rows.where(f"instance = {STATE}").join(shown, "src", "left")
        lost = "coalesce(lost, false)"
        enabled = f"bits & (hidden | coalesce(shown, 0L) | IF({lost}, {every}L, 0L))"
        return own.selectExpr("src AS place", f"{enabled} AS enabled", "waiting", f"cut OR {lost} AS cut")

    states_of = log.round(f"{name}-nodes", NODES, nodes)

    def edges() -> Any:
        sources = states_of.frame.selectExpr("place AS src", "enabled")
        inner = steps.join(sources, "src").join(states_of.frame.selectExpr("place AS dst"), "dst")
        return inner.selectExpr("src", "instance", "bits & enabled AS taken", "dst")

    inside = log.round(f"{name}-edges", EDGES, edges)
    total = rows.where(f"instance = {COUNT}").selectExpr("coalesce(sum(bits), 0L)").collect()[0][0]
    return RegionFrames(states_of, inside, int(total))


def _expr(text: str) -> Any:
    from pyspark.sql import functions

    return functions.expr(text)
