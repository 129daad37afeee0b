"""Questions answered by DuckDB, in this process: the default, since it needs no Java and starts at once."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

from attrs import define, field

from kraftcheck.ci.dataset.engine import (
    DUCKDB,
    LEVELS,
    ROWS_AT_ONCE,
    SUCCESSORS,
    Answer,
    level_rows,
    spec_of,
    states_sql,
    successors,
    texts_sql,
    transitions_sql,
)
from kraftcheck.ci.dataset.store.dataset import Dataset, check_files, refuse_damage
from kraftcheck.ci.dataset.store.levelfiles import LevelFile, verify
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath
from kraftcheck.ci.terminal.refusal import Refusal


@define
class Copies:
    """Copies of the level files of a dataset."""

    data: Dataset
    folder: Path  # where they are; a file that was not fetched is empty there, so that it is not read as one of no rows
    fetched: set[int] = field(factory=set)  # depths of the levels that are here

    @classmethod
    def of(cls, data: Dataset, folder: Path) -> Copies | None:
        """Places for the copies; None for a dataset on this disk."""
        if not isinstance(data.log.out, ObjectPath):
            return None
        copies = cls(data, folder)
        for path in copies.files():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return copies

    def files(self) -> Iterator[Path]:
        """The copies of all files."""
        return (self._folder(level.depth) / file.name for level in self.data.levels for file in level.files)

    def _folder(self, depth: int) -> Path:
        return self.folder / self.data.log.folder(depth).name

    def fetch(self, depths: set[int], *, verifies: bool) -> None:
        """Copy the files of levels, unless they are here; raises Refusal, naming one that is lost or altered."""
        wanted = [(level.depth, file) for level in self.data.levels if level.depth in depths - self.fetched
                  for file in level.files]  # fmt: skip

        def copy(entry: tuple[int, LevelFile]) -> str | None:
            depth, file = entry
            source, target = self.data.log.folder(depth) / file.name, self._folder(depth) / file.name
            try:
                target.write_bytes(source.read_bytes())
            except OSError as error:
                raise Refusal(f"cannot fetch {source}: {error.strerror or error}") from error
            damage = verify(target.parent, file) if verifies else None
            return damage and damage.replace(str(target), str(source))

        with ThreadPoolExecutor() as pool:
            refuse_damage(pool.map(copy, wanted))
        self.fetched |= depths


FUNCTIONS = (
    "CREATE MACRO has(brokers, broker) AS coalesce(list_contains(brokers, broker), false)",
    "CREATE MACRO size(brokers) AS len(brokers)",
    "CREATE MACRO array_except(brokers, others) AS list_filter(brokers, lambda b: NOT list_contains(others, b))",
)
"""SQL functions on lists of brokers; but for `has` they are those of Spark, so that a question is one for both."""


@contextlib.contextmanager
def duckdb_engine(data: Dataset, workers: int, verify: str) -> Iterator[DuckDBEngine]:
    """An engine that reads a dataset's levels and nothing else, `verify` as of --verify; raises Refusal for damage."""
    try:
        import duckdb
    except ImportError as error:
        raise Refusal(f"query needs duckdb ({error}); pip install 'kraftcheck[disk]', or --engine spark") from error
    verified = set()
    if verify == "all":
        check_files(data.log, data.commits)
        verified = {level.depth for level in data.levels}
    with tempfile.TemporaryDirectory(prefix="kraftcheck-query-") as scratch:
        settings: dict[str, Any] = {
            "threads": workers, "temp_directory": scratch, "python_enable_replacements": False,
            "autoinstall_known_extensions": False, "autoload_known_extensions": False,
            "default_null_order": "nulls_first_on_asc_last_on_desc",
        }  # fmt: skip
        connection = duckdb.connect(":memory:", config=settings)
        copies = Copies.of(data, Path(scratch, "copies"))
        engine = DuckDBEngine(connection, data, verify != "none", copies, verified)
        try:
            engine.define()
            yield engine
        finally:
            engine.close()


