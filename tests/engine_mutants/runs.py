"""Mutants of the merging of old levels, and of what is read of merged runs. They run without Spark."""

from __future__ import annotations

from tests.ci.spark import test_spark_runs
from tests.engine_mutants.mutant import Killer, Mutant

MERGED = Killer(test_spark_runs.test_runs_change_nothing, (1,))

RUNS_OF_LEVELS = (
    Mutant("run-checksum-unread", "The states of a merged run are believed without their checksum.",
           "ci.dataset.store.runs:_read", "zlib.crc32(part) != crc", "False",
           Killer(test_spark_runs.test_a_run_is_read_by_buckets)),
    Mutant("run-of-another-exploration", "A merged run is taken up whatever manifest it names.",
           "ci.dataset.search.compaction:Compaction._read", 'document["of"] != self.log.seal(last - 1)', "False",
           Killer(test_spark_runs.test_a_run_of_something_else_is_dropped, (0,)), slow=True),
    Mutant("run-of-other-levels", "A merged run is taken up however many states its levels have.",
           "ci.dataset.search.compaction:Compaction._read",
           "run if run.rows == sum(level.rows for level in commits[first:last]) else None", "run",
           Killer(test_spark_runs.test_a_run_of_something_else_is_dropped, (1,)), slow=True),
    Mutant("merge-skips-bucket", "A merge leaves out the bucket after each that it holds at once.",
           "ci.spark.merges:_windows", "lo = hi", "lo = hi + 1", MERGED, (RuntimeError,), slow=True),
    Mutant("merge-forgets-parts", "Once levels are merged, those before them are not read any more.",
           "ci.dataset.search.compaction:Compaction.parts", "(*parts[:at], made)", "(made,)", MERGED, slow=True),
)  # fmt: skip
