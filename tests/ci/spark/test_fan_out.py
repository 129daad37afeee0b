"""Parts of a question on other machines, or a shard of them: together they say what one machine says."""

import contextlib
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.mutants.operators import _outcomes
from kraftcheck.ci.run.fanout import Cluster, Shard, fan_out
from kraftcheck.ci.run.walks import _chunk_of
from kraftcheck.ci.spark.executor import SparkExecutor, pickled, spark_executor
from kraftcheck.ci.spark.explore import PACKAGE, source_files
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.walks.walker import WalkPlan
from kraftcheck.solvers.walks.walks import CHUNK_RUNS, chunk_ranges
from tests.ci.spark.faults.cluster import standalone
from tests.ci.spark.losses import kill_worker
from tests.shared.commands import kraftcheck

LAMP = """
import kraftcheck as kc
from attrs import frozen

@frozen
class Lamp:
    colour: kc.Word

LAMP = kc.System(
    name="lamp", summary="a lamp that changes its colour",
    layout=Lamp(kc.ints(0, 3)), initial=[Lamp(0)],
    actions=[kc.Action("next", lambda s: Lamp(kc.choose(s.colour == 2, 0, s.colour + 1)))],
    properties=[kc.always("known", "the colour is known", lambda s: s.colour <= 2),
                kc.always("never-two", "the lamp never shows two", lambda s: s.colour != 2)],
)
"""
TABLE = """
[[runs]]
system = "fanned_lamp.py:LAMP"
[runs.expect]
never-two = "refuted 2"

[[runs]]
name = "proof"
system = "fanned_lamp.py:LAMP"
engine = "prove"
properties = ["known"]

[[runs]]
name = "walks"
system = "fanned_lamp.py:LAMP"
engine = "simulate"
[runs.expect]
never-two = "refuted 2"
"""

COMMANDS = {
    "check": "check zk-jbod --scope jobs --built-in",
    "table": "check --config kraftcheck.toml",
    "bugs": "bugs reported-while-in-flight min-isr-change-clears-every-elr",
    "simulate": "simulate fanned_lamp.py:LAMP --runs 300 --steps 9 --seed 5",
    "explain": "explain zk-jbod --scope jobs",
    "prove": "prove fanned_lamp.py:LAMP",
}
TIMES = {"seconds", "rates", "bytes_per_state", "versions", "compile_seconds", "cached", "curve"}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a system of one's own, and a table of runs."""
    place = tmp_path_factory.mktemp("lamp")
    (place / "fanned_lamp.py").write_text(LAMP)
    (place / "kraftcheck.toml").write_text(TABLE)
    return place


@pytest.fixture
def lamp(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder is that of the system."""
    monkeypatch.chdir(folder)


def without_times(value: Any) -> Any:
    """A document without what differs from run to run."""
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key not in TIMES}
    return [*map(without_times, value)] if isinstance(value, list) else value


def document(words: str, *more: str) -> Any:
    """What a command writes as JSON, without its times."""
    ran = kraftcheck(*words.split(), *more, "--quiet", "--json", "-")
    assert ran.out, ran.err[:500]
    return without_times(ran.document())


class Calls(Executor):
    """An executor whose calls and answers are pickled, as those of a cluster are, and answered at once."""

    cores, again = 2, 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The answer to a call."""
        function, given, named = pickle.loads(pickled((fn, args, kwargs)))
        future: Future[Any] = Future()
        if 3 not in given:  # of which there is never an answer
            try:
                future.set_result(pickle.loads(pickled(function(*given, **named))))
            except Refusal as error:
                future.set_exception(error)
        return future


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster whose workers are threads of this process."""

    @contextlib.contextmanager
    def executor(self: Cluster, quiet: bool) -> Iterator[Calls]:
        yield Calls()

    monkeypatch.setattr(Cluster, "executor", executor)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("lamp", "elsewhere")
def test_workers_say_what_one_machine_says(command: str) -> None:
    """Verdicts, traces, counts, order and exit code are those of one machine, of a user's own system too."""
    words = COMMANDS[command]
    assert document(words, "--engine", "spark") == document(words)


def rows(command: str, told: Any) -> list[str]:
    """The parts that a document is about, as text."""
    parts = {
        "check": "runs", "table": "runs", "bugs": "bugs", "prove": "claims",
    }  # fmt: skip
    found = told["systems"][0]["mutants"] if command == "explain" else told[parts[command]]
    return [json.dumps(one, sort_keys=True) for one in found]


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "simulate"])
@pytest.mark.usefixtures("lamp")
def test_shards_are_the_whole(command: str) -> None:
    """Each part is in one of two shards, as the whole has it; a document says which shard it is of."""
    words = COMMANDS[command]
    whole, *shards = (document(words, *more) for more in ((), ("--shard", "1/2"), ("--shard", "2/2")))
    assert [one.get("shard") for one in (whole, *shards)] == [None, "1/2", "2/2"]
    parts = [rows(command, shard) for shard in shards]
    assert all(parts)
    assert sorted(one for part in parts for one in part) == sorted(rows(command, whole))


