"""`kraftcheck query` and `kraftcheck sweep`: answers equal what ints count; the documented examples run."""

import collections
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from attrs import evolve

import kraftcheck as kc
from kraftcheck.ci.dataset.documents import FieldColumn, column_name
from kraftcheck.ci.dataset.engine import DUCKDB, field_sql, successors
from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.explore.sweep import compare
from kraftcheck.ci.spark.query_engine import check_question
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.partition.registration import local_name
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.machine_code.objectcode import ObjectCache
from tests import toys
from tests.ci.spark.levels import begun, program_of
from tests.shared.commands import kraftcheck
from tests.shared.places import DOCS

PAGE = (DOCS / "how-to" / "query.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sql\n(.*?)```\n\n```text\n(.*?)```", PAGE, flags=re.DOTALL)
SPARK = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def on_spark(test: Any) -> Any:
    """Marks a test that starts Spark."""
    for mark in SPARK:
        test = mark(test)
    return test


def answers(out: Path, sql: str, target: Path, *more: object) -> list[list[Any]]:
    """The rows of a query."""
    ran = kraftcheck("query", out, sql, "--json", target, "--limit", 1000, *more)
    assert ran.code == 0, ran.err
    told = json.loads(target.read_text())
    assert set(told) == {"version", "command", "exit_code", "complete", "verified", "columns", "rows", "more"}
    assert (told["version"], told["command"], told["exit_code"]) == (1, "query", 0)
    return list(told["rows"])


@pytest.mark.parametrize(("sql", "shown"), EXAMPLES, ids=["kinds"])
def test_documented_examples_give_what_is_shown(sql: str, shown: str, elections: Path) -> None:
    """Each example of docs/how-to/query.md prints the table below it."""
    ran = kraftcheck("query", elections, sql)
    assert (ran.code, ran.err) == (0, "")
    assert [line.split() for line in ran.out.splitlines()] == [line.split() for line in shown.splitlines()]


def test_the_page_has_three_examples() -> None:
    """No example loses its output."""
    assert len(EXAMPLES) == 1


def test_columns_are_the_fields_of_the_states(elections: Path, tmp_path: Path) -> None:
    """Counts by any field equal those of the states that the native engine finds, unpacked on ints."""
    traced = program(subject("elections", "tiny", {}, "fixed"))
    found = explore(traced, clock=lambda: 0.0)
    states = [traced.layout.unpack(state) for state in found.states()]
    told: dict[str, Any] = {
        "leader": lambda s: None if s.leader < 0 else s.leader, "recovering": lambda s: s.recovering,
        "replicas": lambda s: [*s.replicas], "isr": lambda s: [*s.isr], "last_known_elr": lambda s: [*s.last_known_elr],
        "online_dirs": lambda s: [[*one] for one in s.online_dirs],
        "directories": lambda s: [local_name(one) for one in s.directories.slots],
    }  # fmt: skip
    for name, value in told.items():
        rows = answers(elections, f"SELECT {name}, count(*) FROM states GROUP BY {name}", tmp_path / "a.json")
        counts = collections.Counter(str(value(state)) for state in states)
        assert {str(one): count for one, count in rows} == dict(counts), name


def test_transitions_are_all_that_fire(elections: Path, tmp_path: Path) -> None:
    """The view of transitions has, for each action, as many rows as the exploration took."""
    told = answers(elections, "SELECT action, count(*) FROM transitions GROUP BY action", tmp_path / "a.json")
    fired = Dataset.open(elections).fired(program(subject("elections", "tiny", {}, "fixed")))
    assert dict(told) == {action: n for action, n in fired.items() if n}
    assert sum(fired.values()) == 337_600 - 4


def test_transitions_of_states_of_several_words_are_all_that_fire(tmp_path: Path) -> None:
    """So has that of a system whose states take more than one word."""
    words = ("explore", "replication", "--scope", "tiny", "--rules", "fixed", "--quiet")
    told = kraftcheck(*words, "--engine", "disk", "--out", tmp_path / "out", "--json", "-").document()
    data = Dataset.open(tmp_path / "out")
    assert data.table.words > 1
    [[count]] = answers(tmp_path / "out", "SELECT count(*) FROM transitions", tmp_path / "a.json")
    assert count == told["states"]["generated"] - told["states"]["levels"][0]


