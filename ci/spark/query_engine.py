"""Questions answered by Spark, on this machine or a cluster: for datasets beyond what one machine reads in time."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define

from kraftcheck.ci.dataset.store.objects import ObjectPath
from kraftcheck.ci.spark.session import (
    check_packages,
    for_sql,
    on_this_disk,
    parse_conf,
    start_session,
    stopped_at_the_end,
)
from kraftcheck.ci.terminal.refusal import JobFailedError, Refusal

if TYPE_CHECKING:
    from kraftcheck.ci.dataset.engine import Answer
    from kraftcheck.ci.dataset.store.dataset import Dataset


FUNCTIONS = (
    "CREATE OR REPLACE TEMPORARY FUNCTION has(brokers ARRAY<INT>, broker BIGINT) RETURNS BOOLEAN "
    "RETURN coalesce(array_contains(brokers, CAST(broker AS INT)), false)",
)
"""SQL functions on lists of brokers, beside Spark's own."""


@contextlib.contextmanager
def spark_engine(
    data: Dataset, master: str | None, workers: int, conf: tuple[str, ...], verify: str
) -> Iterator[SparkQueries]:
    """An engine on a session of its own, for a dataset as committed, which it leaves; messages stay after a fault."""
    check_packages()
    from kraftcheck.ci.dataset.store.dataset import check_files

    place = Path(tempfile.mkdtemp(prefix="kraftcheck-query-"))
    try:
        messages = place / "query.log"
        own = {"spark.sql.catalogImplementation": "in-memory", "spark.sql.warehouse.dir": str(place / "warehouse")}
        if verify != "none":
            check_files(data.log, data.commits)
        session = start_session(master, workers, {**own, **parse_conf(conf)}, messages)
        with stopped_at_the_end(session, messages):
            yield SparkQueries(session, data, messages)
    except JobFailedError:
        raise
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    shutil.rmtree(place, ignore_errors=True)


@define
class SparkQueries:
    """Questions to the views of a dataset under Spark."""

    session: Any
    data: Dataset
    messages: Path  # where Spark's messages go

    def ask(self, sql: str, limit: int) -> Answer:
        """As of `DuckDBEngine`."""
        from pyspark.errors import AnalysisException, ParseException

        from kraftcheck.ci.dataset.engine import Answer
        from kraftcheck.ci.spark.session import job_error

        check_question(self.session, sql)
        try:
            register(self.session, self.data, computes="transitions" in sql.lower())
            with for_sql(self.session, sum(level.rows for level in self.data.levels)):
                frame = self.session.sql(sql)
                rows = frame.limit(limit + 1).collect()
            return Answer.of(list(frame.columns), rows, limit)
        except (AnalysisException, ParseException) as error:
            raise _unusable(error) from error
        except Exception as error:
            raise job_error(error, self.messages) from error


def check_question(session: Any, sql: str) -> None:
    """Refuse SQL that is not one question, before anything of it runs.

    Spark's parser has to take the whole as one statement, and to find a query in it: what changes something is a
    statement of its own there, whatever it begins with.

    Raises:
        Refusal: in one line.
    """
    from pyspark.errors import ParseException

    parser = session._jsparkSession.sessionState().sqlParser()
    try:
        parser.parsePlan(sql)
    except ParseException as error:
        raise _unusable(error) from error
    try:
        parser.parseQuery(sql.rstrip("; \t\n"))
    except ParseException as error:
        raise Refusal("the query: only one question is asked, SELECT, WITH ... SELECT, VALUES or FROM") from error


def _unusable(error: Exception) -> Refusal:
    message = str(error).strip().splitlines()[0]
    return Refusal(f"the query: {message[:400]}")


def register(session: Any, data: Dataset, *, computes: bool) -> None:
    """Define the views, that of transitions too if it `computes`, for which the rules are compiled."""
    from kraftcheck.ci.dataset.engine import LEVELS, SPARK, level_rows, states_sql, transitions_sql

    for function in FUNCTIONS:
        session.sql(function)
    packed(session, data).createOrReplaceTempView("packed")
    session.sql(states_sql(data.table, SPARK)).createOrReplaceTempView("states")
    session.createDataFrame(level_rows(data), LEVELS).createOrReplaceTempView("levels")
    if computes:
        _register_successors(session, data)
        session.sql(transitions_sql(data.table, SPARK, "explode")).createOrReplaceTempView("transitions")


def packed(session: Any, data: Dataset) -> Any:
    """The committed rows, packed, with depth as a partition; files that no manifest names are not among them."""
    if isinstance(data.log.out, ObjectPath):
        return fetched(session, data)
    base = on_this_disk(data.log.folder(0).parent)
    return session.read.option("basePath", base).parquet(*map(on_this_disk, data.files()))


def fetched(session: Any, data: Dataset) -> Any:
    """The committed rows of a dataset at a URL, which tasks of this package read: Spark needs nothing for it."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from kraftcheck.ci.dataset.store.commits import REPAIR
    from kraftcheck.ci.dataset.store.levelfiles import COLUMN, source_of
    from kraftcheck.ci.dataset.store.stores import place_of

    files = [(level.depth, str(data.log.folder(level.depth) / file.name)) for level in data.levels
             for file in level.files]  # fmt: skip
    columns = pq.read_schema(source_of(place_of(files[0][1])))
    kinds = {"int32": "int", "int64": "bigint"}
    for one in columns:  # they become text of a schema below
        if not COLUMN.fullmatch(one.name) or str(one.type) not in kinds:
            raise Refusal(f"{files[0][1]}: no level file has a column {one.name[:60]!a} of {one.type}; {REPAIR}")

    def read(batches: Any) -> Any:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                depth, name = files[number]
                with pq.ParquetFile(source_of(place_of(name)), page_checksum_verification=True) as source:
                    for rows in source.iter_batches(1 << 16, columns=columns.names):
                        depths = pa.array(np.full(len(rows), depth, dtype=np.int32))
                        yield rows.add_column(0, "depth", depths)

    text = "depth int, " + ", ".join(f"{one.name} {kinds[str(one.type)]}" for one in columns)
    return session.range(0, len(files), 1, len(files)).mapInArrow(read, text)


def _register_successors(session: Any, data: Dataset) -> None:
    """The function behind `transitions`; the kernel is shipped once to every worker."""
    import pyarrow as pa
    from pyspark.sql.pandas.functions import arrow_udf

    from kraftcheck.ci.dataset.engine import SUCCESSORS, spec_of, successors

    handle = session.sparkContext.broadcast(spec_of(data))
    compute = successors(lambda: handle.value)
    words = range(data.table.words)
    kind = f"array<struct<instance: int, {', '.join(f'v{i}: bigint' for i in words)}>>"

    columnwise: Any = lambda *columns: compute(columns)  # noqa: E731, its types are of Arrow
    # Spark reads from the types of a function's arguments that it takes arrays of Arrow.
    columnwise.__annotations__ = {"columns": pa.Array, "return": pa.Array}
    make: Any = arrow_udf
    session.udf.register(SUCCESSORS, make(columnwise, kind))
