"""Exports of a system, and queries of its states."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from kraftcheck.ci.dataset.options import DatasetPlace, dataset_place
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.spark.query_engine import SparkQueries, spark_engine
from kraftcheck.ci.spark.session import check_pyarrow, is_submitted
from kraftcheck.ci.systems.report import DOCUMENT_VERSION
from kraftcheck.ci.systems.subject import DEFAULT_RULES, program, subject, system_and_bounds
from kraftcheck.ci.terminal import machine, options
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import Column, Screen, Table, console, typed_lines
from kraftcheck.ci.terminal.files import WRITTEN, check_named, check_writable, results, write, write_json
from kraftcheck.ci.terminal.plots import LevelCost, check_plot, plot
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE, Trace
from kraftcheck.solvers.reference.confirm import EngineDisagreement, run
from kraftcheck.solvers.tla.module import TooWide, module
from kraftcheck.solvers.tla.readable import readable
from kraftcheck.solvers.traces.render import lines


@click.command("export", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SYSTEM [--BOUND N]...")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@click.option("--rules", help=f"Rule set, PRESET[+VARIANT|-VARIANT...]; default {DEFAULT_RULES}.")
@click.option("--tla", "target", metavar="FILE.tla", help="The module; FILE.cfg is written beside it.")
@click.option("--readable", "for_people", is_flag=True, help="For people: names, sets and operators as in the source.")
@click.option("--to", "folder", type=click.Path(path_type=Path), metavar="DIR", help="states: DIR/depth=N/*.parquet.")
@click.option("--system", help="states: the system explored, module:attribute, where it is one of your own.")
def export_command(
    words: tuple[str, ...], scope: str | None, rules: str | None, target: str | None, for_people: bool,
    folder: Path | None, system: str | None,
) -> None:  # fmt: skip
    """Write a system as a module of TLA+ that TLC runs, or explored states as Parquet.

    The module has initial states, actions, what is fair, and properties, of the
    terms that every engine reads. Steps that leave a domain are no steps. Goals
    are defined, and not checked. What kraftcheck did not write is not replaced.

    `states OUT` has the states that --engine disk or spark left in OUT, decoded
    as `query` decodes them, for any reader of Parquet. 20 says that the space
    is not whole.

    \b
    Examples:
      kraftcheck export elections --scope tiny --rules fixed --tla Elections.tla
      kraftcheck export states OUT --to DIR
    """
    if words[:1] == ("states",):
        check_idle("is of a system, and states are exported", "scope", "rules", "target")
        if len(words) != 2 or folder is None:
            raise Refusal("export states takes the folder of an exploration and a place: states OUT --to DIR")
        sys.exit(export_states(words[1], folder, system))
    check_idle("is of `export states OUT`", "folder", "system")
    if target is None:
        raise Refusal("export writes a system into --tla FILE.tla, or `states OUT` into --to DIR; name one")
    name, bounds = system_and_bounds(words)
    place = Path(target)
    if place.suffix != ".tla" or not place.stem.isidentifier() or not place.stem.isascii():
        raise Refusal(
            f"--tla takes NAME.tla, where NAME is a word of letters and digits, not {target}; name the module so"
        )
    configuration = place.with_suffix(".cfg")
    for path in (place, configuration):
        check_writable(str(path))
    chosen = subject(name, scope, bounds, rules)
    about = f"{WRITTEN} of {chosen.title()}"
    try:
        if for_people:
            made = readable(lambda: program(chosen), place.stem, about)
        else:
            made = module(program(chosen), place.stem, about)
    except TooWide as error:
        raise Refusal(f"{chosen.name}: {error}") from error
    write(place, made.text)
    write(configuration, f"\\* {WRITTEN}\n{made.configuration}")
    click.echo(f"{chosen.title()}: {place} and {configuration}")
    if made.left_out:
        click.echo(f"not in the module: {', '.join(made.left_out)}")


def export_states(out: str, folder: Path, system: str | None) -> int:
    """Write a dataset's states, decoded, a file a level; the exit code; raises Refusal for places and damage."""
    from kraftcheck.ci.dataset.duckdb_engine import duckdb_engine

    check_pyarrow()
    screen = console()
    data, rows = open_dataset(dataset_place(out), system, "used", screen), 0
    with results("--to", folder) as place, duckdb_engine(data, machine.cores(), "used") as engine:
        for depth in range(len(data.levels)):
            level = place / f"depth={depth}"
            level.mkdir()
            question = f"SELECT * EXCLUDE (depth) FROM states WHERE depth = {depth}"
            rows += engine.write(question, level / "states.parquet")
    screen.plain(f"wrote {folder}: {rows:,} states of {len(data.levels)} levels")
    return 0 if data.complete else EXIT_INCOMPLETE


if TYPE_CHECKING:
    from kraftcheck.ci.dataset.duckdb_engine import DuckDBEngine
    from kraftcheck.ci.dataset.engine import Answer
    from kraftcheck.ci.dataset.store.dataset import Dataset