def test_transitions_of_a_level_lead_from_the_level_before(elections: Path, tmp_path: Path) -> None:
    """A level is charged with the transitions of the states one level before, so the first one with none."""
    data = Dataset.open(elections)
    taken = data.transitions(program(subject("elections", "tiny", {}, "fixed")))
    asked = answers(elections, "SELECT depth, count(*) FROM transitions GROUP BY depth", tmp_path / "a.json")
    after = {depth + 1: count for depth, count in asked}
    assert taken == [after.get(level.depth, 0) for level in data.levels]


def test_levels_and_parents_fit_the_states(elections: Path, tmp_path: Path) -> None:
    """The levels count the states, and every state but the first has its parent one level before."""
    target = tmp_path / "a.json"
    levels = answers(elections, "SELECT depth, states FROM levels ORDER BY depth", target)
    assert levels == answers(elections, "SELECT depth, count(*) FROM states GROUP BY depth ORDER BY depth", target)
    orphans = (
        "SELECT count(*) FROM states c LEFT JOIN states p ON p.depth = c.depth - 1 AND p.id = c.parent "
        "WHERE c.depth > 0 AND p.id IS NULL"
    )
    assert answers(elections, orphans, target) == [[0]]


def test_a_witness_is_the_shortest_trace_to_the_row(elections: Path, tmp_path: Path) -> None:
    """The trace ends in the row asked for, after as many steps as its depth, as ints replay it."""
    sql = "SELECT depth, id, leader, elr FROM states WHERE leader IS NULL AND size(elr) > 0 ORDER BY depth, id"
    ran = kraftcheck("query", elections, sql, "--limit", 1, "--witness")
    depth = int(ran.out.splitlines()[1].split()[0])
    steps = [int(line.split()[0]) for line in ran.out.splitlines()[3:] if re.match(r" ?\s\d+  \w", line)]
    assert steps == list(range(depth + 1))
    assert "leader: 0 -> none" in ran.out


@pytest.mark.parametrize(
    ("sql", "more", "message"),
    [
        ("SELECT leder FROM states", (), "leader"),
        ("SELEC 1", (), "syntax error"),
        ("SELECT * FROM read_csv('/etc/passwd')", (), "disabled by configuration"),
        ("SELECT depth FROM states", ("--witness",), "--witness needs the columns depth and id"),
        ("SELECT depth, id FROM states WHERE depth > 99", ("--witness",), "the result has no row"),
    ],
)
def test_bad_queries_are_one_line(sql: str, more: Any, message: str, elections: Path) -> None:
    """What DuckDB or the witness cannot use is refused in one line that names it; other files are not read."""
    ran = kraftcheck("query", elections, sql, *more)
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert message in ran.err


STATEMENTS = [
    "CREATE TABLE t AS SELECT 1", "CREATE OR REPLACE TEMPORARY VIEW states AS SELECT 1", "DROP VIEW states", "SET a=1",
    "INSERT INTO t SELECT 1", "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "FROM s INSERT INTO t SELECT *",
    "EXPLAIN SELECT 1", "SHOW TABLES", "CACHE TABLE states", "/* SELECT */ DROP VIEW states", "SELECT 1; DROP VIEW s",
    "INSERT OVERWRITE DIRECTORY 'made' USING parquet SELECT 1", "USE other", "ADD JAR 'x.jar'", ";",
]  # fmt: skip
"""What is no question, or not one."""


