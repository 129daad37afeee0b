"""Tables of others' tools: what a run and an export leave is read by each of them as it stands."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset
import pytest

import kraftcheck as kc
from kraftcheck.ci.dataset.store.dataset import Dataset
from tests.shared.commands import kraftcheck

READERS: dict[str, Callable[[Path], list[Any]]] = {
    "pandas": lambda place: pd.read_parquet(place)["depth"].tolist(),
    "pyarrow": lambda place: pyarrow.dataset.dataset(place, partitioning="hive").to_table()["depth"].to_pylist(),
    "polars": lambda place: pl.read_parquet(place / "**/*.parquet", hive_partitioning=True)["depth"].to_list(),
    "duckdb": lambda place: [row[0] for row in duckdb.sql(f"SELECT depth FROM '{place}/*/*.parquet'").fetchall()],
}


@pytest.mark.parametrize("tool", READERS)
def test_levels_are_read_as_they_stand(tool: str, elections: Path) -> None:
    """Each tool reads the folder of levels, manifests and all, and has of each depth as many rows as were committed."""
    levels = Dataset.open(elections).levels
    assert Counter(READERS[tool](elections / "levels")) == {level.depth: level.rows for level in levels}


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_spark_reads_levels_as_they_stand(session: Any, elections: Path) -> None:
    """So does Spark, where depth is a number."""
    levels = Dataset.open(elections).levels
    frame = session.read.parquet(f"file://{elections}/levels")
    assert dict(frame.dtypes)["depth"] == "int"
    assert {row.depth: row["count"] for row in frame.groupBy("depth").count().collect()} == {
        level.depth: level.rows for level in levels
    }


@pytest.fixture(scope="module")
def exported(elections: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The decoded states."""
    place = tmp_path_factory.mktemp("exported") / "states"
    ran = kraftcheck("export", "states", elections, "--to", place)
    assert (ran.code, ran.out) == (0, f"wrote {place}: 18,704 states of 14 levels\n"), ran.err
    return place


@pytest.mark.parametrize("tool", READERS)
def test_exported_states_are_read_as_they_stand(tool: str, exported: Path, elections: Path) -> None:
    """Each tool reads what an export writes, with a number for depth."""
    levels = Dataset.open(elections).levels
    assert Counter(READERS[tool](exported)) == {level.depth: level.rows for level in levels}


def test_a_field_has_one_spelling_everywhere(exported: Path, elections: Path) -> None:
    """States of the export, of SQL and of the native search have the same columns, types and values."""
    native = kc.explore("elections", scope="tiny", rules="fixed").states().arrow()
    run = kc.open(str(elections))
    names = ", ".join(native.column_names)
    asked = run.arrow(f"SELECT {names} FROM states")
    read = pyarrow.dataset.dataset(exported, partitioning="hive").to_table()
    assert native.schema.types == asked.schema.types == [read.schema.field(name).type for name in native.column_names]
    rows = [Counter(map(str, table.select(native.column_names).to_pylist())) for table in (native, asked, read)]
    assert rows[0] == rows[1] == rows[2]
    assert {*read.column_names} == {*run.arrow().column_names} > {*native.column_names}
    assert (
        run.pandas(f"SELECT {names} FROM states").leader.isna().sum()
        == run.sql("SELECT count(*) FROM states WHERE leader IS NULL").rows[0][0]
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("states", "{out}"), "export states takes the folder of an exploration and a place"),
        (("states", "{out}", "--to", "{out}"), "--to"),
        (("states", "nowhere", "--to", "{new}"), "nowhere holds no exploration"),
        (("states", "{out}", "--to", "{new}", "--scope", "tiny"), "--scope is of a system, and states are exported"),
        (("elections", "--to", "{new}"), "--to is of `export states OUT`"),
        (("elections",), "export writes a system into --tla FILE.tla"),
    ],
)
def test_an_export_that_cannot_be_is_one_line(
    words: tuple[str, ...], said: str, elections: Path, tmp_path: Path
) -> None:
    """What is no dataset, no place, or of the other export is refused, and nothing is written."""
    asked = [word.format(out=elections, new=tmp_path / "new") for word in words]
    assert said in kraftcheck("export", *asked).refusal()
    assert list(tmp_path.iterdir()) == []