PROMPT = "query> "


def questions(lines: Iterable[str]) -> Iterator[str]:
    """The questions in lines: each ends with a `;` at the end of a line, an empty line, or the last line."""
    parts: list[str] = []
    for line in lines:
        text = line.rstrip()
        if text.strip() and not (text.lstrip().startswith("--") and not parts):
            parts.append(text)
        if parts and (not text.strip() or text.endswith(";")):
            yield "\n".join(parts).rstrip("; \n")
            parts = []
    if parts:
        yield "\n".join(parts)


ENGINES = ("duckdb", "spark")
VERIFY = ("used", "all", "none")


def open_engine(
    data: Dataset, engine: str, verify: str, workers: int, master: str | None, conf: tuple[str, ...]
) -> AbstractContextManager[DuckDBEngine | SparkQueries]:
    """The engine that answers questions about a dataset; raises Refusal when it does not start, or for damage."""
    if engine == "duckdb":
        from kraftcheck.ci.dataset.duckdb_engine import duckdb_engine

        return duckdb_engine(data, workers, verify)
    return spark_engine(data, master, workers, conf, verify)


def choose_engine(engine: str | None, master: str | None, conf: tuple[str, ...]) -> str:
    """The engine asked for; else Spark where a cluster or setting of it is named; raises Refusal for DuckDB there."""
    if engine == "duckdb":
        check_idle("is Spark's; give it with --engine spark", "master", "conf")
    return engine or ("spark" if master is not None or conf or is_submitted() else "duckdb")


def witness(data: Dataset, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Trace:
    """The shortest trace to a result's first row, replayed on ints; raises Refusal for none, EngineDisagreement."""
    from kraftcheck.ci.dataset.search.levels import CommittedOrigins
    from kraftcheck.ci.dataset.store.commits import REPAIR
    from kraftcheck.ci.dataset.store.dataset import damage_refused
    from kraftcheck.ci.dataset.store.manifests import StatePlace

    if not {"depth", "id"} <= set(columns):
        raise Refusal("--witness needs the columns depth and id of a state in the result, as in SELECT depth, id, ...")
    if not rows:
        raise Refusal("--witness: the result has no row")
    row = dict(zip(columns, rows[0], strict=True))
    _, traced = data.traced()
    depth, identity = row["depth"], row["id"]
    if not isinstance(depth, int) or not isinstance(identity, int):
        raise Refusal("--witness: depth and id of the first row are not those of a state")
    with damage_refused():
        run_ = CommittedOrigins(data.log, data.levels, data.table.words).run_to(StatePlace(depth, identity))
    if not all(0 <= instance < traced.instances for instance in run_.instances):
        raise Refusal(f"--witness: {data.log.out} names an action that the system does not have; {REPAIR}")
    first, steps = run(traced, run_.initial, run_.instances)
    end = steps[-1].state if steps else first
    if traced.layout.pack(end) != run_.end:
        raise EngineDisagreement(f"the dataset says {run_.end} and ints reach {end}")
    return Trace(first, steps, "the row asked for", "sometimes")


def print_answer(screen: Screen, answer: Answer) -> None:
    """A result as a table; where a row does not fit, as records with a field on each line."""
    table = Table([Column(name) for name in answer.columns])
    for row in answer.rows:
        table.add(*map(str, row))
    screen.table(table)
    count = len(answer.rows)
    screen.plain(f"{count} row{'' if count == 1 else 's'}" + (", and more (--limit)" if answer.more else ""))


@click.command("query")
@click.argument("out", type=DatasetPlace(), metavar="OUT")
@click.argument("sql", required=False)
@click.option("--system", help="The system explored, module:attribute, where it is one of your own: its module is run.")
@click.option("--witness", "traced", is_flag=True, help="Show the shortest trace to the first row (columns depth, id).")
@click.option("--plot", "picture", type=click.Path(path_type=Path), help="Draw levels and actions: a PNG or SVG file.")
@click.option("--to", "file", type=click.Path(path_type=Path), help="Write every row: a .parquet or .csv file.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Most rows.")
@click.option("--engine", type=click.Choice(ENGINES), help="Default duckdb; spark with --master or --conf.")
@click.option(
    "--verify", type=click.Choice(VERIFY), default="used", show_default=True,
    help="Level files compared with their digests before they are read; spark takes `used` as all.",
)  # fmt: skip
@click.option("--master", metavar="URL", help="spark: the cluster; default local[WORKERS].")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="spark: a setting of Spark's; repeatable.")
@options.workers
@options.document
def query_command(
    out: AnyPath, sql: str | None, picture: Path | None, file: Path | None, target: str | None, **flags: Any
) -> None:
    """Ask the space that --engine disk or spark left in OUT. Without SQL: one question after the other.

    Views: states (a row a state, a column a field), transitions (before and
    after_ columns, computed when asked for), levels, and the functions
    has(isr, broker) and size(isr). docs/how-to/query.md lists them.

    \b
    Exit codes: 0 the space is whole, 20 it is not (the answer is about the levels so far), 2 bad input.

    \b
    Examples:
      kraftcheck query OUT "SELECT depth, count(*) FROM states GROUP BY depth ORDER BY depth"
      kraftcheck query OUT "SELECT * FROM states WHERE leader IS NULL AND size(elr) > 0 ORDER BY depth" --witness
      kraftcheck query OUT "SELECT * FROM states" --to states.parquet
      kraftcheck query OUT                       # questions from the terminal, or from a pipe
      kraftcheck query OUT --plot levels.svg
    """
    if sql is None:
        check_idle("is of the rows of SQL, and none is given", "traced", "file", "target")
        if picture is not None:
            check_idle("is of the rows of SQL, and none is given", "limit", "engine", "verify", "master", "conf")
    limit, verify, where = flags["limit"], flags["verify"], (flags["master"], flags["conf"])
    kind = choose_engine(flags["engine"], *where)
    check_pyarrow()
    check_targets(target, file, picture, kind)
    screen = console(to_stderr=target == "-")
    data = open_dataset(out, flags["system"], verify, screen)
    code = 0 if data.complete else EXIT_INCOMPLETE
    if picture is not None:
        draw(data, picture, screen)
        if sql is None:
            sys.exit(code)
    with open_engine(data, kind, verify, flags["workers"], *where) as running:
        if sql is None:
            converse(running, screen, limit)
            sys.exit(code)
        if file is not None:
            screen.plain(f"wrote {file}: {cast('DuckDBEngine', running).write(sql, file):,} rows")
            sys.exit(code)
        answer = running.ask(sql, limit)
    print_answer(screen, answer)
    if target is not None:
        write_json(target, document(answer, code, verify))
    if flags["traced"]:
        screen.plain("\n".join(lines(witness(data, answer.columns, answer.rows))))
    sys.exit(code)