@on_spark
def test_only_one_question_is_asked(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements are refused by Spark's own parser before anything runs; questions of every form pass."""
    monkeypatch.chdir(tmp_path)
    for sql in STATEMENTS:
        with pytest.raises(Refusal, match="the query: "):
            check_question(session, sql)
    for sql in ("SELECT 1;", "with a as (select 1) select * from a", "VALUES (1)", "FROM t SELECT a", "(SELECT 1)",
                "-- asked\nSELECT 1", "TABLE t", "SELECT 1 UNION SELECT 2"):  # fmt: skip
        check_question(session, sql)
    assert list(tmp_path.iterdir()) == []


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@on_spark
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_query_leaves_nothing_behind(
    engine: str, elections: Path, shared: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dataset, current folder and folder of temporary files are as they were, after an answer and after a refusal."""
    before, scratch = contents(elections), tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    assert kraftcheck("query", elections, "SELECT count(*) FROM states", "--engine", engine).code == 0
    assert kraftcheck("query", elections, "CREATE TABLE t AS SELECT 1", "--engine", engine).code == 2
    assert contents(elections) == before
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("command", [["query", "SELECT 1"], ["query", "--plot=a.svg"], ["sweep"]])
def test_a_dataset_does_not_choose_what_is_run(command: list[str], tmp_path: Path) -> None:
    """A dataset that names a user's module has it imported only where the command line names it too."""
    named = evolve(toys.HASTY, name="tests.toys:HASTY")
    run, runner = begun(program_of(named, "3"), tmp_path / "out")
    run.expand(runner)
    told = kraftcheck(command[0], tmp_path / "out", *command[1:]).refusal()
    assert told.endswith("whose module would be run; if you trust it, --system tests.toys:HASTY")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing", "SELECT 1"], "holds no exploration"),
        (["{out}", "--json", "-"], "--json is of the rows of SQL, and none is given"),
        (["{out}", "SELECT 1", "--engine", "duckdb", "--master", "local[1]"], "--master is Spark's"),
        (["{out}", "--plot", "levels.gif"], "--plot writes .png or .svg, not 'levels.gif'"),
        (["{out}", "--plot", "nowhere/levels.svg"], "there is no folder nowhere"),
    ],
)
def test_bad_words_are_one_line(words: list[str], message: str, elections: Path) -> None:
    """A folder without a run and a picture that cannot be made are refused before Spark starts."""
    assert message in kraftcheck("query", *(word.format(out=elections) for word in words)).refusal()


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_pictures_are_written(suffix: str, elections: Path, tmp_path: Path) -> None:
    """States per level and transitions per action become a picture of the kind asked for."""
    place = tmp_path / f"levels.{suffix}"
    assert kraftcheck("query", elections, "--plot", place).code == 0
    start = place.read_bytes()[:200]
    assert (b"<?xml" in start) if suffix == "svg" else start.startswith(b"\x89PNG")


@on_spark
def test_a_sweep_finds_no_disagreement(elections: Path, shared: None) -> None:
    """Compiled rules and ints agree on a sample of the states."""
    ran = kraftcheck("sweep", elections, "--fraction", 0.005)
    assert (ran.code, ran.err) == (0, "")
    states, transitions = re.match(r"(\d+) of 18,704 states: ([\d,]+) transitions, 0 disagreements", ran.last).groups()  # type: ignore[union-attr]
    assert 40 < int(states) < 200
    assert int(transitions.replace(",", "")) > 10 * int(states)


def test_a_sweep_notices_another_kernel() -> None:
    """Compiled rules of a system with another guard or another property are found to differ from ints."""
    right, hasty = program_of(toys.TWO_PHASE, "3"), program_of(toys.HASTY, "3")
    found = explore(right, clock=lambda: 0.0)
    states = np.array(sorted(found.states()), dtype=np.uint64)
    spec, other = (block_spec(one, 3, ObjectCache(None)) for one in (right, hasty))
    agreed = compare(right, spec, states)
    assert (agreed.states, agreed.disagreements) == (288, 0)
    assert agreed.transitions == found.generated - 1
    differing = compare(right, other, states)
    assert differing.disagreements > 0
    assert re.search(r"TMCommit\(\) is not enabled .* on ints, and is taken by the engine", differing.examples[0])
    goal = evolve(toys.TWO_PHASE, properties=lambda setting: [
        evolve(p, predicate=lambda state: state.aborted.is_empty()) if p.id == "consistent" else p
        for p in toys.TWO_PHASE.properties(setting)
    ])  # fmt: skip
    wrong = compare(right, block_spec(program_of(goal, "3"), 3, ObjectCache(None)), states).examples
    assert "consistent is true on ints, and false by the engine; in the state" in wrong[0]