@define
class DuckDBEngine:
    """Questions to the views of a dataset; closed by whoever opened it."""

    connection: Any
    data: Dataset
    verifies: bool  # whether files are compared with their digests before a question reads them
    copies: Copies | None = None  # of the level files on this disk, where the dataset is at a URL
    verified: set[int] = field(factory=set)  # depths of the levels that were
    _computes: bool = False

    def define(self) -> None:
        """Define the views, all else locked; raises Refusal for a level file with other columns than it says."""
        import duckdb

        self._prepare({level.depth for level in self.data.levels[:1]})
        self.connection.execute("SET allowed_directories = ?", [[str(self._folder())]])
        self._define("SET enable_external_access = false")
        self._define("SET lock_configuration = true")
        for function in FUNCTIONS:
            self._define(function)
        names = texts_sql(map(str, self._files()))
        packed = f"SELECT * FROM read_parquet([{names}], hive_partitioning = true, hive_types = {{'depth': INTEGER}})"
        try:
            self._define(f"CREATE VIEW packed AS {packed}")
            self._define(f"CREATE VIEW states AS {states_sql(self.data.table, DUCKDB)}")
        except duckdb.Error as error:
            fault = "its level files do not have the columns of its run.json"
            raise Refusal(f"{self.data.log.out}: {fault}: {_said(error)}") from error
        self._define(f"CREATE TABLE levels ({LEVELS})")
        rows = level_rows(self.data)
        holes = ", ".join("?" * len(rows[0]))
        self.connection.executemany(f"INSERT INTO levels VALUES ({holes})", rows)

    def _define(self, sql: str) -> None:
        """Execute one statement: of a text that holds several nothing runs; raises duckdb.Error for none."""
        (statement,) = self.connection.extract_statements(sql)
        self.connection.execute(statement)

    def close(self) -> None:
        """Close the connection."""
        if self._computes:
            self.connection.remove_function(SUCCESSORS)  # it would keep the connection alive
        self.connection.close()

    def ask(self, sql: str, limit: int) -> Answer:
        """Columns and first rows of one question; raises Refusal for what is none, or reads a damaged file."""
        with self._asked(sql) as relation:
            return Answer.of(relation.columns, relation.limit(limit + 1).fetchall(), limit)

    def table(self, sql: str) -> Any:
        """All rows of a question as an Arrow table; raises Refusal as `ask`."""
        with self._asked(sql) as relation:
            return relation.to_arrow_reader(ROWS_AT_ONCE).read_all()

    def write(self, sql: str, target: Path) -> int:
        """Write a question's rows into a Parquet or CSV file, whole or not at all; how many; raises as `ask`."""
        import pyarrow as pa
        from pyarrow.csv import CSVWriter
        from pyarrow.parquet import ParquetWriter

        part, rows = target.with_name(f".{target.name}.{os.getpid()}"), 0
        try:
            with self._asked(sql) as relation:
                told = _texts_of_lists(relation) if target.suffix == ".csv" else relation
                reader = told.to_arrow_reader(ROWS_AT_ONCE)
                with (CSVWriter if target.suffix == ".csv" else ParquetWriter)(part, reader.schema) as writer:
                    for batch in reader:
                        writer.write_batch(batch)
                        rows += batch.num_rows
            part.replace(target)
        except OSError as error:
            raise Refusal(f"cannot write {target}: {error.strerror or error}") from error
        except pa.ArrowInvalid as error:
            raise Refusal(f"cannot write {target}: {error}; a .parquet file holds every column") from error
        finally:
            part.unlink(missing_ok=True)
        return rows

    @contextlib.contextmanager
    def _asked(self, sql: str) -> Iterator[Any]:
        """What DuckDB makes of a question: its levels are verified, and what it says while they are read is refused."""
        import duckdb

        try:
            question = self._question(sql)
            self._compute(question)
            if self.verifies or self.copies is not None:
                self._prepare(self._depths_read(question))
            yield self.connection.sql(question)
        except duckdb.Error as error:
            raise Refusal(f"the query: {_said(error)}") from error

    def _question(self, sql: str) -> str:
        """The one question in the SQL; raises Refusal when it is none, or not one."""
        import duckdb

        statements = self.connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise Refusal("the query: only one question is asked, SELECT, WITH ... SELECT, VALUES or FROM")
        return str(statements[0].query)

    def _compute(self, question: str) -> None:
        """Define the view of transitions, once a question names it: the rules are compiled for it."""
        import duckdb

        if self._computes or "transitions" not in question.lower():
            return
        spec = spec_of(self.data)
        compute = successors(lambda: spec)
        words = range(self.data.table.words)
        step = duckdb.struct_type({"instance": "INTEGER", **{f"v{i}": "BIGINT" for i in words}})
        types, result = ["BIGINT"] * len(words), duckdb.list_type(step)
        self.connection.create_function(SUCCESSORS, _of_columns(compute, len(words)), types, result, type="arrow")
        self._computes = True
        self._define(f"CREATE VIEW transitions AS {transitions_sql(self.data.table, DUCKDB, 'unnest')}")

    def _files(self) -> list[AnyPath]:
        return self.data.files() if self.copies is None else [*self.copies.files()]

    def _folder(self) -> AnyPath:
        return self.data.log.folder(0).parent if self.copies is None else self.copies.folder

    def _prepare(self, depths: set[int]) -> None:
        """Verify the files of levels, and fetch them, unless that was done."""
        if self.copies is not None:
            self.copies.fetch(depths, verifies=self.verifies)
        elif self.verifies:
            levels = [level for level in self.data.levels if level.depth in depths - self.verified]
            check_files(self.data.log, levels)
            self.verified |= depths

    def _depths_read(self, question: str) -> set[int]:
        """The levels that a question reads: those that the plan's filters on files leave, else all of them."""
        rows = self.connection.execute(f"EXPLAIN (FORMAT json) {question}").fetchall()
        depths: set[int] = set()
        for scan in _scans(json.loads(rows[0][1])):
            depths |= self._depths_of(scan)
        return depths

    def _depths_of(self, scan: dict[str, Any]) -> set[int]:
        """The levels of one scan, by its filter on depth; all of them where their files are not as many as it says."""
        import duckdb

        every = {level.depth: level for level in self.data.levels}
        try:
            said = int(scan["Scanning Files"].split("/")[0])
            rows = self.connection.execute(f"SELECT depth FROM levels WHERE {scan['File Filters']}").fetchall()
        except (KeyError, ValueError, duckdb.Error):
            return set(every)
        chosen: list[Commit] = [every[depth] for (depth,) in rows]
        return {level.depth for level in chosen} if sum(len(level.files) for level in chosen) == said else set(every)


def _texts_of_lists(relation: Any) -> Any:
    """A relation whose lists are texts, as `[0, 2]`, for a file without lists."""
    named = zip(relation.columns, map(str, relation.types), strict=True)
    told = [f"CAST({DUCKDB.name(one)} AS VARCHAR) AS {DUCKDB.name(one)}" if kind.endswith("]") else DUCKDB.name(one)
            for one, kind in named]  # fmt: skip
    return relation.project(", ".join(told))


def _said(error: Exception) -> str:
    """What DuckDB says, without the line of SQL."""
    return " ".join(str(error).partition("\n\nLINE ")[0].split())[:400]


def _of_columns(compute: Callable[[Sequence[Any]], Any], count: int) -> Callable[..., Any]:
    """A function of so many columns, which DuckDB counts by its signature."""

    def function(*columns: Any) -> Any:
        return compute(columns)

    parameters = [Parameter(f"column{i}", Parameter.POSITIONAL_ONLY) for i in range(count)]
    function.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return function


def _scans(plan: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What a plan says of each of its scans of files."""
    for node in plan:
        if "PARQUET" in node["name"].upper():
            yield node["extra_info"]
        yield from _scans(node["children"])