def document(answer: Answer, code: int, verify: str) -> dict[str, Any]:
    """An answer as a document."""
    return {
        "version": DOCUMENT_VERSION, "command": "query", "exit_code": code, "complete": code == 0, "verified": verify,
        "columns": list(answer.columns), "rows": [list(row) for row in answer.rows], "more": answer.more,
    }  # fmt: skip


def check_targets(document: str | None, file: Path | None, picture: Path | None, engine: str) -> None:
    """Refuse files that cannot be written, and options of shown rows where every row goes to a file."""
    check_writable(document)
    if picture is not None:
        check_plot(picture)
    if file is None:
        return
    check_idle("is of the rows that are shown, and --to writes every row", "traced", "limit", "target")
    if engine != "duckdb":
        raise Refusal("--to is of DuckDB; of Spark, kraftcheck.open(OUT).spark(session) gives data frames")
    if file.suffix not in (".parquet", ".csv"):
        raise Refusal(f"{file} is no .parquet and no .csv file; name one for --to")
    check_writable(str(file))


def open_dataset(out: AnyPath, system: str | None, verify: str, screen: Screen) -> Dataset:
    """The dataset in a folder, what it lacks being said; raises Refusal for none, or a module that is not named."""
    from kraftcheck.ci.dataset.store.dataset import Dataset

    data = Dataset.open(out, verify=False)
    check_named(out, data.of["system"], system)
    if not data.complete:
        screen.plain(f"incomplete: levels 0 to {len(data.levels) - 1} only; explore --resume finds the rest")
    if verify == "none":
        screen.plain("level files are not compared with their digests (--verify none)")
    return data


def draw(data: Dataset, picture: Path, screen: Screen) -> None:
    """Draw what each level had and took, and transitions per action, into a file."""
    chosen, program = data.traced()
    costs = [
        LevelCost(level.rows, transitions, float(level.cost.get("seconds", 0)), int(level.cost.get("peak", 0)),
                  level.bytes)
        for level, transitions in zip(data.levels, data.transitions(program), strict=True)
    ]  # fmt: skip
    plot(picture, chosen.title(), costs, data.fired(program))
    screen.plain(f"wrote {picture}")


def converse(engine: DuckDBEngine | SparkQueries, screen: Screen, limit: int) -> None:
    """Answer standard input until it ends; a refused question is shown in a terminal, and raises in a script."""
    interactive = sys.stdin.isatty()
    if interactive:
        screen.plain("tables: states, transitions, levels; a question ends with `;` or an empty line, Ctrl-D leaves")
    for sql in questions(typed_lines(PROMPT) if interactive else sys.stdin):
        if not interactive:
            screen.plain(f"{PROMPT}{' '.join(sql.split())}")
        try:
            print_answer(screen, engine.ask(sql, limit))
        except Refusal as error:
            if not interactive:
                raise
            screen.plain(error.message)
    if interactive:
        screen.plain("")  # the cursor is behind the prompt