def test_transitions_without_an_engine() -> None:
    """The function behind the view gives, for each state, what the kernel's successors are."""
    traced = program_of(toys.TWO_PHASE, "3")
    spec = block_spec(traced, 3, ObjectCache(None))
    states = pa.array([traced.initial[0][0]] * 2, pa.int64())
    first, second = successors(lambda: spec)([states]).to_pylist()
    assert first == second
    assert [step["instance"] for step in first] == [4, 5, 6, 7, 8, 9, 10]
    assert successors(lambda: spec)([states[:0]]).to_pylist() == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"word": 0, "shift": 60, "bits": 4, "lo": -1, "kind": "number"}, 8),
        ({"word": 1, "shift": 0, "bits": 1, "lo": 0, "kind": "truth"}, True),
        ({"word": 1, "shift": 0, "bits": 0, "lo": 0, "kind": "truth"}, False),
        ({"word": 0, "shift": 60, "bits": 4, "lo": 0, "kind": "set"}, [0, 3]),
        ({"word": 0, "shift": 0, "bits": 0, "lo": 6, "kind": "set"}, [1, 2]),
        ({"word": 0, "shift": 0, "bits": 0, "lo": 0, "kind": "set"}, []),
        ({"word": 1, "shift": 0, "bits": 2, "lo": -2, "kind": "number", "none": -1}, None),
        ({"word": 0, "shift": 0, "bits": 0, "lo": 5, "kind": "number"}, 5),
        ({"word": 1, "shift": 0, "bits": 2, "lo": 1, "names": ["red", "green", "blue"], "kind": "number"}, "green"),
    ],
    ids=["top bits", "truth", "never", "set", "one set", "no set", "none", "constant", "name"],
)
def test_fields_decode_as_layouts_unpack(field: dict[str, Any], value: Any) -> None:
    """Constant, shifted, truth and named fields are decoded, those with the sign bit of their word too."""
    words = "(SELECT CAST(-7782220156096217084 AS BIGINT) AS w0, CAST(1 AS BIGINT) AS w1)"
    sql = field_sql(FieldColumn(**{"name": "f", "names": [], "none": None, **field}), DUCKDB)
    assert duckdb.sql(f"SELECT {sql} FROM {words}").fetchall() == [(value,)]
    assert column_name("brokers[1].isr") == "brokers_1_isr"


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_every_row_is_written_where_other_tools_read_it(suffix: str, elections: Path, tmp_path: Path) -> None:
    """`query --to` writes all rows of a question, as pandas reads them."""
    target = tmp_path / f"states.{suffix}"
    ran = kraftcheck("query", elections, "SELECT depth, leader FROM states ORDER BY depth, id", "--to", target)
    count = sum(level.rows for level in Dataset.open(elections).levels)
    assert (ran.code, ran.out) == (0, f"wrote {target}: {count:,} rows\n"), ran.err
    frame = pd.read_parquet(target) if suffix == "parquet" else pd.read_csv(target)
    rows = answers(elections, "SELECT depth, leader FROM states ORDER BY depth, id", tmp_path / "rows.json")
    assert len(frame) == count
    assert [[None if pd.isna(one) else one for one in row] for row in frame.head(1000).to_numpy().tolist()] == rows
    assert [file.name for file in tmp_path.iterdir() if "states" in file.name] == [target.name]


@pytest.mark.parametrize(
    ("sql", "file", "more", "said"),
    [
        ("SELECT {'a': 1} AS one", "a.csv", (), "a .parquet file holds every column"),
        ("SELECT 1", "a.txt", (), "is no .parquet and no .csv file"),
        ("SELECT 1", "none/a.csv", (), "there is no folder"),
        ("SELECT 1", "a.csv", ("--limit", 3), "--to writes every row"),
        ("SELECT 1", "a.csv", ("--engine", "spark"), "--to is of DuckDB"),
        ("SELECT nothing FROM states", "a.csv", (), "the query: "),
    ],
)
def test_what_is_not_written_is_one_line(
    sql: str, file: str, more: tuple[object, ...], said: str, elections: Path, tmp_path: Path
) -> None:
    """What `query --to` cannot write is refused, and no part of a file stays."""
    assert said in kraftcheck("query", elections, sql, "--to", tmp_path / file, *more).refusal()
    assert list(tmp_path.iterdir()) == []


@on_spark
def test_a_session_of_the_user_asks_a_dataset(session: Any, elections: Path) -> None:
    """`kraftcheck.open(OUT).spark(session)` gives the views as data frames, and leaves the session open."""
    views = kc.open(str(elections)).spark(session)
    found = views["states"].where("leader IS NULL AND size(elr) > 0").groupBy("depth").count()
    assert found.orderBy("depth").first() == (2, 4)
    assert views["transitions"].where("depth = 0").count() > 0
    assert session.sql("SELECT count(*) FROM levels").first()[0] == views["levels"].count()
