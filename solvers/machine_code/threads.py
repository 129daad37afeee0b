"""A thread pool that runs numbered jobs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from attrs import define, field


@define
class ThreadPool:
    """Runs numbered jobs on a fixed number of threads, of which the caller's is one.

    Each thread takes jobs in increasing order.
    """

    threads: int
    _pool: ThreadPoolExecutor | None = field(init=False, default=None)

    def __enter__(self) -> ThreadPool:
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

        def take_jobs(thread: int) -> None:
            try:
                while (job := next(numbers)) < jobs and not failed and not stopped():
                    work(thread, job)
            except BaseException as error:
                failed.append(error)

        helpers = min(self.threads, jobs) - 1
        futures = [self._pool.submit(take_jobs, i + 1) for i in range(helpers)] if self._pool is not None else []
        take_jobs(0)
        for helper in futures:
            helper.result()
        if failed:
            raise failed[0]
