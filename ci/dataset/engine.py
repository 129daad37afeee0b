"""Questions to a dataset by engines of SQL, its views, and the transitions that compiled rules compute."""

from __future__ import annotations

import datetime
import decimal
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from kraftcheck.ci.dataset.documents import Column, DecodingTable, FieldColumn, claim_columns, columns_of, slots_of
from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.blocks.tasks import CLAIMS_PER_WORD, BlockSpec, load_block_kernel
from kraftcheck.solvers.machine_code.objectcode import ObjectCache
from kraftcheck.solvers.program.columns import ONE, SET, SLOT, TRUTH


@frozen
class Answer:
    """The answer to a question."""

    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]  # the first ones, as many as were asked for
    more: bool
    complete: bool = True  # whether the space is whole; else the answer is about the levels so far

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Sequence[Any]], limit: int) -> Answer:
        """The answer from one row more than was asked for, if there is one; its values are of JSON."""
        return cls(columns, [tuple(map(_plain, row)) for row in rows[:limit]], len(rows) > limit)

    def to_pandas(self) -> Any:
        """The rows as a data frame of pandas; raises ImportError without `kraftcheck[notebook]`."""
        import pandas

        return pandas.DataFrame.from_records(list(self.rows), columns=list(self.columns))


def _plain(value: Any) -> Any:
    """A value as JSON has it, the same whichever engine computed it."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() and value.as_tuple().exponent == 0 else float(value)
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta | bytes):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    return value


SUCCESSORS = "kraftcheck_successors"
"""The SQL function of a state's words: the list of its transitions, each the instance and the words after it."""

LEVELS = (
    "depth int, states bigint, engine string, seconds double, candidates bigint, shuffled_bytes bigint, "
    "spilled_bytes bigint, visited_bytes bigint, memory_bytes bigint, file_bytes bigint"
)


def quoted(text: str, mark: str) -> str:
    """A text in SQL between two marks, which are doubled in it.

    All else in it means nothing: the names of a decoding table have no backslash, dollar or control character
    (`kraftcheck.ci.dataset.values.NAME`).
    """
    return mark + text.replace(mark, 2 * mark) + mark


@frozen
class Dialect:
    """Where the SQL of engines differs."""

    mark: str  # around a name
    shift: Callable[[str, int | str], str]  # a word shifted to the right
    pick: Callable[[Sequence[str], str], str]  # one of a list of texts, by its place from 1 on
    numbers: Callable[[int], str]  # a list of so many ids from 0 on
    array: Callable[[Sequence[str]], str]  # a list of values
    kept: Callable[[str, str], str]  # the values `x` of a list that a condition holds of

    def name(self, name: str) -> str:
        """A column's name."""
        return quoted(name, self.mark)


def texts_sql(texts: Iterable[str]) -> str:
    """Texts one after the other."""
    return ", ".join(quoted(text, "'") for text in texts)


DUCKDB = Dialect(
    '"', lambda word, by: f"({word} >> {by})", lambda texts, place: f"([{texts_sql(texts)}])[{place}]",
    lambda count: f"CAST(range(0, {count}) AS INTEGER[])", lambda values: f"[{', '.join(values)}]",
    lambda listed, condition: f"list_filter({listed}, lambda x: {condition})",
)  # fmt: skip
SPARK = Dialect(
    "`", lambda word, by: f"shiftright({word}, {by})",
    lambda texts, place: f"element_at(array({texts_sql(texts)}), CAST({place} AS INT))",
    lambda count: f"CAST(array({', '.join(map(str, range(count)))}) AS ARRAY<INT>)",
    lambda values: f"array({', '.join(values)})", lambda listed, condition: f"filter({listed}, x -> {condition})",
)  # fmt: skip


def field_sql(field: FieldColumn, to: Dialect, words: str = "w") -> str:
    """A field's value as SQL over the packed words, computed only for rows and columns that a question asks for.

    A shift that keeps the sign is right: the mask drops the copies of the sign bit.
    """
    if field.names:
        return to.pick(field.names, field_sql(evolve(field, names=(), lo=1), to, words))
    raw = f"({to.shift(f'{words}{field.word}', field.shift)} & {(1 << field.bits) - 1})"
    value = f"({raw} + {field.lo})" if field.bits else f"CAST({field.lo} AS BIGINT)"
    if field.kind == TRUTH:
        return f"({value} = 1)"
    if field.kind == SET:
        return to.kept(to.numbers((field.lo + (1 << field.bits) - 1).bit_length()), f"({to.shift(value, 'x')} & 1) = 1")
    if field.kind in (SLOT, ONE):
        return f"CAST({value} AS INT)"
    return value if field.none is None else f"NULLIF({value}, {field.none})"


def column_sql(column: Column, to: Dialect, words: str = "w") -> str:
    """A column's value as SQL over the packed words: a field, or a list of them without its vacant slots."""
    if slots := slots_of(column):
        return to.kept(to.array([field_sql(one, to, words) for one in slots]), f"x <> {slots[0].none}")
    if isinstance(column, FieldColumn):
        return field_sql(column, to, words)
    return to.array([column_sql(one, to, words) for one in column.values()])


