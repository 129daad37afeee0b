"""The verdicts that need the whole graph of a committed run: ways back, and fair behaviours."""

from __future__ import annotations

from kraftcheck.ci.dataset.backward.search import CommittedBackward
from kraftcheck.ci.dataset.jobs.stages import JobRunner
from kraftcheck.ci.dataset.liveness.search import CommittedLiveness
from kraftcheck.ci.dataset.search.run import DatasetRun


def judge(run: DatasetRun, runner: JobRunner, memory: int) -> None:
    """Judge the `recovers` and liveness properties of a run whose levels are committed.

    Args:
        run: the run; it gets the results.
        runner: of the jobs.
        memory: bytes that arcs or a region may take in this process.

    Raises:
        JobFailedError: when a job fails on all attempts; finished rounds stay.
        EngineDisagreement: when ints do not confirm a lasso.
    """
    of = (runner, run.log, run.commits, run.kernel.program, memory, run.report_backward)
    run.search_backward(lambda: CommittedBackward(*of).run(run.stop))
    run.search_liveness(lambda: CommittedLiveness(*of).run(run.stop))
