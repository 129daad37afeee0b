"""An explored space as SQL views: states, transitions, levels, actions.

States and levels are what is committed. Transitions are not stored: a query
that asks for them runs the compiled kernel over the states again, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from kraftcheck.ci.spark.decoding import column_name, field_sql
from kraftcheck.ci.spark.store.commits import CommitLog, identity
from kraftcheck.ci.spark.store.digests import check_locally
from kraftcheck.ci.spark.store.manifests import Commit
from kraftcheck.ci.spark.tasks import Batches
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.blocks.tasks import BlockSpec, load_block_kernel
from kraftcheck.solvers.machine_code.frame import FramePlan
from kraftcheck.solvers.program.program import Program

ROWS_AT_ONCE = 4096

FUNCTIONS = (
    "CREATE OR REPLACE TEMPORARY FUNCTION has(brokers BIGINT, broker BIGINT) RETURNS BOOLEAN "
    "RETURN broker >= 0 AND (shiftright(brokers, CAST(broker AS INT)) & 1L) = 1",
    "CREATE OR REPLACE TEMPORARY FUNCTION members(brokers BIGINT) RETURNS ARRAY<INT> "
    "RETURN filter(sequence(0, 61), b -> (shiftright(brokers, b) & 1L) = 1)",
)
"""SQL functions on sets of brokers, which are columns of bit masks."""


@frozen
class Dataset:
    """A folder that an exploration left.

    Attributes:
        log: its commit log.
        commits: the committed levels.
        table: the decoding table.
        of: what was explored, by name.
        checked: whether the bytes of all files were compared with their digests; else workers have to.
    """

    log: CommitLog
    commits: tuple[Commit, ...]
    table: Mapping[str, Any]
    of: Mapping[str, Any]
    checked: bool

    @classmethod
    def open(cls, out: Path) -> Dataset:
        """The dataset in a folder.

        Raises:
            Refusal: when there is none, nothing is committed, or a file is not what was written.
        """
        log = CommitLog(out)
        run = log.read_run()
        commits = tuple(log.commits())
        if not commits:
            raise Refusal(f"{out} has no committed level yet; `kraftcheck explore ... --resume` goes on with it")
        return cls(log, commits, run, run["identity"], check_locally(log, commits))

    @property
    def levels(self) -> tuple[Commit, ...]:
        """Those with states."""
        return tuple(level for level in self.commits if not level.last)

    @property
    def complete(self) -> bool:
        """Whether it holds every reachable state: the last level was expanded and gave no state that is new."""
        return self.commits[-1].last

    def traced(self) -> tuple[Subject, Program]:
        """The system that was explored, traced again.

        Raises:
            Refusal: when it is not the same any more.
        """
        bounds = {name.removeprefix("bound "): value for name, value in self.of.items() if name.startswith("bound ")}
        whole_subject = subject(self.of["system"], self.of["scope"], bounds, self.of["rules"])
        ids = [text.split(" ", 1)[1] for text in self.of["properties"]]
        chosen = subject(self.of["system"], self.of["scope"], bounds, self.of["rules"], ids) if ids else whole_subject
        traced = program(chosen)
        self.log.check_same(identity(chosen, traced, int(self.of["buckets"]).bit_length() - 1))
        return chosen, traced

    def fired(self, traced: Program) -> dict[str, int]:
        """Transitions taken, by action."""
        plan, counters = FramePlan(traced), self.commits[-1].counters
        counts: dict[str, int] = {}
        for number, kind in enumerate(traced.kinds):
            counts[kind.action.name] = counts.get(kind.action.name, 0) + counters[plan.fired + number]
        return counts

    def fields_sql(self, prefix: str = "", words: str = "w") -> list[str]:
        """Named columns of a packed state, `after_` and the like before their names."""
        columns = [(prefix + column_name(f["name"]), field_sql(f, words)) for f in self.table["fields"]]
        return [f"{expression} AS `{name}`" for name, expression in columns]

    def action_sql(self, number: str) -> list[str]:
        """Name and arguments of an action instance; null for initial states."""
        names = ", ".join(f"'{action['name']}'" for action in self.table["actions"])
        texts = (" ".join(f"{k}={v}" for k, v in action["arguments"].items()) for action in self.table["actions"])
        arguments = ", ".join(f"'{text}'" for text in texts)
        return [
            f"CASE WHEN {number} >= 0 THEN element_at(array({names}), {number} + 1) END AS action",
            f"CASE WHEN {number} >= 0 THEN element_at(array({arguments}), {number} + 1) END AS arguments",
        ]

    def claims_sql(self) -> list[str]:
        """For each claim about states whether this state breaks (or shows) it."""
        columns = []
        for number, claim in enumerate(self.table["claims"]):
            verb = "breaks" if claim["kind"] == "always" else "shows"
            name = claim["id"].replace("-", "_").replace(".", "_")
            column = name if name.startswith("shows_") and verb == "shows" else f"{verb}_{name}"
            word, bit = divmod(number, 63)
            columns.append(f"(shiftrightunsigned(claims{word}, {bit}) & 1L) = 1 AS `{column}`")
        return columns


def packed(session: Any, data: Dataset) -> Any:
    """The committed rows, packed; files that no manifest names are not among them."""
    files = [str(data.log.folder(level.depth) / file.name) for level in data.levels for file in level.files]
    return session.read.parquet(*files)


def register(session: Any, data: Dataset, spec: Callable[[], BlockSpec] | None) -> None:
    """Define the views.

    Args:
        session: the Spark session.
        data: the dataset.
        spec: gives the kernel on a worker; None: there is no view of transitions.
    """
    for function in FUNCTIONS:
        session.sql(function)
    rows = packed(session, data)
    places = ["depth", "id", "parent", "action AS instance"]
    rows.selectExpr(
        *places, *data.action_sql("action"), *data.fields_sql(), *data.claims_sql()
    ).createOrReplaceTempView("states")
    session.createDataFrame(level_rows(data), LEVELS).createOrReplaceTempView("levels")
    if spec is not None:
        words = data.table["words"]
        after = ", ".join(f"v{i} bigint" for i in range(words))
        schema = ", ".join(["depth int", "id bigint", "instance int", *(f"w{i} bigint" for i in range(words)), after])
        sources = rows.select("depth", "id", *(f"w{i}" for i in range(words)))
        steps = sources.mapInArrow(transition_task(spec), schema)
        steps.selectExpr(
            "depth", "id", "instance", *data.action_sql("instance"), *data.fields_sql(), *data.fields_sql("after_", "v")
        ).createOrReplaceTempView("transitions")


LEVELS = (
    "depth int, states bigint, engine string, seconds double, candidates bigint, shuffled_bytes bigint, "
    "spilled_bytes bigint, file_bytes bigint"
)


def level_rows(data: Dataset) -> list[tuple[Any, ...]]:
    """The rows of the view `levels`."""
    return [
        (
            level.depth, level.rows, level.engine, float(level.cost.get("seconds", 0)),
            *(int(level.cost.get(name, 0)) for name in ("candidates", "shuffled", "spilled")),
            sum(file.bytes for file in level.files),
        )
        for level in data.levels
    ]  # fmt: skip


def transition_task(shipped: Callable[[], BlockSpec]) -> Callable[[Batches], Batches]:
    """Every transition of the states given: one row each, computed by the kernel a block at a time."""

    def compute_transitions(batches: Batches) -> Batches:
        kernel = load_block_kernel(shipped())
        spec = kernel.spec
        for batch in batches:
            for at in range(0, batch.num_rows, ROWS_AT_ONCE):
                part = batch.slice(at, ROWS_AT_ONCE)
                states = np.column_stack(
                    [part.column(2 + i).to_numpy(zero_copy_only=False) for i in range(spec.words)]
                ).view(np.uint64)
                after, counts = kernel.transitions(np.ascontiguousarray(states))
                source = np.repeat(np.arange(len(states)), counts)
                columns = [part.column(i).take(pa.array(source)) for i in range(2)]
                columns.append(pa.array(after[:, spec.words].astype(np.int32)))
                columns += [pa.array(states[source, i].view(np.int64)) for i in range(spec.words)]
                columns += [pa.array(np.ascontiguousarray(after[:, i]).view(np.int64)) for i in range(spec.words)]
                names = ["depth", "id", "instance", *(f"{v}{i}" for v in "wv" for i in range(spec.words))]
                yield pa.RecordBatch.from_arrays(columns, names=names)

    return compute_transitions


def rows_of(frame: Any, limit: int) -> tuple[Sequence[str], list[tuple[Any, ...]], bool]:
    """Columns, the first rows, and whether there are more."""
    rows = frame.limit(limit + 1).collect()
    return list(frame.columns), [tuple(row) for row in rows[:limit]], len(rows) > limit
