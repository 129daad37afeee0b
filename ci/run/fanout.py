"""Fan-out: independent parts of a question, answered in processes or by Spark's workers; or a shard of them."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from attrs import frozen

from kraftcheck.ci.spark.session import check_java, check_packages
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.interrupts import Interrupted, Stop, announce, descendants
from kraftcheck.ci.terminal.options import Decorator
from kraftcheck.ci.terminal.progress import progress_tally, run_interruptibly, stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.program.parts import SystemFault

if TYPE_CHECKING:
    from kraftcheck.ci.spark.executor import SparkExecutor

Part = TypeVar("Part")
Answer = TypeVar("Answer")
Command = TypeVar("Command", bound=Callable[..., object])

NATIVE, SPARK = "native", "spark"

STOP_SECONDS = 1.0  # how long a lost process waits to be explained by a stop


@frozen
class Shard:
    """A part of independent work, as machines of a CI matrix share it."""

    number: int = 1  # which, from 1
    of: int = 1  # how many there are; together they are the whole, and no two overlap

    @classmethod
    def read(cls, text: str) -> Shard:
        """The shard that `K/N` names.

        >>> Shard.read("2/3").of_parts(["a", "b", "c", "d", "e"])
        ['b', 'e']

        Raises:
            Refusal: for anything else.
        """
        number, slash, of = text.partition("/")
        counts = [int(word) if word.isascii() and word.isdigit() and len(word) < 7 else 0 for word in (number, of)]
        if not slash or not 1 <= counts[0] <= counts[1]:
            raise Refusal(f"--shard takes K/N with K from 1 to N, such as 2/8, not {text!r}")
        return cls(*counts)

    def check(self, count: int) -> None:
        """Refuse so few parts that some shard would have none, since it would ask nothing."""
        if count < self.of:
            few = f"there {'is 1 part' if count == 1 else f'are {count} parts'}"
            raise Refusal(f"--shard {self}: {few}, so some shards would ask nothing; take N up to {count}")

    def of_parts(self, parts: Sequence[Part]) -> list[Part]:
        """Its parts: every N-th one; raises Refusal as `check` does."""
        self.check(len(parts))
        return list(parts[self.number - 1 :: self.of])

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def words(self) -> str:
        """The beginning of a report's last line; empty for the whole."""
        return "" if self == WHOLE else f"shard {self}: "

    @property
    def told(self) -> dict[str, str]:
        """The key of a document by which nobody takes a part for the whole; none for the whole."""
        return {} if self == WHOLE else {"shard": str(self)}


WHOLE = Shard()


def _shard(context: click.Context, parameter: click.Parameter, text: str | None) -> Shard:
    return WHOLE if text is None else Shard.read(text)


shard_option: Decorator = click.option(
    "--shard", callback=_shard, metavar="K/N", help="Only the K-th of N parts; all N together are the whole."
)


@frozen
class Cluster:
    """Spark, where parts are answered."""

    master: str | None  # Spark's master; None: what spark-submit says, else this machine
    conf: tuple[str, ...]  # settings, `spark.KEY=VALUE` each
    workers: int  # cores of a local one

    @contextlib.contextmanager
    def executor(self, quiet: bool) -> Iterator[SparkExecutor]:
        """Its executor; says at the end how many tasks were tried again; raises Refusal where Spark does not start."""
        check_java()
        check_packages()
        from kraftcheck.ci.spark.executor import spark_executor  # Spark is an extra

        with spark_executor(self.master, self.conf, self.workers) as executor:
            yield executor
        if executor.again and not quiet:
            click.echo(f"Spark tried {executor.again} tasks again", err=True)


def cluster_of(flags: Mapping[str, Any]) -> Cluster | None:
    """The cluster that options ask for; None: this machine. Refuses options of Spark without it."""
    if flags["engine"] != SPARK:
        check_idle("is an option of --engine spark", "master", "conf")
        return None
    return Cluster(flags["master"], flags["conf"], flags["workers"])


def fan_out_options(command: Command, more: Mapping[str, str] = MappingProxyType({})) -> Command:
    """Adds `--engine` (native, spark, or one of some more with its meaning), `--master`, `--conf` and `--shard`."""
    engines, words = [NATIVE, *more, SPARK], {**more, SPARK: "each part is a task of a cluster."}
    engine = " ".join(f"{name}: {meaning}" for name, meaning in words.items())
    options: tuple[Decorator, ...] = (
        shard_option,
        click.option("--conf", multiple=True, metavar="KEY=VALUE", help="spark: a setting of Spark's; repeatable."),
        click.option("--master", metavar="URL", help="spark: the cluster; default local[WORKERS]."),
        click.option("--engine", type=click.Choice(engines), default=NATIVE, show_default=True, help=engine),
    )
    for option in options:
        command = cast(Command, option(command))
    return command


def check_same(made: str, asked: str) -> None:
    """Refuse, by its digest, a program that a worker made if it is another; raises SystemFault with the mend."""
    if made != asked:
        raise SystemFault("a worker made another system of the same module; let it depend on its source and the "
                          "setting alone")  # fmt: skip


class LostPart(RuntimeError):
    """A part of which no answer, or not every answer, came back from the process that was asked."""


