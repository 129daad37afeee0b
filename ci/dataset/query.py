"""`kraftcheck query`: SQL over an explored space."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kraftcheck.ci.spark.session import check_packages, for_sql, parse_conf, start_session
from kraftcheck.ci.systems.report import DOCUMENT_VERSION
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.cache import cache_folder
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import check_named, check_writable, write_json
from kraftcheck.ci.terminal.parameter_types import check_idle
from kraftcheck.ci.terminal.plots import check_plot, plot
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.table import Column, Table
from kraftcheck.solvers.machine_code.objectcache import ObjectCache
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE, Trace
from kraftcheck.solvers.reference.confirm import run
from kraftcheck.solvers.traces.render import lines

if TYPE_CHECKING:
    from kraftcheck.ci.spark.store.dataset import Dataset

@contextlib.contextmanager
def open_session(data: Dataset, master: str | None, workers: int, conf: tuple[str, ...]) -> Iterator[tuple[Any, Path]]:
    """A Spark session for a dataset whose files are what was committed, and the file with Spark's messages.

    Nothing is written below the dataset, nor into the current folder. The messages stay where a job fails.

    Raises:
        Refusal: when Spark does not start, or a file is damaged.
    """
    from kraftcheck.ci.spark.errors import JobFailedError
    from kraftcheck.ci.spark.store.digests import check_on

    place = Path(tempfile.mkdtemp(prefix="kraftcheck-query-"))
    try:
        messages = place / "query.log"
        own = {"spark.sql.catalogImplementation": "in-memory", "spark.sql.warehouse.dir": str(place / "warehouse")}
        session = start_session(master, workers, {**own, **parse_conf(conf)}, messages)
        try:
            if not data.checked:
                check_on(session, data.log, data.commits, messages)
            yield session, messages
        finally:
            session.stop()
    except JobFailedError:
        raise
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    shutil.rmtree(place, ignore_errors=True)


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


def ask(
    opened_session: tuple[Any, Path], data: Dataset, sql: str, limit: int
) -> tuple[Sequence[str], list[tuple[Any, ...]], bool]:
    """Columns and the first rows of a query, and whether there are more.

    Raises:
        Refusal: for SQL that Spark does not take, in one line.
    """
    from kraftcheck.ci.spark.errors import job_error
    from kraftcheck.ci.spark.store.dataset import register, rows_of
    from kraftcheck.solvers.blocks.kernel import block_spec

    session, messages = opened_session
    check_question(session, sql)

    spec = None
    if "transitions" in sql.lower():
        bits = int(data.of["buckets"]).bit_length() - 1
        handle = session.sparkContext.broadcast(block_spec(data.traced()[1], bits, ObjectCache(cache_folder())))
        spec = lambda: handle.value  # noqa: E731
    register(session, data, spec)
    from pyspark.errors import AnalysisException, ParseException

    try:
        with for_sql(session, sum(level.rows for level in data.levels)):
            return rows_of(session.sql(sql), limit)
    except (AnalysisException, ParseException) as error:
        raise _unusable(error) from error
    except Exception as error:
        raise job_error(error, messages) from error


def witness(data: Dataset, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Trace:
    """The shortest trace to the first row of a result, replayed on ints.

    Raises:
        Refusal: when there is no row, or it does not say which state it is.
    """
    from kraftcheck.ci.spark.origins import CommittedOrigins
    from kraftcheck.ci.spark.store.places import StatePlace

    if not {"depth", "id"} <= set(columns):
        raise Refusal("--witness needs the columns depth and id of a state in the result, as in SELECT depth, id, ...")
    if not rows:
        raise Refusal("--witness: the result has no row")
    row = dict(zip(columns, rows[0], strict=True))
    _, traced = data.traced()
    origins = CommittedOrigins(data.log, data.commits, data.table["words"])
    run_ = origins.run_to(StatePlace(int(row["depth"]), int(row["id"])))
    first, steps = run(traced, run_.initial, run_.instances)
    end = steps[-1].state if steps else first
    if traced.layout.pack(end) != run_.end:
        raise RuntimeError(f"the dataset says {run_.end} and ints reach {end}")
    return Trace(first, steps, "the row asked for", "sometimes")


def show(screen: Screen, columns: Sequence[str], rows: Sequence[Sequence[Any]], more: bool) -> None:
    """A result as a table; where a row does not fit, as records with a field on each line."""
    table = Table([Column(name) for name in columns])
    for row in rows:
        table.add(*map(str, row))
    screen.table(table)
    screen.plain(f"{len(rows)} row{'' if len(rows) == 1 else 's'}" + (", and more (--limit)" if more else ""))


@click.command("query")
@click.argument("out", type=click.Path(path_type=Path), metavar="OUT")
@click.argument("sql", required=False)
@click.option("--system", help="The system explored, module:attribute, where it is one of your own: its module is run.")
@click.option("--witness", "traced", is_flag=True, help="Show the shortest trace to the first row (columns depth, id).")
@click.option("--plot", "picture", type=click.Path(path_type=Path), help="Draw levels and actions: a PNG or SVG file.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Most rows.")
@click.option("--master", metavar="URL", help="The cluster; default local[WORKERS].")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark's; repeatable.")
@options.workers
@options.document
def query_command(
    out: Path, sql: str | None, system: str | None, traced: bool, picture: Path | None, limit: int, master: str | None,
    conf: tuple[str, ...], workers: int, target: str | None,
) -> None:  # fmt: skip
    """Ask the space that `explore --engine spark --out OUT` left.

    Views: states (a row a state, a column a field), transitions (before and
    after_ columns, computed when asked for), levels, and the functions
    has(set, broker) and members(set). docs/how-to/query.md lists them.

    \b
    Exit codes: 0 the space is whole, 20 it is not (the answer is about the levels so far), 2 bad input.

    \b
    Examples:
      kraftcheck query OUT "SELECT depth, count(*) FROM states GROUP BY depth ORDER BY depth"
      kraftcheck query OUT "SELECT * FROM states WHERE leader < 0 AND elr > 0 ORDER BY depth" --witness
      kraftcheck query OUT --plot levels.svg
    """
    if sql is None and picture is None:
        raise Refusal("nothing is asked: give SQL, or --plot FILE")
    if sql is None:
        check_idle("is of the rows of SQL, and none is given", "traced", "target", "limit", "master", "conf")
    check_packages()
    from kraftcheck.ci.spark.store.dataset import Dataset

    check_writable(target)
    data = Dataset.open(out)
    check_named(out, data.of["system"], system)
    screen = console(to_stderr=target == "-")
    code = 0 if data.complete else EXIT_INCOMPLETE
    if not data.complete:
        screen.plain(f"incomplete: levels 0 to {len(data.levels) - 1} only; explore --resume finds the rest")
    if picture is not None:
        check_plot(picture)
        chosen, program = data.traced()
        plot(picture, chosen.title(), [level.rows for level in data.levels], data.fired(program))
        screen.plain(f"wrote {picture}")
    if sql is None:
        sys.exit(code)
    with open_session(data, master, workers, conf) as running:
        columns, rows, more = ask(running, data, sql, limit)
    show(screen, columns, rows, more)
    if target is not None:
        about = {"version": DOCUMENT_VERSION, "command": "query", "exit_code": code, "complete": data.complete}
        write_json(target, {**about, "columns": list(columns), "rows": [list(row) for row in rows], "more": more})
    if traced:
        screen.plain("\n".join(lines(witness(data, columns, rows))))
    sys.exit(code)
