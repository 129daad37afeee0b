"""What a process may use of its machine: control groups of both versions, affinity, limits, and no home."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from kraftcheck.ci.terminal import machine
from tests.shared.commands import kraftcheck

GB = 1 << 30


def groups(root: Path, membership: str, files: dict[str, str]) -> Path:
    """A file system in which this process is in control groups with these files."""
    for name, text in {"proc/self/cgroup": membership, **{f"sys/fs/cgroup/{n}": t for n, t in files.items()}}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/", {"memory.max": "1000000"}, 1_000_000),
        ("0::/", {"memory.max": "max"}, None),
        ("0::/a/b", {"a/b/memory.max": "max", "a/memory.max": "3000000"}, 3_000_000),
        ("0::/not/seen/inside", {"memory.max": "5000000"}, 5_000_000),
        ("4:memory:/a/b", {"memory/a/b/memory.limit_in_bytes": "7000000"}, 7_000_000),
        ("4:memory:/docker/x", {"memory/memory.limit_in_bytes": "8000000"}, 8_000_000),
        ("4:memory:/", {"memory/memory.limit_in_bytes": str(2**63 - 4096)}, None),
        ("1:cpu:/", {"memory/memory.limit_in_bytes": "9000000"}, None),
        ("", {}, None),
    ],
)
def test_memory_is_the_containers(tmp_path: Path, membership: str, files: dict[str, str], expected: int | None) -> None:
    """The least limit of the process's group and those above counts, in both versions; no limit is the machine's."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert machine.memory(groups(tmp_path, membership, files)) == (expected or whole)


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/", {"cpu.max": "50000 100000"}, 1),
        ("0::/", {"cpu.max": "150000 100000"}, 2),
        ("0::/a", {"a/cpu.max": "max 100000", "cpu.max": "100000 100000"}, 1),
        ("2:cpu,cpuacct:/a", {"cpu/a/cpu.cfs_quota_us": "100000", "cpu/a/cpu.cfs_period_us": "100000"}, 1),
        ("1:cpu:/a", {"cpu/a/cpu.cfs_quota_us": "-1", "cpu/a/cpu.cfs_period_us": "100000"}, 3),
        ("0::/", {"cpu.max": "900000 100000"}, 3),
        ("", {}, 3),
    ],
)
def test_processors_are_the_containers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, membership: str, files: dict[str, str], expected: int
) -> None:
    """A share of processors is rounded up, and no more are taken than the process may run on."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5})
    assert machine.cores(groups(tmp_path, membership, files)) == expected


def test_a_system_without_affinity_counts_its_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system tells no affinity, as macOS, all its processors count, and 256 at most."""
    monkeypatch.delattr(os, "sched_getaffinity")
    for number, expected in ((7, 7), (None, 1), (1000, 256)):
        monkeypatch.setattr(os, "cpu_count", lambda number=number: number)
        assert machine.cores(tmp_path) == expected


def test_the_limit_of_a_process_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`ulimit -v` bounds the memory, and a search is given less than half of it, but something."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (GB, resource.RLIM_INFINITY))
    assert machine.memory(tmp_path) == GB
    assert machine.default_memory() == (GB - machine.OWN_MEMORY) // 2
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 20, resource.RLIM_INFINITY))
    assert machine.default_memory() == machine.LEAST_MEMORY


def test_more_than_the_process_may_take_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--memory` above the limit is one line that names the limit."""
    monkeypatch.setattr(machine, "memory", lambda: 300 << 20)
    ran = kraftcheck("explore", "elections", "--scope", "tiny", "--memory", "400M")
    assert (ran.code, ran.out) == (2, "")
    assert "more than this process may take, 300M" in ran.err


def test_a_user_without_a_home_gets_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose user has neither HOME nor a name explores, and warns once that nothing is kept."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    ran = kraftcheck("explore", "tests.toys:DIGRAPH", "--quiet", "--property", "never-5")
    assert (ran.code, ran.err) == (12, "")
    assert ran.out.count("warning: compiled code is not kept") == 1


@pytest.mark.parametrize("megabytes", [100, 250, 639])
def test_too_little_address_space_is_one_line(megabytes: int) -> None:
    """Below what the libraries take, a command says what it needs before it loads them."""
    limit = f"ulimit -v {megabytes << 10}; exec {sys.executable} -m kraftcheck.ci.main list"
    ran = subprocess.run(["bash", "-c", limit], capture_output=True, text=True, timeout=300, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert f"limited to {megabytes} MB" in ran.stderr


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't start new thread")])
def test_no_memory_and_no_thread_are_one_line(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """What the system refuses is no fault of the program: one line that names the mend, exit 2."""

    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("kraftcheck.ci.run.questions.explore", refuse)
    ran = kraftcheck("explore", "tests.toys:DIGRAPH", "--quiet")
    assert ran.code == 2
    assert ran.err.startswith("kraftcheck: ")
    assert "--workers" in ran.err
    assert len(ran.err.splitlines()) == 1
