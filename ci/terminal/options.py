"""Options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kraftcheck.ci.terminal import machine
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.audit.sampling import DEFAULT, Sampling

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def memory_size(text: str) -> int:
    """Bytes from `4G`, `512M`, `100K` or a plain number.

    >>> memory_size("2K")
    2048

    Raises:
        Refusal: for anything else.
    """
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    if unit not in UNITS or not (number.isascii() and number.isdigit() and len(number) < 20) or int(number) == 0:
        raise Refusal(f"--memory takes a size such as 512M or 4G, not {text!r}")
    size = int(number) * UNITS[unit]
    if size > machine.memory():
        raise Refusal(f"--memory {text} is more than this process may take, {machine.memory() >> 20}M; give less")
    return size


def _memory(context: click.Context, parameter: click.Parameter, text: str | None) -> int:
    return machine.default_memory() if text is None else memory_size(text)


def _sampling(context: click.Context, parameter: click.Parameter, text: str | None) -> Sampling:
    return DEFAULT if text is None else sampling_of(text)


def sampling_of(text: str) -> Sampling:
    """The audit that `N`, `N@SEED`, `all` or `all@SEED` asks for.

    >>> sampling_of("100@7")
    Sampling(states=100, seed=7)

    Raises:
        Refusal: for anything else; a verdict is never without an audit.
    """
    number, at, seed = text.partition("@")
    if number == "0":
        raise Refusal("--audit 0 would give a verdict without an audit; leave it out, or give 1 or more")
    if not (number == "all" or _is_count(number)) or (at and not _is_count(seed)):
        raise Refusal(f"--audit takes a number of states such as 100, 100@SEED, or all, not {text!r}")
    return Sampling(sys.maxsize if number == "all" else int(number), int(seed or 0))


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10 and text == str(int(text))


def _of_cores(text: str) -> Decorator:
    return click.option(
        "--workers", type=click.IntRange(1, machine.MOST_CORES), default=machine.cores, show_default="the cores",
        help=text,
    )  # fmt: skip


workers = _of_cores("Threads.")
processes = _of_cores("Processes.")
rows = _of_cores("Rows at once, each in a process; large ones one by one, with as many threads.")
lost: Decorator = click.option(
    "--lost", multiple=True, type=click.IntRange(0), metavar="BROKER", help="A broker that never comes back."
)
anonymise: Decorator = click.option(
    "--anonymise", is_flag=True, help="Rename topics, hosts, racks and directories, the same each time."
)


def path(name: str, metavar: str, text: str, argument: str | None = None, **more: Any) -> Decorator:
    """An option that names a file or a folder; the argument has its name unless it has another."""
    names = (name,) if argument is None else (name, argument)
    return click.option(*names, type=click.Path(path_type=Path), metavar=metavar, help=text, **more)


timeout: Decorator = click.option(
    "--timeout",
    type=click.FloatRange(0.001, 1_000_000),
    default=600.0,
    show_default=True,
    help="Seconds for each query.",
)
seed: Decorator = click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Seed of the solver's choices."
)
memory: Decorator = click.option(
    "--memory", callback=_memory, metavar="SIZE",
    help="Most memory for one search, such as 4G; default half of what this process may take.",
)  # fmt: skip
audit: Decorator = click.option(
    "--audit", "sampling", callback=_sampling, metavar="N[@SEED]|all",
    help="Compare so many states, in all their actions, with the rules on ints; default a sample of under 3% of the "
    "time.",
)  # fmt: skip
document: Decorator = click.option(
    "--json", "target", metavar="FILE|-", help="Write the result as a JSON document; - is standard output."
)
like: Decorator = click.option(
    "--like", metavar="VERSION", help="--kafka: the release that completes a build of your own; default the nearest."
)
strict: Decorator = click.option(
    "--strict", is_flag=True, help="Incomplete where a declared cap leaves a step out, too."
)
verbose: Decorator = click.option(
    "-v", "--verbose", is_flag=True, help="List what holds too; otherwise it is only counted."
)
quiet: Decorator = click.option("--quiet", is_flag=True, help="No progress.")
