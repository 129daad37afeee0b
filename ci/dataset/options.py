"""Options of the engines with a dataset, `--engine disk` and `--engine spark`, its place, and its part of a report."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from attrs import field, fields, frozen

from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath
from kraftcheck.ci.dataset.store.stores import STORES, is_served, place_of
from kraftcheck.ci.terminal.files import DatasetPath, check_matched, local_path


@frozen
class DatasetPart:
    """The part of a report that only a run with a dataset has."""

    handed_over: int | None  # the first depth that the engine expanded; None: no level was large enough
    out: str | None  # the dataset; None: it was not kept
    resumed: int | None  # the level after which an earlier run was taken up; None: it was not
    costs: Mapping[int, Mapping[str, float]] = field(factory=dict)  # by depth what its job cost
    engine: str = "spark"

    def lines(self) -> list[str]:
        """For people."""
        lines = []
        if self.resumed is not None:
            lines.append(f"resumed after level {self.resumed}")
        if self.handed_over is None:
            lines.append(f"explored natively: no level was large enough for the engine {self.engine} (--handover)")
        elif self.engine == "spark":
            moved = [
                f"{sum(cost.get(name, 0) for cost in self.costs.values()) / 1e6:,.1f} MB {name}"
                for name in ("shuffled", "spilled") if any(name in cost for cost in self.costs.values())
            ]  # fmt: skip
            lines.append(f"handed over to Spark at level {self.handed_over}" + "; " * bool(moved) + ", ".join(moved))
        else:
            visited, peak = (max(cost.get(name, 0) for cost in self.costs.values()) for name in ("visited", "peak"))
            lines.append(
                f"levels in files from level {self.handed_over} on; in memory {visited / 1e6:,.1f} MB of visited "
                f"states, {peak / 1e6:,.1f} MB with candidates at most"
            )
        if self.out is not None:
            lines.append(f'dataset in {self.out} (kraftcheck query {self.out} "SELECT ...")')
        return lines

    def document(self) -> dict[str, Any]:
        """For machines."""
        costs = {str(depth): dict(cost) for depth, cost in self.costs.items()}
        return {"handed_over": self.handed_over, "out": self.out, "resumed": self.resumed, "levels": costs}


NATIVE = "native"  # the engine of the levels that a run begins with, made in its own process
HANDOVER = 200_000  # states of the first level that is left to the engine, unless `--handover` says otherwise
BUCKETS = 64  # parts of the visited set on one machine, unless `--buckets` says otherwise


CLUSTER_BUCKETS = 1 << 12  # parts of the visited set on a cluster: 2.4 million states in each, of 10^10


@frozen
class ClusterOptions:
    """Options of `--engine spark`, some of which `--engine disk` takes, too."""

    master: str | None = None  # Spark's master; None: what spark-submit says, else `local[workers,4]`
    conf: tuple[str, ...] = ()  # settings, `spark.KEY=VALUE` each
    handover: int | None = None  # states of the first level that is left to Spark
    buckets: int | None = None  # parts into which states are hashed at first
    resume: bool = False  # go on after the last committed level
    repair: bool = False  # give up the first damaged level and later ones before that
    portable_code: bool = False  # compile for the oldest processor of this architecture

    def used_flags(self) -> list[str]:
        """The flags that were used."""
        names = [f.name for f in fields(ClusterOptions) if getattr(self, f.name) not in (None, (), False)]
        return [f"--{name.replace('_', '-')}" for name in names]


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options to a command, which gets them as one argument `cluster`."""

    @functools.wraps(command)
    def packed(*args: Any, **values: Any) -> Any:
        names = [f.name for f in fields(ClusterOptions)]
        return command(*args, cluster=ClusterOptions(**{name: values.pop(name) for name in names}), **values)

    options = (
        click.option("--master", metavar="URL", help="spark: the cluster; default local[WORKERS]."),
        click.option("--conf", multiple=True, metavar="KEY=VALUE", help="spark: a setting of Spark's; repeatable."),
        click.option(
            "--handover", type=click.IntRange(0), metavar="STATES",
            help=f"disk, spark: levels below this size are explored natively (default {HANDOVER:,}).",
        ),
        click.option(
            "--buckets", type=click.IntRange(2, 65_536), metavar="N",
            help="disk, spark: parts of the visited set, a power of two; Spark splits them as levels grow (default 64; "
                 "on clusters 4,096).",
        ),
        click.option("--resume", is_flag=True, help="disk, spark: go on after the last committed level of --out."),
        click.option(
            "--repair", is_flag=True,
            help="disk, spark: with --resume, first derive again what was damaged in --out.",
        ),
        click.option("--portable-code", is_flag=True, help="spark: compile for any worker of this architecture."),
    )  # fmt: skip
    for option in reversed(options):
        packed = option(packed)
    return packed


def default_handover(options: ClusterOptions) -> int:
    """The `--handover` asked for, or the default."""
    return HANDOVER if options.handover is None else options.handover


def default_buckets(master: str | None, threads: int) -> int:
    """Parts of the visited set: 32 for each core of this machine, 64 at least; on a cluster enough for 10^10 states."""
    if master is not None and not master.startswith("local"):
        return CLUSTER_BUCKETS
    return min(CLUSTER_BUCKETS, max(BUCKETS, 1 << (32 * threads - 1).bit_length()))


class DatasetPlace(DatasetPath):
    """A folder of a file system, or of a store."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See `click.ParamType`."""
        place = dataset_place(os.fspath(value))
        return super().convert(str(place), param, ctx) if isinstance(place, Path) else place


SERVED = f"local folders and URLs of {', '.join(f'{scheme}://' for scheme in sorted(STORES))}"  # where datasets may be


def dataset_place(text: str) -> AnyPath:
    """The place that Python names: a path, a `file:` URL of one, or a URL of a store; raises Refusal for another."""
    return place_of(text) if is_served(text) else Path(local_path(text, SERVED))


def check_readable(place: AnyPath) -> None:
    """Refuse a folder whose name readers of datasets take for a pattern or a partition; raises Refusal, in one line."""
    check_matched(Path("/", place.key) if isinstance(place, ObjectPath) else place)
