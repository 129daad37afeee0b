"""The page of the site with what every command says of itself."""

from collections.abc import Iterator

import click

from kraftcheck.ci.terminal.commands import cli

WIDTH = 100

HEAD = """# Commands

Every command with its arguments, options and exit codes, as `kraftcheck COMMAND --help` prints them. What the verdicts
and exit codes mean is in [reports](reports.md).

{table}

Programs beside them, for people who work on kraftcheck:

| program | does |
|---|---|
| `./ci/test` | lint, types and tests, of costly ones a share that the commit draws; arguments go to pytest |
| `./ci/check` | every expected verdict, and the vectors of Kafka's own tests; arguments go to `kraftcheck check` |
| `./ci/nightly` | every slow test, the property-based tests at length, the fuzz of whole controllers; in shards |
| `python -m kraftcheck.ci.bench` | measures rates and memory, `--beside` other checkers; nothing else measures time |
| `python -m tests.ci.explore.scopes_page` | explores every scope and writes [scopes](scopes.md) |
| `python -m kraftcheck.ci.conformance.findings.live` | runs a [finding](live-findings.md) on a live cluster |
| `python -m tests.ci.logs.capture` | runs a real cluster and keeps its metadata log |
| `spark-submit ci/spark/submit.py` | `kraftcheck explore --engine spark` on a cluster |
| `python -m tests.documentation` | writes the pages in git that are made from data |
| `python -m tests.engine_mutants.drawn` | changes engines at random, and lists what no test notices |
"""


def commands() -> dict[str, click.Command]:
    """Every command by its name, in the order of the command line."""
    context = click.Context(cli)
    found = ((name, cli.get_command(context, name)) for name in cli.list_commands(context))
    return {name: command for name, command in found if command is not None}


def page() -> str:
    """The text of the page."""
    rows = [f"| [`{name}`](#kraftcheck-{name}) | {one.get_short_help_str(200)} |" for name, one in commands().items()]
    table = "\n".join(["| command | does |", "|---|---|", *rows])
    return HEAD.format(table=table) + "\n" + "\n".join(_sections())


def _sections() -> Iterator[str]:
    root = click.Context(cli, info_name="kraftcheck", terminal_width=WIDTH, max_content_width=WIDTH,
                         help_option_names=["-h", "--help"])  # fmt: skip
    for name, command in commands().items():
        words = f"kraftcheck {name}"
        context = click.Context(command, parent=root, info_name=name)
        lines = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        yield f"## {words}\n\n```text\n{lines}\n```\n"
