"""DuckDB and Spark give the same answers; filters reach the files and the states before transitions are made."""

import contextlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.dataset.duckdb_engine import DuckDBEngine, duckdb_engine
from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.spark.query_engine import SparkQueries, register
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.blocks.tasks import BlockKernel
from tests.ci.dataset.test_query import EXAMPLES, on_spark

QUESTIONS = [
    *(sql for sql, _ in EXAMPLES),
    "SELECT count(*) AS n FROM states WHERE depth = 3",
    "SELECT action, count(*) AS n, max(after_leader) AS m FROM transitions WHERE depth = 3 AND leader IS NOT NULL "
    "GROUP BY action ORDER BY action",
    "SELECT * FROM states WHERE depth BETWEEN 1 AND 2 ORDER BY depth, id",
    "SELECT * FROM transitions WHERE depth = 1 ORDER BY depth, id, instance LIMIT 40",
    "SELECT depth, states FROM levels ORDER BY depth DESC",
    "SELECT has(isr, leader) AS h, has(isr, -1) AS no, count(*) AS n FROM states GROUP BY ALL ORDER BY n",
    "SELECT isr AS m, size(array_except(isr, elr)) AS e, avg(depth) AS a, sum(id % 7) AS s FROM states GROUP BY ALL "
    "ORDER BY s, a",
    "WITH last AS (SELECT max(depth) AS d FROM states) SELECT depth, id, action, arguments FROM states, last "
    "WHERE depth = d ORDER BY id",
    "SELECT c.depth, count(*) AS n FROM states c JOIN states p ON p.depth = c.depth - 1 AND p.id = c.parent "
    "WHERE p.leader IS DISTINCT FROM c.leader GROUP BY c.depth ORDER BY c.depth",
    "SELECT action, count(*) FILTER (WHERE cardinality(elr) > 0) AS n FROM states GROUP BY action ORDER BY n, action",
    "SELECT depth, row_number() OVER (ORDER BY depth, id) AS r, action FROM states ORDER BY action, depth, id LIMIT 9",
]
"""Questions: fields, names, sets, joins, windows, nulls first, whole rows."""


@pytest.fixture(scope="module")
def data(elections: Path) -> Dataset:
    """The dataset, its files compared with their digests."""
    return Dataset.open(elections)


def compared(data: Dataset, session: Any, questions: list[str]) -> int:
    """How many rows both engines gave to these questions, the same ones."""
    spark, rows = SparkQueries(session, data, Path("spark.log")), 0
    with duckdb_engine(data, 2, "used") as duck:
        for sql in questions:
            mine, other = duck.ask(sql, 500), spark.ask(sql, 500)
            assert mine == other, sql
            rows += len(mine.rows)
    return rows


@on_spark
@pytest.mark.slow
def test_both_engines_give_the_same_to_every_question(data: Dataset, session: Any) -> None:
    """Columns and rows of states, transitions, sets, joins, windows, groups and of the documented examples."""
    assert compared(data, session, QUESTIONS) > 300


@contextlib.contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Meanwhile, how many states had their transitions computed in this process."""
    seen, original = [0], BlockKernel.transitions

    def count(self: BlockKernel, states: Any) -> Any:
        seen[0] += len(states)
        return original(self, states)

    monkeypatch.setattr(BlockKernel, "transitions", count)
    yield seen


def test_filters_reach_the_states(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Transitions are computed of the states that a question is about, and of no others."""
    about = "depth = 3 AND leader IS NULL AND size(elr) > 0"
    with counted(monkeypatch) as seen, duckdb_engine(data, 1, "used") as engine:
        ((states,),) = engine.ask(f"SELECT count(*) FROM states WHERE {about}", 1).rows
        ((steps,),) = engine.ask(f"SELECT count(*) FROM transitions WHERE {about}", 1).rows
        assert (states, seen[0]) == (82, 82)
        assert steps > states
        ((kept,),) = engine.ask(f"SELECT count(*) FROM transitions WHERE {about} AND after_leader IS NOT NULL", 1).rows
        assert (0 < kept < steps, seen[0]) == (True, 164)


@on_spark
def test_filters_reach_the_files_under_spark(data: Dataset, session: Any) -> None:
    """Spark reads one level where depth is given, and filters states before it computes their transitions."""
    register(session, data, computes=True)
    frame = session.sql("SELECT count(*) FROM transitions WHERE depth = 3 AND leader IS NULL")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    made, filtered = plan.index("ArrowEvalPython"), plan.index("Filter ")
    assert made < filtered < plan.index("FileScan parquet")
    assert "PartitionFilters: [isnotnull(depth" in plan