class LostProcess(Interrupted):
    """A process that has ended before its answer, with what it was asked about and what ended it."""

    def __init__(self, part: object, code: int | None) -> None:
        name = " ".join(map(str, part)) if isinstance(part, tuple) else str(part)
        cause = f"was ended by {_signal(-code)}" if code and code < 0 else f"ended with the exit code {code}"
        likely = ", as a system does that is short of memory: give fewer --workers" * (code == -signal.SIGKILL)
        super().__init__(f"{name}: its process {cause}{likely}")


def _signal(number: int) -> str:
    return signal.Signals(number).name if number in signal.valid_signals() else f"signal {number}"


class Processes(ThreadPoolExecutor):
    """Processes of this machine, each asked by a thread: one that ends loses what it was asked about, and no more."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._pools: list[ProcessPoolExecutor] = []
        self._own = threading.local()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Ask a process, once one is free."""
        return super().submit(self._asked, fn, *args, **kwargs)

    def _asked(self, ask: Callable[[Any], Any], part: Any) -> Any:
        pool = getattr(self._own, "pool", None)
        if pool is None:
            pool = self._own.pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _start)
            self._pools.append(pool)
        held = _of(pool)
        try:
            asked = pool.submit(ask, part)
            held = held or _of(pool)
            return asked.result()
        except BrokenProcessPool as error:
            self._own.pool, end = None, time.monotonic() + STOP_SECONDS
            while any(one.exitcode is None for one in held) and time.monotonic() < end:
                time.sleep(0.01)  # the pool may be waiting for it as well, and only one of both is told its code
            raise LostProcess(part, next((one.exitcode for one in held), None)) from error

    def end(self) -> None:
        """End every process; what is not answered is not waited for."""
        self.shutdown(wait=False, cancel_futures=True)
        while any(thread.is_alive() for thread in self._threads):
            for process in [one for pool in self._pools for one in _of(pool)]:
                assert process.pid is not None
                for number in (*descendants(process.pid), process.pid):
                    with contextlib.suppress(OSError):  # it has ended
                        os.kill(number, signal.SIGKILL)
            time.sleep(0.02)
        for pool in self._pools:
            pool.shutdown()


def _of(pool: ProcessPoolExecutor) -> list[Any]:
    return [*(pool._processes or {}).values()]


@contextlib.contextmanager
def processes(count: int) -> Iterator[Executor]:
    """So many processes of this machine; parts that are not ready at the end are not waited for."""
    pool = Processes(count)
    try:
        yield pool
    finally:
        pool.end()


def _start() -> None:
    """Prepare a process: the one that started it decides what a Ctrl-C ends, and is not outlived."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


def fan_out(
    executor: contextlib.AbstractContextManager[Executor], ask: Callable[[Part], Answer], parts: Sequence[Part],
    noun: str, quiet: bool, take: Callable[[Part, Answer], None] = lambda part, answer: None,
    first: Callable[[Part], Any] = lambda part: 0, lost: Callable[[Part, str], None] | None = None,
) -> Iterator[tuple[Part, Answer]]:  # fmt: skip
    """The answers about parts in their order, each as soon as its turn comes; after a stop those that are there.

    Args:
        ask: answers one; it and the parts are picklable.
        noun: what progress counts.
        take: is given each answer when it arrives.
        first: parts with the least of it are asked first.
        lost: is told of a part whose process has ended before its time; the others go on. None: that is raised.

    Raises:
        LostProcess: when a process ended before its time.
        Interrupted: when a signal stopped the work before there was anything to report.
    """
    found: dict[int, list[Answer]] = {}
    shown = 0
    with stop_flag(awaits_report=True) as stop, progress_tally(quiet, noun) as tally:
        with contextlib.ExitStack() as opened:
            pool = run_interruptibly(lambda: opened.enter_context(executor), stop, threading.Event())
            order = sorted(range(len(parts)), key=lambda number: first(parts[number]))
            futures = {pool.submit(ask, parts[number]): number for number in order}
            pending = set(futures)
            while pending and not stop.is_set():
                finished, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in finished:
                    number = futures[future]
                    found[number] = _received(future, parts[number], stop, lost)
                    for answer in found[number]:
                        take(parts[number], answer)
                if tally is not None:
                    tally(len(found), len(parts))
                    tally.meter.close()
                while shown in found:
                    yield from ((parts[shown], answer) for answer in found[shown])
                    shown += 1
        if stop.asked_by is not None and not any(found.values()):
            if stop.asked_by == signal.SIGINT:
                announce()
                raise KeyboardInterrupt
            raise Interrupted("stopped before there was anything to report")
        yield from ((parts[number], answer) for number in range(shown, len(parts)) for answer in found.get(number, ()))


def _received(future: Future[Answer], part: Part, stop: Stop, lost: Callable[[Part, str], None] | None) -> list[Answer]:
    """The answer; none where a stop has ended what was asked, or a process is lost."""
    try:
        return [future.result()]
    except Exception as error:
        if stop.wait(STOP_SECONDS if isinstance(error, LostProcess) else 0):
            return []  # what asks this process to stop may ask its workers too
        if lost is None or not isinstance(error, LostProcess):
            raise
        lost(part, str(error))
        return []
