"""`kraftcheck replay`: a real cluster's metadata log, explained by the model."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ci.files import check_writable, write_json
from ci.logs.reading import LogFiles, Skipped, find, read
from ci.logs.summary import DOCUMENT_VERSION, Summary, lines
from ci.refusal import Refusal
from ci.screen import console
from model.controller.state import Settings
from model.replay import ReplayError
from model.rules import PRESETS, RuleSet, parse
from model.system import ScopeError
from solvers.logs.image import EntryError
from solvers.logs.replay import replay_log

FIRST_OF_4_0, FIRST_OF_4_1 = 22, 26
"""The first metadata version of these releases."""


def preset_of(level: int | None) -> str:
    """The preset for a metadata version, None where the log names none."""
    if level is None or level >= FIRST_OF_4_1:
        return "kafka-4.1"
    return "kafka-4.0" if level >= FIRST_OF_4_0 else "kafka-3.9"


def rules_by_version(level: int | None) -> RuleSet:
    """The rule set for a metadata version."""
    return PRESETS[preset_of(level)]


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


def replay(log: LogFiles, rules: str | None, static: tuple[str, ...] = (), allow_skipped: int = 0) -> Summary:
    """Read one log and explain it.

    Args:
        log: its files.
        rules: rule set, `PRESET[+VARIANT...]`; None takes the preset of the log's metadata version.
        static: the controller's configuration file, as `KEY=VALUE`.
        allow_skipped: how many lines or batches may be undecodable.

    Raises:
        Refusal: naming the place of what cannot be read, and for a log without batches.
        ScopeError: for an unknown rule set.
    """
    skipped, fixed = Skipped(allow_skipped), None if rules is None else parse(rules)
    summary = Summary(log.name, rules)
    try:
        for replayed in replay_log(
            read(log, skipped), rules_by_version if fixed is None else lambda level: fixed, settings_of(static)
        ):
            summary.add(replayed)
    except (EntryError, ReplayError) as reason:
        raise Refusal(f"{log.name}: {reason}") from None
    summary.skipped = tuple(skipped.places)
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
@click.option("--verbose", is_flag=True, help="Show every batch with its events.")
def replay_command(
    logs: tuple[str, ...], rules: str | None, static: tuple[str, ...], allow_skipped: int, target: str | None,
    verbose: bool,
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
    try:
        found = [replay(log, rules, static, allow_skipped) for log in find(tuple(Path(log) for log in logs))]
    except ScopeError as reason:
        raise Refusal(str(reason)) from None
    code = max(summary.exit_code() for summary in found)
    code = next((summary.exit_code() for summary in found if summary.violated), code)
    if target is not None:
        document = {"version": DOCUMENT_VERSION, "command": "replay", "exit": code}
        write_json(target, {**document, "logs": [summary.document() for summary in found]})
    screen = console(to_stderr=target == "-")
    for summary in found:
        for line in lines(summary, verbose):
            screen.plain(line)
    screen.plain(f"(exit {code})")
    sys.exit(code)