def fields_sql(table: DecodingTable, to: Dialect, prefix: str = "", words: str = "w") -> list[str]:
    """Named columns of a packed state, `after_` and the like before their names."""
    columns = columns_of(table.fields)
    return [f"{column_sql(one, to, words)} AS {to.name(prefix + name)}" for name, one in columns.items()]


def action_sql(table: DecodingTable, to: Dialect, number: str) -> list[str]:
    """Name and arguments of an action instance; null for initial states."""
    names = [action.name for action in table.actions]
    arguments = [" ".join(f"{k}={v}" for k, v in action.arguments.items()) for action in table.actions]
    return [
        f"CASE WHEN {number} >= 0 THEN {to.pick(texts, f'{number} + 1')} END AS {name}"
        for name, texts in (("action", names), ("arguments", arguments))
    ]


def claims_sql(table: DecodingTable, to: Dialect) -> list[str]:
    """For each claim about states whether this state breaks (or shows) it."""
    columns = []
    for number, name in enumerate(claim_columns(table)):
        word, bit = divmod(number, CLAIMS_PER_WORD)
        columns.append(f"({to.shift(f'claims{word}', bit)} & 1) = 1 AS {to.name(name)}")
    return columns


def states_sql(table: DecodingTable, to: Dialect) -> str:
    """The query behind `states`."""
    columns = ["depth", "id", "parent", "action AS instance", *action_sql(table, to, "action")]
    return f"SELECT {', '.join([*columns, *fields_sql(table, to), *claims_sql(table, to)])} FROM packed"


def transitions_sql(table: DecodingTable, to: Dialect, unnest: str) -> str:
    """The query behind `transitions`: fields before are columns of what is unnested, so that states alone are asked."""
    words = range(table.words)
    before = [to.name(name) for name in columns_of(table.fields)]
    arguments = ", ".join(f"w{i}" for i in words)
    columns = ["depth", "id", *fields_sql(table, to), f"{unnest}({SUCCESSORS}({arguments})) AS _step"]
    inner = f"SELECT {', '.join(columns)} FROM packed"
    taken = [f"_step.v{i} AS _v{i}" for i in words]
    middle = f"SELECT depth, id, _step.instance AS instance, {', '.join([*before, *taken])} FROM ({inner})"
    after = fields_sql(table, to, "after_", "_v")
    outer = ["depth", "id", "instance", *action_sql(table, to, "instance"), *before, *after]
    return f"SELECT {', '.join(outer)} FROM ({middle})"


def level_rows(data: Dataset) -> list[tuple[Any, ...]]:
    """The rows of the view `levels`."""
    return [
        (
            level.depth, level.rows, level.engine, float(level.cost.get("seconds", 0)),
            *(int(level.cost.get(name, 0)) for name in ("candidates", "shuffled", "spilled", "visited", "peak")),
            level.bytes,
        )
        for level in data.levels
    ]  # fmt: skip


ROWS_AT_ONCE = 4096  # states whose transitions are computed together; it bounds the memory for them


def spec_of(data: Dataset) -> BlockSpec:
    """The kernel of the system that was explored, for any process; raises Refusal when it is the same no more."""
    cache = ObjectCache(cache_folder())
    spec = block_spec(data.traced()[1], data.bucket_bits, cache)
    sys.stderr.writelines(f"warning: {warning}\n" for warning in cache.warnings)
    return spec


def successors(shipped: Callable[[], BlockSpec]) -> Callable[[Sequence[Any]], Any]:
    """The function from columns of words to that of lists of transitions, by the kernel that is shipped."""

    def compute(words: Sequence[Any]) -> Any:
        kernel = load_block_kernel(shipped())
        parts = [part.combine_chunks() if isinstance(part, pa.ChunkedArray) else part for part in words]
        states = np.column_stack([part.to_numpy(zero_copy_only=False) for part in parts]).view(np.uint64)
        pieces, counts = [], []
        for at in range(0, len(states), ROWS_AT_ONCE):
            after, count = kernel.transitions(np.ascontiguousarray(states[at : at + ROWS_AT_ONCE]))
            pieces.append(after)
            counts.append(count)
        return _lists(kernel.spec.words, pieces, counts)

    return compute


def _lists(words: int, pieces: Sequence[Any], counts: Sequence[Any]) -> Any:
    """Lists of transitions: of each state as many of the records as its count says."""
    after = np.concatenate(pieces) if pieces else np.empty((0, words + 1), dtype=np.uint64)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(counts)) if counts else []]).astype(np.int32)
    columns = [pa.array(after[:, words].astype(np.int32))]
    columns += [pa.array(np.ascontiguousarray(after[:, i]).view(np.int64)) for i in range(words)]
    steps = pa.StructArray.from_arrays(columns, names=["instance", *(f"v{i}" for i in range(words))])
    return pa.ListArray.from_arrays(pa.array(offsets), steps)