STATEMENTS = [
    "CREATE TABLE t AS SELECT 1", "CREATE OR REPLACE VIEW states AS SELECT 1", "DROP VIEW states", "SET threads = 1",
    "INSERT INTO levels SELECT * FROM levels", "WITH a AS (SELECT 1) INSERT INTO levels SELECT * FROM a",
    "EXPLAIN SELECT 1", "COPY states TO 'made.csv'", "ATTACH 'made.db'", "INSTALL httpfs", "PRAGMA version", ";",
    "SELECT 1; DROP VIEW states", "/* SELECT */ DROP VIEW states", "CALL pragma_version()", "DELETE FROM levels", "",
]  # fmt: skip
"""What is no question, or not one."""


def test_duckdb_answers_one_question(data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements are refused before anything runs, and questions of every form pass; no Python variable is a table."""
    monkeypatch.chdir(tmp_path)
    rows = [(1,)]
    with duckdb_engine(data, 1, "used") as engine:
        for sql in STATEMENTS:
            with pytest.raises(Refusal, match="the query: only one question is asked"):
                engine.ask(sql, 1)
        for sql in (
            "SELECT 1;",
            "with a as (select 1) select * from a",
            "VALUES (1)",
            "(SELECT 1)",
            "-- why\nSELECT 1",
        ):
            assert engine.ask(sql, 1).rows == rows
        with pytest.raises(Refusal, match="rows does not exist"):
            engine.ask("SELECT * FROM rows", 1)
        assert engine.ask("FROM states SELECT count(*)", 1).rows == [(18_704,)]
    assert list(tmp_path.iterdir()) == []


def test_more_rows_than_asked_for_are_said(data: Dataset) -> None:
    """The first rows come in the order of the question, and whether there are others."""
    with duckdb_engine(data, 1, "used") as engine:
        answer = engine.ask("SELECT depth FROM levels ORDER BY depth DESC", 2)
        assert (answer.rows, answer.more) == ([(13,), (12,)], True)
        assert not engine.ask("SELECT depth FROM levels", 100).more


def spoilt(out: Path, depth: int) -> Path:
    """A level file of which the values of one state are altered, so that it still reads."""
    (path,) = (out / "levels" / f"depth={depth}").glob("*.parquet")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("verify", ["used", "all", "none"])
def test_no_damaged_file_is_read_in_silence(verify: str, elections: Path, tmp_path: Path) -> None:
    """What a question reads is compared with its digest first, other levels only on request; none is an option."""
    out = Path(shutil.copytree(elections, tmp_path / "out"))
    path = spoilt(out, 7)

    def asked(sql: str) -> str:
        try:
            with duckdb_engine(Dataset.open(out, verify=False), 1, verify) as engine:
                engine.ask(sql, 1)
        except Refusal as error:
            return error.message
        return "answered"

    for sql, reads in (
        ("SELECT count(*) FROM states WHERE depth = 3", False),
        ("SELECT count(*) FROM states WHERE depth < 7 OR depth IN (9, 11)", False),
        ("SELECT count(*) FROM transitions WHERE depth = 2", False),
        ("SELECT sum(states) FROM levels", False),
        ("SELECT count(*) FROM states", True),
        ("SELECT count(*) FROM states WHERE depth % 2 = 1", True),
        ("SELECT count(*) FROM transitions WHERE depth BETWEEN 6 AND 7", True),
        ("SELECT count(*) FROM states c JOIN states p ON p.id = c.parent WHERE c.depth = 8 AND p.depth = 7", True),
        ("SELECT count(*) FROM states WHERE depth = (SELECT max(states) FROM levels) - 1000", True),
    ):
        said = asked(sql)
        if verify == "all" or (verify == "used" and reads):
            assert said.startswith(f"{path}: its bytes are not those that were committed"), sql
        elif verify == "used":
            assert said == "answered", sql
        else:
            assert "committed" not in said, sql


def test_each_level_is_compared_once(data: Dataset) -> None:
    """A session compares the files of a level before the first question that reads it, and not again."""
    with duckdb_engine(data, 1, "used") as engine:
        assert isinstance(engine, DuckDBEngine)
        engine.ask("SELECT count(*) FROM states WHERE depth IN (2, 4)", 1)
        assert engine.verified == {0, 2, 4}
        engine.ask("SELECT count(*) FROM states", 1)
        assert engine.verified == set(range(14))
