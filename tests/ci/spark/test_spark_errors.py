"""What goes wrong under Spark, told in one line."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.dataset.options import default_buckets
from kraftcheck.ci.dataset.search.levels import splits
from kraftcheck.ci.dataset.store.levelfiles import Groups, RowGroup
from kraftcheck.ci.spark.session import job_error


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("org.apache.spark...: java.io.IOException: No space left on device\n at x", "no space left where the run"),
        ("OSError: [Errno 27] File too large", "raise it, then --resume"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9", "workers run another Python"),
        ("  File x\nModuleNotFoundError: No module named 'llvmlite'\n", "lack a package: No module named 'llvmlite'"),
        ("kraftcheck.solvers.machine_code.objectcode.ForeignCodeError: "
         "the kernel was compiled for a and this worker's b lacks avx512f; "
         "use --portable-code\n at", "lacks avx512f; use --portable-code"),
        ("DamagedLevelError: /out/part-1.parquet: 3 rows instead of 4\n", "3 rows instead of 4; restore the file"),
        ("java.lang.OutOfMemoryError: Java heap space", "the JVM ran out of memory (Java heap space)"),
        ("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", "--resume goes on"),
        ("nonsense\nsomething.OddError: what it was\n\tat java", "a Spark job failed: something.OddError: what it was"),
        ("An error occurred while calling o1.\n\tat java.base/a.B.c(B.java:1)", "failed: An error occurred"),
    ],
)  # fmt: skip
def test_a_failed_job_is_told_in_one_line(raised: str, told: str) -> None:
    """Known causes name the mend; of others the telling line is shown, and where the rest is."""
    message = job_error(RuntimeError(raised), Path("out/spark.log")).message
    assert told in message
    assert "details in out/spark.log" in message
    assert "\n" not in message


def test_splits_keep_order_and_size() -> None:
    """Neighbouring groups go together up to a size; a group larger than that is a split of its own."""
    groups = Groups.of((RowGroup(bucket, "f", bucket, rows) for bucket, rows in enumerate([5, 5, 20, 1, 9, 1])), 3)
    made = splits(groups, 10)
    assert [group for part in made for group in part] == list(groups)
    assert [[group.rows for group in part] for part in made] == [[5, 5], [20], [1, 9], [1]]
    assert splits(Groups.empty(3), 10) == (Groups.empty(3),)


@pytest.mark.parametrize(
    ("master", "threads", "buckets"),
    [(None, 1, 64), (None, 2, 64), ("local[48]", 48, 2048), ("local[512]", 512, 4096), ("spark://host:7077", 2, 4096)],
)
def test_buckets_follow_from_cores(master: str | None, threads: int, buckets: int) -> None:
    """By default there are some tens of buckets for each core, and on a cluster thousands."""
    assert default_buckets(master, threads) == buckets


def listening(process: int) -> set[str]:
    """The addresses on which a process listens, as Linux writes them: bytes of the address in hexadecimal."""
    sockets = {os.readlink(entry) for entry in Path(f"/proc/{process}/fd").iterdir() if entry.is_symlink()}
    own = set(re.findall(r"socket:\[(\d+)\]", " ".join(sockets)))
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{process}/net/{table}").read_text(encoding="ascii").splitlines()[1:]
    ]
    return {row[1].split(":")[0] for row in rows if row[3] == "0A" and row[9] in own}


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_an_embedded_spark_listens_to_this_machine_alone(session: Any) -> None:
    """Every port of the JVM is one of the loopback interface, and whoever connects has to know a secret."""
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    found = listening(session.sparkContext._gateway.proc.pid)
    assert found
    assert found <= loopback
    assert session.sparkContext.getConf().get("spark.authenticate") == "true"
