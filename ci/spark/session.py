"""The Spark session: started with its messages in a file, or refused with the reason."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kraftcheck.ci.dataset.store.objects import AnyPath, absolute
from kraftcheck.ci.terminal.refusal import JobFailedError, Refusal
from kraftcheck.solvers.machine_code.regular import open_regular

JAVA = 17  # the oldest Java that Spark 4 runs on
SPARK = (4, 1)  # the oldest Spark with the functions that jobs are made of: `repartitionById` and `arrow_udf`

LOG_PATTERN = "%d{yy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex"

LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = {pattern}
"""

QUICK_COMPILER = "-XX:TieredStopAtLevel=1"  # an option of Java's: compile quickly, and never again thoroughly
ATTEMPTS = 4  # times that a task is tried; an embedded Spark would try once

DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.python.worker.reuse": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.execution.arrow.maxBytesPerBatch": "8m",
    "spark.task.maxFailures": str(ATTEMPTS),
    "spark.sql.session.timeZone": "UTC",
}
"""Settings of a run unless `--conf` says otherwise. Adaptive execution would gain nothing: sizes are known."""

PRIVATE = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.authenticate": "true"}
"""Settings of an embedded Spark: nobody else on the network, and no other user of the machine, has business with it."""

SQL_ROWS = 1 << 18
"""Rows of a task of a join or a group: some 64 MB, which each core of an executor has; with more it spills."""


def check_java() -> None:
    """Refuse to start without a Java that Spark runs on, saying what is there and what is needed."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    mend = f"install Java {JAVA} or newer, or set JAVA_HOME"
    if java is None or not Path(java).exists():
        raise Refusal(f"--engine spark needs Java and there is none{f' at {java}' if java else ''}; {mend}")
    try:
        result = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refusal(f"--engine spark needs Java and {java} does not run ({error}); {mend}") from error
    match = re.search(r'version "(?:1\.)?(\d+)', result.stderr + result.stdout)
    if match is None or int(match[1]) < JAVA:
        version_text = match[0] if match else f"exit code {result.returncode}"
        raise Refusal(f"--engine spark needs Java {JAVA} or newer and {java} has {version_text}; {mend}")


def check_packages(engine: str = "spark") -> None:
    """Refuse to start without the packages of the engine's extra, `spark` or `disk`, or with an older Spark."""
    for name in ("pyspark", "pyarrow", "pandas") if engine == "spark" else ("pyarrow",):
        try:
            __import__(name)
        except ImportError as error:
            raise Refusal(f"--engine {engine} needs {name} ({error}); pip install 'kraftcheck[{engine}]'") from error
    if engine == "spark":
        version = sys.modules["pyspark"].__version__
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < SPARK:
            raise Refusal(f"--engine spark needs Spark {'.'.join(map(str, SPARK))} or newer and pyspark is {version}; "
                          "take a newer cluster, or pip install 'kraftcheck[spark]'")  # fmt: skip


def check_pyarrow() -> None:
    """Refuse to read a dataset without the package that reads Parquet; raises Refusal, saying what to install."""
    try:
        __import__("pyarrow")
    except ImportError as error:
        raise Refusal(f"Parquet needs pyarrow ({error}); pip install 'kraftcheck[disk]'") from error


def parse_conf(words: tuple[str, ...]) -> dict[str, str]:
    """Spark settings as typed, `KEY=VALUE` each; raises Refusal for anything else."""
    settings = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key.startswith("spark."):
            raise Refusal(f"--conf takes spark.KEY=VALUE, not {word!r}")
        settings[key] = value
    return settings


