"""Tables of others' tools: what a run and an export leave is read by each of them as it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset
import pytest

from kraftcheck.ci.dataset.store.dataset import Dataset

READERS: dict[str, Callable[[Path], list[Any]]] = {
    "pandas": lambda place: pd.read_parquet(place)["depth"].tolist(),
    "pyarrow": lambda place: pyarrow.dataset.dataset(place, partitioning="hive").to_table()["depth"].to_pylist(),
    "polars": lambda place: pl.scan_parquet(place / "**/*.parquet", hive_partitioning=True).collect()["depth"].to_list(),
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
