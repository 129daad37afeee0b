"""`kraftcheck serve`: a local page on which a system is explored step by step."""

from __future__ import annotations

import importlib.util
import webbrowser
from pathlib import Path

import click

from kraftcheck.ci.explore.serve.finished import Opened, opened_run, opened_trace
from kraftcheck.ci.systems.subject import (
    DEFAULT_RULES,
    Subject,
    own_options,
    parse_words,
    program,
    subject,
    system_and_bounds,
)
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.ci.terminal.progress import stop_flag
from kraftcheck.ci.terminal.refusal import Refusal

DEFAULT_SYSTEM = "elections"


@click.command("serve", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[SYSTEM [--BOUND N]... | TRACE | OUT]")
@click.option("--scope", help="Preset bounds of SYSTEM; `kraftcheck list SYSTEM` shows them.")
@click.option("--rules", help=f"Rule set of SYSTEM, PRESET[+VARIANT|-VARIANT...]; default {DEFAULT_RULES}.")
@click.option("--beside", metavar="RULES", help="The rule set that is set beside first; default fixed.")
@click.option("--system", "named", help="The system of TRACE or OUT, module:attribute, where it is one of your own.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; default a free one.")
@click.option("--open", "browse", is_flag=True, help="Open the page in the browser.")
@click.pass_context
def serve_command(
    context: click.Context, words: tuple[str, ...], scope: str | None, rules: str | None, beside: str | None,
    named: str | None, port: int, browse: bool,
) -> None:  # fmt: skip
    """Show a page on which a system is explored step by step: SYSTEM, the trace file TRACE, or OUT of `explore --out`.

    The page is for this machine alone: the server listens on 127.0.0.1, and answers only to the address that it
    prints, which holds a random token. Ctrl-C ends it. Without an argument it shows elections.

    \b
    Examples:
      kraftcheck serve elections --scope tiny --rules kafka-4.0 --open
      kraftcheck serve out/leader-active.itf.json --beside kip
      kraftcheck serve out --port 8080
      kraftcheck serve lease:SYSTEM
      kraftcheck serve path/to/lease.py:SYSTEM
    """
    opened = _opened(words, scope, rules, named)
    second = _second_rules(opened.chosen, beside)
    check_installed()
    from kraftcheck.ci.explore.serve.application import Application, Jobs
    from kraftcheck.ci.explore.serve.documents import Subjects
    from kraftcheck.ci.explore.serve.server import running

    subjects = Subjects(opened.chosen, program(opened.chosen), cache_folder())
    jobs = Jobs()
    with stop_flag() as stop, running(Application(opened, subjects, second, jobs).wsgi(), port) as server:
        screen = console()
        screen.plain(f"{opened.chosen.title()}\n{server.url}\nCtrl-C ends it")
        screen.file.flush()
        if browse:
            webbrowser.open(server.url)
        while not stop.wait(1.0):
            if not server.thread.is_alive():
                raise RuntimeError("the server has ended by itself")
        jobs.stop_all()


def _opened(words: tuple[str, ...], scope: str | None, rules: str | None, named: str | None) -> Opened:
    """What the words name: a folder or file that is there, else a system; raises Refusal for neither, or a mixture."""
    words = words if any(not word.startswith("-") for word in words) else (DEFAULT_SYSTEM, *words)
    parsed = parse_words(words, own_options())
    place = Path(parsed.system)
    if place.exists() or parsed.system.endswith(".json") or ("/" in parsed.system and ":" not in parsed.system):
        check_idle("is of SYSTEM, and a file says its own", "scope", "rules")
        if parsed.flags:
            raise Refusal(f"--{next(iter(parsed.flags))} is of SYSTEM, and a file says its own; leave it out")
        return opened_run(place, named) if place.is_dir() else opened_trace(place, named)
    check_idle("is of TRACE and OUT", "named")
    name, bounds = system_and_bounds(words)
    return Opened(subject(name, scope, bounds, rules))


def _second_rules(chosen: Subject, beside: str | None) -> str | None:
    """The rules set beside first; none where the system has no `fixed`; raises Refusal for an unknown rule set."""
    default = "fixed" if isinstance(chosen.system.rules, tuple) and chosen.system.rules else None
    rules = beside or (None if default == chosen.rules else default)
    if rules is not None:
        subject(chosen.name, chosen.setting.scope, chosen.setting.bounds, rules)
    return rules


def check_installed() -> None:
    """Refuse to serve where the packages of the extra are missing."""
    for name in ("bottle", "waitress"):
        if importlib.util.find_spec(name) is None:
            raise Refusal(f"serve needs {name}; pip install 'kraftcheck[serve]'")