def test_walks_without_end_begin() -> None:
    """More runs than any memory has numbers for are cut into chunks one by one, and so is a shard of them."""
    Shard(3, 7).check(10**15)
    first = next(chunk_ranges(WalkPlan(10**15, 9, 1, shard=3, shards=7)))
    assert (first.start, len(first)) == (2 * 10**15 // 7, CHUNK_RUNS)


@pytest.mark.usefixtures("lamp")
def test_shards_of_walks_are_the_whole() -> None:
    """The runs of three shards are those of the whole: their steps, and what they break first."""
    words = COMMANDS["simulate"]
    whole, shards = document(words), [document(words, "--shard", f"{number}/3") for number in (1, 2, 3)]
    assert [one["runs"] for one in shards] == [100, 100, 100]
    assert [one.get("shard") for one in (whole, *shards)] == [None, "1/3", "2/3", "3/3"]
    for action, steps in whole["fired"].items():
        assert sum(one["fired"][action] for one in shards) == steps
    assert whole["exit_code"] == max(one["exit_code"] for one in shards) == 12


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "1/0", "x/y", "1/2/3", "-1/2", "²/3"])
def test_a_shard_is_one_of_some(text: str) -> None:
    """What names no shard is refused, with an example."""
    with pytest.raises(Refusal, match=r"^--shard takes K/N with K from 1 to N, such as 2/8, not "):
        Shard.read(text)


@pytest.mark.usefixtures("lamp")
def test_an_empty_shard_is_refused() -> None:
    """More shards than parts would leave a shard that checks nothing, and passes."""
    lamp = "fanned_lamp.py:LAMP"
    for words in ("check --config kraftcheck.toml", f"simulate {lamp} --runs 3", f"prove {lamp}"):
        told = kraftcheck(*words.split(), "--shard", "1/9").refusal()
        assert re.fullmatch(
            r"--shard 1/9: there are ([23]) parts, so some shards would ask nothing; take N up to \1", told
        )


def test_options_of_a_cluster_need_one() -> None:
    """`--master` without `--engine spark`, and files that a worker would write to its own disk, are refused."""
    told = kraftcheck("check", "zk-jbod", "--master", "local").refusal()
    assert told == "--master is an option of --engine spark; leave it out"
    told = kraftcheck("check", "zk-jbod", "--engine", "spark", "--out", "here").refusal()
    assert told.startswith("--out is on this machine, and workers are elsewhere; --json has every counterexample")


@pytest.mark.usefixtures("lamp")
def test_a_worker_with_another_system_is_a_fault() -> None:
    """What a worker would say of another program is no answer."""
    chosen = subject("fanned_lamp.py:LAMP", None, {}, None)
    with pytest.raises(SystemFault, match="another system of the same module"):
        _chunk_of(pickled((chosen, WalkPlan(1, 1, 1))), "another", range(1))
    with pytest.raises(SystemFault, match="another system of the same module"):
        _outcomes(pickled((chosen, SearchBudget(1 << 28))), "another", [1])


@pytest.mark.usefixtures("elsewhere")
def test_what_is_stopped_is_left_out() -> None:
    """After SIGTERM there are answers about what has ended, and no other; what an answer raises is raised as it is."""
    cluster = Cluster(None, (), 1)
    answers = fan_out(cluster.executor(quiet=True), abs, [-1, 3, -2], "numbers", quiet=True)
    found = [next(answers)]
    signal.raise_signal(signal.SIGTERM)
    assert [*found, *answers] == [(-1, 1), (-2, 2)]
    with pytest.raises(Refusal, match=r"^not here$"):
        [*fan_out(cluster.executor(quiet=True), refused, ["x"], "words", quiet=True)]


def refused(word: str = "") -> None:
    """A call that refuses."""
    raise Refusal("not here")


def dying(note: str) -> int:
    """A call whose first attempt ends its worker."""
    if not Path(note).exists():
        Path(note).write_text("")
        kill_worker()
    return os.getpid()


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("shared", "lamp")
def test_spark_answers_calls(tmp_path: Path) -> None:
    """Spark tries a call again whose worker died, and counts it; what a call raises is raised as it is, at once."""
    with spark_executor(None, (), 2) as executor:
        assert isinstance(executor, SparkExecutor)
        lost = executor.submit(dying, str(tmp_path / "note"))
        with pytest.raises(Refusal, match=r"^not here$"):
            executor.submit(refused).result()
        assert lost.result() != os.getpid()
        assert executor.again == 1
    assert document(COMMANDS["table"], "--engine", "spark") == document(COMMANDS["table"])
    assert document(COMMANDS["simulate"], "--engine", "spark") == document(COMMANDS["simulate"])


SHIPPED = """
import sys
sys.path.insert(0, sys.argv[1])
from kraftcheck.ci.spark.executor import unpack_sources
assert ".zip" in sys.modules["kraftcheck.ci.spark.executor"].__file__
unpack_sources()
unpack_sources()
from pathlib import Path
from kraftcheck.ci.systems.subject import program, subject
import kraftcheck.ci.spark.executor as again
assert Path(again.__file__).is_file()
print(len(program(subject("zk-jbod", "jobs", {}, None)).kinds))
"""


def test_sources_of_an_archive_become_files(tmp_path: Path) -> None:
    """A worker that has kraftcheck from an archive alone traces and compares rules as the driver does."""
    archive = tmp_path / "sources.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        for path in source_files():
            bundle.write(path, path.relative_to(PACKAGE.parent))
    ran = subprocess.run([sys.executable, "-c", SHIPPED, str(archive)], capture_output=True, text=True, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert int(ran.stdout) == len(program(subject("zk-jbod", "jobs", {}, None)).kinds)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("lamp")
def test_a_cluster_says_what_one_machine_says(tmp_path: Path) -> None:
    """Two workers of a standalone cluster, which get kraftcheck and the user's module with the tasks."""
    with standalone(tmp_path, 2) as cluster:
        more = ("--engine", "spark", "--master", cluster.url, "--conf", "spark.driver.host=127.0.0.1",
                "--conf", "spark.executor.memory=512m")  # fmt: skip
        for words in COMMANDS.values():
            assert document(words, *more) == document(words)