@contextmanager
def quiet_stderr(log: Path) -> Iterator[None]:
    """Redirect the standard error of processes that are started meanwhile to the log."""
    sys.stderr.flush()
    saved_stderr = os.dup(2)
    handle = open_regular(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.dup2(handle, 2)
        yield
    finally:
        os.dup2(saved_stderr, 2)
        os.close(saved_stderr)
        os.close(handle)


def is_submitted() -> bool:
    """Whether spark-submit started this process, so that master and memory are already chosen."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def is_embedded(master: str) -> bool:
    """Whether all tasks of this master run in this machine's processes, on the driver's disk."""
    return master == "local" or master.startswith("local[")


def start_session(
    master: str | None, workers: int, conf: Mapping[str, str], log: Path, *, schedules_only: bool = False
) -> Any:
    """The session.

    Args:
        master: `--master`; None: what spark-submit chose, else `local[workers,4]`.
        workers: cores of the embedded default.
        conf: settings of the user's.
        log: where Spark's own messages go.
        schedules_only: the work is that of Python workers, so that Java need not compile thoroughly: that takes longer
            than it saves.

    Raises:
        Refusal: when Java or a package is missing, or Spark does not start.
    """
    check_packages()
    if not is_submitted():
        check_java()
    from pyspark.sql import SparkSession

    _choose_python(conf.get("spark.pyspark.python"))
    log.parent.mkdir(parents=True, exist_ok=True)
    settings = log.with_suffix(".log4j2.properties")
    settings.write_text(LOG4J.format(file=log.resolve(), pattern=LOG_PATTERN), encoding="utf-8")
    options = f"-Dlog4j2.configurationFile={settings.resolve().as_uri()}"
    if schedules_only:
        options = f"{options} {QUICK_COMPILER}"
    builder = SparkSession.builder.appName("kraftcheck")
    if master is not None or not is_submitted():
        master = master or f"local[{workers},{ATTEMPTS}]"
        builder = builder.master(master)
    own = PRIVATE if master is not None and is_embedded(master) else {}
    for key, value in {**DEFAULTS, **own, "spark.driver.extraJavaOptions": options, **conf}.items():
        builder = builder.config(key, value)
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True  # it writes to standard error what the exception says too
    try:
        with quiet_stderr(log):
            session = builder.getOrCreate()
        if is_submitted():
            session.sparkContext.setLogLevel("WARN")
            log_to(session, log)
        return session
    except Exception as error:
        raise Refusal(f"Spark does not start: {str(error).splitlines()[0]} (see {log})") from error


def _choose_python(chosen: str | None) -> None:
    """Let workers run a chosen Python, else this one; of itself Spark reads the setting only under spark-submit."""
    if chosen is not None:
        os.environ["PYSPARK_PYTHON"] = chosen
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


@contextmanager
def stopped_at_the_end(session: Any, log: Path) -> Iterator[None]:
    """Stop a session at the end, what Python says meanwhile in the log; raises JobFailedError if the JVM has gone."""

    handler, server = logging.FileHandler(log), session.sparkContext._accumulatorServer
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%y-%m-%d %H:%M:%S"))
    root = logging.getLogger()
    root.addHandler(handler)
    server.handle_error = lambda request, address: root.exception("the server of accumulators lost the JVM")
    try:
        try:
            yield
        finally:
            if not _stopped(session):
                mend = "run it again, and an exploration with --resume"
                raise JobFailedError(f"Spark's JVM has gone (killed? out of memory?): {mend} (details in {log})")
    finally:
        root.removeHandler(handler)
        handler.close()


def _stopped(session: Any) -> bool:
    """Stop a session; false where its JVM is not there, or goes meanwhile."""
    from py4j.protocol import Py4JNetworkError

    try:
        session.sparkContext._jvm.java.lang.System.nanoTime()
        session.stop()
    except (Py4JNetworkError, OSError):
        return False
    return True


def log_to(session: Any, log: Path) -> Callable[[], None]:
    """Write warnings of a driver that others started to the log too, from its first line on; returns what ends that."""
    begun = f"Spark {session.version} on {session.sparkContext.master}; what is before is where its driver was started"
    with log.open("a", encoding="utf-8") as file:
        print(begun, file=file)
    log4j = session.sparkContext._jvm.org.apache.logging.log4j
    context = log4j.LogManager.getContext(False)
    layout = log4j.core.layout.PatternLayout.newBuilder().withPattern(LOG_PATTERN).build()
    appender = log4j.core.appender.FileAppender.newBuilder().withFileName(str(log.resolve()))
    appender = appender.setName(f"kraftcheck {log.resolve()}").setLayout(layout).build()
    appender.start()
    root = context.getConfiguration().getRootLogger()
    root.addAppender(appender, log4j.Level.WARN, None)
    context.updateLoggers()

    def end() -> None:
        root.removeAppender(appender.getName())
        context.updateLoggers()
        appender.stop()

    return end


def on_this_disk(path: AnyPath) -> str:
    """A path as Spark reads and writes it here, whatever file system is Hadoop's default; Hadoop decodes no escapes."""
    return f"file://{absolute(path)}"


@contextmanager
def for_sql(session: Any, rows: int) -> Iterator[None]:
    """Meanwhile joins and groups of about so many rows take as many tasks as fit, compiled; then all is as before."""
    tasks = max(int(session.sparkContext.defaultParallelism), -(-rows // SQL_ROWS))
    chosen = {
        "spark.sql.shuffle.partitions": str(tasks), "spark.sql.codegen.wholeStage": "true",
        "spark.sql.autoBroadcastJoinThreshold": "-1",  # a side in memory cannot spill; what is sorted can
    }  # fmt: skip
    before = {key: session.conf.get(key) for key in chosen}
    try:
        for key, value in chosen.items():
            session.conf.set(key, value)
        yield
    finally:
        for key, value in before.items():
            session.conf.set(key, value)


_MESSAGES = (
    (r"ForeignCodeError: (.*)", "{0}"),
    (r"SightError: (.*)", "{0}"),
    (r"DamagedLevelError: (.*)", "{0}; restore the file or explore again into another --out"),
    (r"No space left on device", "no space left where the run or Spark's scratch files are: free some, then --resume "
     "(--conf spark.local.dir=DIR moves the scratch files)"),
    (r"File too large", "a file would be larger than the limit of this process (ulimit -f): raise it, then --resume"),
    (r"Disk quota exceeded", "the disk quota is used up: free some, then --resume"),
    (r"PYTHON_VERSION_MISMATCH[^\n]*", "workers run another Python than the driver: set PYSPARK_PYTHON to its version"),
    (r"ModuleNotFoundError: (.*)", "workers lack a package: {0}; install kraftcheck[spark] there too"),
    (r"OutOfMemoryError: (.*)", "the JVM ran out of memory ({0}): raise it with --conf spark.driver.memory=2g "
     "or spark.executor.memory=2g, then --resume"),
    (r"MemoryError", "a worker ran out of memory: let fewer tasks run at a time (--workers N, or "
     "--conf spark.executor.cores=N), then --resume"),
    (r"Python worker exited unexpectedly", "a Python worker died on every attempt (out of memory?): --resume goes on"),
)  # fmt: skip


def job_error(error: Exception, log: Path) -> JobFailedError:
    """The error of a job in one line, with the mend where it is known."""
    text = str(error)
    for pattern, message in _MESSAGES:
        match = re.search(pattern, text)
        if match:
            return JobFailedError(message.format(*match.groups()) + f" (details in {log})")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not re.match(r"\s*at \S+\(", line)]
    telling = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    said = (telling or lines or [type(error).__name__])[-1][:300]
    return JobFailedError(f"a Spark job failed: {said} (details in {log})")
