"""`kraftcheck replay`: a real cluster's metadata log, explained by the model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import click

from ci import options
from ci.files import check_writable, write_json
from ci.logs.reading import LogFiles, Skipped, find, read_compact
from ci.logs.summary import DOCUMENT_VERSION, Summary, lines
from ci.refusal import Refusal
from ci.screen import console
from model.controller.state import Settings
from model.replay import ReplayError
from model.rules import RuleSet, parse
from model.system import ScopeError
from solvers.logs.image import EntryError
from solvers.logs.lookup import Quick
from solvers.logs.quick import QuickReplay
from solvers.logs.replay import Replayed
from solvers.verdict import EXIT_SAFETY

SINCE = (
    (26, "kafka-4.1"),
    (23, "kafka-4.1+dead-last-known-leader-electable"),
    (22, "kafka-4.0"),
    (0, "kafka-3.9"),
)
"""Rule sets by the metadata version that they begin with, newest first.

4.0.0 as released (23 to 25) lies between the snapshot and 4.1: of their differences it has KAFKA-19522 alone.
"""


def preset_of(level: int | None) -> str:
    """The rule set for a metadata version; the newest where the log names none."""
    newest = SINCE[0][1]
    return newest if level is None else next(name for first, name in SINCE if level >= first)


@lru_cache(maxsize=16)
def rules_by_version(level: int | None) -> RuleSet:
    """The rule set for a metadata version."""
    return parse(preset_of(level))


def settings_of(texts: tuple[str, ...]) -> Settings:
    """The static configuration that `KEY=VALUE` texts describe.

    Raises:
        Refusal: for another text.
    """
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise Refusal(f"--static {text}: KEY=VALUE is wanted, as in min.insync.replicas=2")
        pairs[key] = value
    return Settings(static=pairs)


def replay(
    log: LogFiles, rules: str | None, static: tuple[str, ...] = (), allow_skipped: int = 0,
    tell: Callable[[Replayed | Quick], None] = lambda replayed: None, detailed: bool = True,
) -> Summary:  # fmt: skip
    """Read one log and explain it; see `stepwise`.

    Args:
        tell: told of each batch once it is replayed.
    """
    ended: list[Summary] = []

    def followed() -> Iterator[Replayed | Quick]:
        ended.append((yield from stepwise(log, rules, static, allow_skipped, detailed)))

    for replayed in followed():
        tell(replayed)
    return ended[0]


def stepwise(
    log: LogFiles, rules: str | None, static: tuple[str, ...] = (), allow_skipped: int = 0, detailed: bool = True
) -> Generator[Replayed | Quick, None, Summary]:
    """Read one log and explain it, batch by batch; what it returns at the end is what it came to.

    Args:
        log: its files.
        rules: rule set, `PRESET[+VARIANT...]`; None takes the preset of the log's metadata version.
        static: the controller's configuration file, as `KEY=VALUE`.
        allow_skipped: how many lines or batches may be undecodable.
        detailed: whether the summary gets a row for each batch.

    Raises:
        Refusal: naming the place of what cannot be read, and for a log without batches.
        ScopeError: for an unknown rule set.
    """
    skipped, fixed = Skipped(allow_skipped), None if rules is None else parse(rules)
    summary = Summary(log.name, rules, detailed=detailed)
    replaying = QuickReplay(rules_by_version if fixed is None else lambda level: fixed, settings_of(static))
    try:
        for replayed in replaying.replay(read_compact(log, skipped)):
            summary.add(replayed)
            yield replayed
    except (EntryError, ReplayError) as reason:
        raise Refusal(f"{log.name}: {reason}") from None
    summary.skipped, summary.state = tuple(skipped.places), replaying.state
    if not summary.batches:
        only = "only a snapshot" if summary.loaded else "no record batch"
        raise Refusal(f"{log.name}: {only} was read, so there is nothing to explain; is it a metadata log?")
    if rules is None and summary.state is not None:
        summary.rules = f"{preset_of(summary.level)} (metadata version {summary.level})"
    return summary


@click.command("replay", short_help="Explain a real cluster's metadata log with the model.")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--rules", help="Rule set, PRESET[+VARIANT|-VARIANT...]; by default that of the metadata version.")
@click.option("--static", multiple=True, metavar="KEY=VALUE", help="A line of the controller's configuration file.")
@click.option("--allow-skipped", type=click.IntRange(0), default=0, help="Undecodable lines or batches to pass over.")
@click.option("--json", "target", metavar="FILE|-", help="Write one row per batch as a JSON document.")
@click.option(
    "--engine",
    type=click.Choice(["python", "spark"]),
    default="python",
    show_default=True,
    help="spark: a task for each log, results in --out.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for what Spark finds, as Parquet.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark's; repeatable.")
@options.processes
@click.option("--verbose", is_flag=True, help="Show every batch with its events.")
def replay_command(
    logs: tuple[str, ...], rules: str | None, static: tuple[str, ...], allow_skipped: int, target: str | None,
    engine: str, out: Path | None, conf: tuple[str, ...], workers: int, verbose: bool,
) -> None:  # fmt: skip
    """Say which controller events wrote each batch of a metadata log, and check the properties on the way.

    A LOG is a segment or snapshot of __cluster_metadata-0, the output of
    kafka-dump-log --cluster-metadata-decoder, JSON lines of records, or a folder.

    Exit code 0: all is explained and every property holds; 12: a property does not
    hold; 23: a batch is not explained; 2: bad input, or nothing read.

    \b
    Examples:
      kraftcheck replay /var/kafka/__cluster_metadata-0
      kraftcheck replay decoded.txt --rules kafka-4.0 --json rows.json
    """
    check_writable(target)
    if (engine == "spark") != (out is not None):
        raise Refusal("--engine spark needs --out, the folder for what it finds, and only it does")
    try:
        if rules is not None:
            parse(rules)
        settings_of(static)
        found = find(tuple(Path(log) for log in logs))
        work = partial(stepwise, rules=rules, static=static, allow_skipped=allow_skipped, detailed=False)
        if out is None:
            told = [
                _told(replay(log, rules, static, allow_skipped, detailed=verbose or target is not None), verbose)
                for log in found
            ]
        else:
            from ci.logs.pipeline import replay_with_spark  # Spark is an extra

            told = [(t.code, t.document, t.lines) for t in replay_with_spark(found, work, out, conf, workers)]
    except ScopeError as reason:
        raise Refusal(str(reason)) from None
    codes = [code for code, _, _ in told]
    code = EXIT_SAFETY if EXIT_SAFETY in codes else max(codes)
    if target is not None:
        document = {"version": DOCUMENT_VERSION, "command": "replay", "exit": code}
        write_json(target, {**document, "logs": [document for _, document, _ in told]})
    screen = console(to_stderr=target == "-")
    for _, _, text in told:
        for line in text:
            screen.plain(line)
    screen.plain(f"(exit {code})")
    sys.exit(code)


def _told(summary: Summary, verbose: bool) -> tuple[int, Mapping[str, Any], Sequence[str]]:
    """Exit code, document and lines of one log."""
    return summary.exit_code(), summary.document(), lines(summary, verbose)
