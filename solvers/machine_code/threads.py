"""A few threads that share numbered jobs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from attrs import define, field


@define
class Crew:
    """Runs numbered jobs on a fixed number of threads, of which the caller's is one.

    Each thread takes jobs in increasing order.

    Attributes:
        threads: how many.
    """

    threads: int
    _pool: ThreadPoolExecutor | None = field(init=False, default=None)

    def __enter__(self) -> Crew:
        """Start the threads."""
        if self.threads > 1:
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="explore")
        return self

    def __exit__(self, *raised: object) -> None:
        """Wait for the threads to end."""
        if self._pool is not None:
            self._pool.shutdown()

    def run(self, jobs: int, work: Callable[[int, int], None], stopped: Callable[[], bool] = lambda: False) -> None:
        """Call `work(thread, job)` for every job, or for fewer once `stopped()`; returns when all calls have."""
        numbers = itertools.count()
        failed: list[BaseException] = []

        def labour(thread: int) -> None:
            try:
                while (job := next(numbers)) < jobs and not failed and not stopped():
                    work(thread, job)
            except BaseException as error:
                failed.append(error)

        helpers = min(self.threads, jobs) - 1
        waiting = [self._pool.submit(labour, i + 1) for i in range(helpers)] if self._pool is not None else []
        labour(0)
        for helper in waiting:
            helper.result()
        if failed:
            raise failed[0]
