"""`kraftcheck replay`: a real cluster's metadata log, explained by the model."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from kraftcheck.ci.dataset.options import DatasetPlace
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.explore.trace import check_drawable
from kraftcheck.ci.logs.condition import worked_out
from kraftcheck.ci.logs.end import log_end
from kraftcheck.ci.logs.format.read import LogFiles, find
from kraftcheck.ci.logs.page import draw, html
from kraftcheck.ci.logs.report import (
    LogReport,
    ReplayOptions,
    document,
    event_kind,
    exit_code,
    report_of,
    settings_of,
    total_line,
)
from kraftcheck.ci.run.fanout import Cluster, cluster_of, fan_out_options
from kraftcheck.ci.spark.session import check_packages, check_pyarrow
from kraftcheck.ci.terminal import options as shared
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import DatasetPath, check_apart, check_writable, write, write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.solvers.drawings.log import LogDrawing


def check_one(logs: Sequence[LogFiles]) -> None:
    """Refuse to draw several logs in one page."""
    if len(logs) > 1:
        raise Refusal(f"--html draws one log, and there are {len(logs)}; name one of them, such as {logs[0].name}")


@click.command("replay")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...", type=DatasetPlace())
@click.option("--rules", help="Rule set, PRESET[+VARIANT|-VARIANT...]; by default that of the metadata version.")
@click.option("--static", multiple=True, metavar="KEY=VALUE", help="A line of the controller's configuration file.")
@click.option("--allow-skipped", type=click.IntRange(0), default=0, help="Undecodable lines or batches to pass over.")
@click.option("--json", "target", metavar="FILE|-", help="Write one row per batch as a JSON document.")
@click.option("--html", "page", type=click.Path(path_type=Path), metavar="FILE", help="Draw the log: one page.")
@click.option("--out", type=DatasetPath(), help="Folder for tables of what is found, as Parquet.")
@fan_out_options
@shared.anonymise
@shared.processes
@click.option("--verbose", is_flag=True, help="Show every batch with its events.")
def replay_command(logs: tuple[AnyPath, ...], rules: str | None, **flags: Any) -> None:
    """Say which controller events wrote each batch of a metadata log, and check the properties on the way.

    A LOG is a segment or snapshot of __cluster_metadata-0, the output of
    kafka-dump-log --cluster-metadata-decoder, JSON lines of records, a folder, a URL of a
    store (s3://, gs://, abfss://, hdfs://), or - for standard input.

    Exit code 0: all is explained and every property holds; 12: all is explained, and a
    property does not hold; 20: the same, but not all of the log was read; 23: a batch is not
    explained, whether or not the properties hold; 2: bad input, or nothing read.

    \b
    Examples:
      kraftcheck replay /var/lib/kafka/__cluster_metadata-0
      kraftcheck replay decoded.txt --rules kafka-4.0 --json rows.json
      kraftcheck replay /var/lib/kafka/__cluster_metadata-0 --html log.html
      kraftcheck replay logs/ --out tables
    """
    target, page, out = flags["target"], flags["page"], flags["out"]
    check_writable(target)
    check_drawable("--html", page)
    check_apart(json=target, html=page)
    cluster, shard = _cluster(flags), flags["shard"]
    chosen = ReplayOptions(rules, flags["static"], flags["allow_skipped"], anonymise=flags["anonymise"])
    try:
        if rules is not None:
            parse(rules)
        settings_of(chosen.static)
        logs_found: Sequence[LogFiles] = shard.of_parts(find(logs))
        if page is not None:
            check_one(logs_found)
        if out is None:
            detailed = flags["verbose"] or target is not None
            reports = [_report(log, chosen, page, detailed, flags["verbose"]) for log in logs_found]
        else:
            from kraftcheck.ci.logs.fleet import tabulated  # Parquet is an extra

            reports = tabulated(logs_found, chosen, out, cluster, flags["workers"])
    except ScopeError as reason:
        raise Refusal(str(reason)) from None
    if target is not None:
        write_json(target, {**document(reports), **shard.told})
    screen = console(to_stderr=target == "-")
    for report in reports:
        for line in report.lines:
            screen.plain(line)
    if page is not None:
        screen.plain(f"wrote {page}")
    screen.plain(shard.words + total_line(reports))
    sys.exit(exit_code(reports))


def _cluster(flags: Mapping[str, Any]) -> Cluster | None:
    """The cluster that options ask for; refuses what does not go with `--out`, or needs it."""
    cluster = cluster_of(flags)
    if cluster is not None and flags["out"] is None:
        raise Refusal("--engine spark needs --out, the folder for the tables of what it finds")
    if flags["out"] is not None:
        check_idle("shows batches without --out only", "verbose", "page")
        check_packages() if cluster is not None else check_pyarrow()
    return cluster


def _report(log: LogFiles, chosen: ReplayOptions, page: Path | None, detailed: bool, verbose: bool) -> LogReport:
    """Replay one log in this process, and draw it where a page is wanted."""
    if page is None:
        return report_of(chosen.replay(log, detailed=detailed, diagnoses=True), verbose)
    drawing = LogDrawing(event_kind)
    end = log_end(log, chosen, partial(draw, drawing), detailed, explains=True)
    try:
        found: dict[str, Any] | str = worked_out(end)[0]
    except Refusal as reason:
        found = str(reason)
    write(page, html(drawing, end.summary, found, chosen.anonymise))
    return report_of(end.summary, verbose)
