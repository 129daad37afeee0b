"""Tasks that kill what they run on, the first time they are tried."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

KILLED = "killed"


def kill_worker() -> None:
    """End this Python worker as the kernel's memory killer would."""
    os.kill(os.getpid(), signal.SIGKILL)


@frozen
class Dying:
    """A stage whose first attempts die after their first batch."""

    make: Callable[..., Any]  # `expand_task` or `sift_task`
    kill: Callable[[], None]  # what dies
    depth: int  # at which level
    note: Path  # a file that says that it happened

    def __call__(self, shipped: Any, level: Any, *more: Any) -> Any:
        """The stage's work, with the loss built in."""
        work, kill, doomed, note = self.make(shipped, level, *more), self.kill, level.depth == self.depth, self.note

        def dying(batches: Iterator[Any]) -> Iterator[Any]:
            from pyspark import TaskContext

            context = TaskContext.get()
            first = context.partitionId() == 0 and not note.exists()
            for batch in work(batches):
                if doomed and first:
                    note.write_text(f"pid {os.getpid()}")
                    kill()
                yield batch

        return dying


def two_executors(session: Any) -> set[str]:
    """Ids of the executors, once both are there, which takes a while on a busy machine."""
    deadline = time.monotonic() + 120
    while len(found := executors(session)) < 2:
        if time.monotonic() > deadline:
            raise RuntimeError(f"only executors {sorted(found)} started in two minutes")
        time.sleep(0.1)
    return found


def executors(session: Any) -> set[str]:
    """Ids of the executors that are alive."""
    store = session.sparkContext._jsc.sc().statusStore().executorList(True)
    return {store.apply(i).id() for i in range(store.size())} - {"driver"}
