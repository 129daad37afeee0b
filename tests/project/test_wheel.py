"""The wheel in a fresh virtual environment, beside a user's own `ci/` and `model/`: it installs one package.

The environment finds the packages that kraftcheck depends on in the one that runs the tests, so that nothing is fetched
for it; kraftcheck itself it has from the wheel alone.
"""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from attrs import frozen

from kraftcheck.ci.spark.explore import ship_sources
from kraftcheck.ci.terminal.commands import COMMANDS
from tests.shared.places import ROOT, TESTS
from tests.shared.samples import one_in

pytestmark = [pytest.mark.shipped, pytest.mark.xdist_group("wheel")]

LEASE = """
import kraftcheck as kc
from attrs import frozen

@frozen
class Lease:
    holder: kc.Word

LEASE = kc.System(
    name="lease",
    summary="one holder",
    layout=Lease(kc.ints(-1, 2)),
    initial=[Lease(-1)],
    actions=[
        kc.Action("grant", lambda s, to: Lease(to), lambda s, to: s.holder == -1, {"to": (0, 1)}),
        kc.Action("end", lambda s: Lease(-1), lambda s: s.holder >= 0),
    ],
    properties=[kc.always("at-most-one", "the holder is a broker", lambda s: s.holder <= 1)],
)
"""

PROJECT = {
    "ci/__init__.py": "OURS = True\n",
    "model/__init__.py": "OURS = True\n",
    "properties.py": "OURS = True\n",
    "solvers/__init__.py": "OURS = True\n",
    "lease.py": LEASE,
    "test_lease.py": """
import ci, model, properties, solvers
import kraftcheck as kc
import pytest
from lease import LEASE

def test_own_packages():
    assert ci.OURS and model.OURS and properties.OURS and solvers.OURS

def test_engines():
    kc.explore(LEASE).assert_holds()

@pytest.mark.kraftcheck_system("lease:LEASE")
def test_properties(kraftcheck_property):
    pass
""",
    "typed.py": f"{LEASE}\nresult: kc.Result = kc.explore(LEASE, scope='default')\nresult.assert_holds()\n",
}
"""A user's project, whose packages have the names of kraftcheck's folders."""


@frozen
class Installed:
    """A virtual environment with the wheel, and a project far from the checkout."""

    wheel: Path  # the file
    python: Path  # the environment's interpreter
    project: Path  # the folder

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """A command in the project, which sees nothing of the checkout."""
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTEST_CURRENT_TEST")}
        environment |= {"PYSPARK_PYTHON": str(self.python), "PYSPARK_DRIVER_PYTHON": str(self.python)}
        return subprocess.run(
            list(map(str, words)), cwd=self.project, env=environment, capture_output=True, text=True, timeout=300
        )

    def kraftcheck(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """The installed command."""
        return self.run(self.python.with_name("kraftcheck"), *words)


def sources() -> list[str]:
    """The files of the repository, new ones that are not committed yet among them."""
    words = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return list(filter(None, listed.split("\0")))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, built from the sdist that is built from a copy of the sources, and installed."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in sources():
        place, source = folder / "sources" / name, ROOT / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            place.symlink_to(source.readlink())
        elif source.is_file():
            place.write_bytes(source.read_bytes())
    words = [sys.executable, "-m", "build", "--outdir", folder / "dist", folder / "sources"]
    subprocess.run(words, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    words = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(words, check=True, capture_output=True)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for name, text in PROJECT.items():
        place = folder / "project" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return Installed(wheel, python, folder / "project")


SHIPPED = (
    ".py", ".java", ".xml", ".txt", ".json", ".css", ".js", ".mjs", ".html", ".svg", ".pml", ".tla", ".rs", ".toml",
)  # fmt: skip
"""Endings of the files of the sources that are installed."""


def test_the_wheel_holds_one_package(installed: Installed) -> None:
    """Nothing but `kraftcheck` is installed at the top level, with its types and with every file of the sources."""
    with zipfile.ZipFile(installed.wheel) as bundle:
        names = {name for name in bundle.namelist() if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in names} == {"kraftcheck"}
    layers = [name for name in sources() if name.startswith(("model/", "properties/", "solvers/", "ci/"))]
    code = {f"kraftcheck/{name}" for name in layers if name.endswith(SHIPPED)}
    code = {name for name in code if (ROOT / name).exists()}
    public = {"__init__.py", "__main__.py", "network.py", "py.typed", "testing.py"}
    assert names == code | {f"kraftcheck/{name}" for name in public}


def test_an_earlier_build_leaves_nothing_in_the_wheel(installed: Installed) -> None:
    """A module that an older checkout had, in the folder where a wheel is put together, is not shipped."""
    sources_ = installed.wheel.parents[1] / "sources"
    stale = sources_ / "build" / "lib" / "kraftcheck" / "ci" / "main" / "__init__.py"
    stale.parent.mkdir(parents=True)
    stale.write_text("")
    words = [sys.executable, "-m", "build", "--wheel", "--outdir", sources_ / "dist", sources_]
    subprocess.run(words, check=True, capture_output=True)
    (again,) = (sources_ / "dist").glob("*.whl")
    with zipfile.ZipFile(installed.wheel) as first, zipfile.ZipFile(again) as second:
        assert {*first.namelist()} == {*second.namelist()}


def test_an_index_would_take_both(installed: Installed) -> None:
    """Wheel and sdist have whole metadata, and a README that an index can show."""
    files = [*installed.wheel.parent.iterdir()]
    assert {file.suffix for file in files} == {".whl", ".gz"}
    ran = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.count("PASSED")) == (0, 2), ran.stdout + ran.stderr


def test_the_environment_has_kraftcheck_from_the_wheel(installed: Installed) -> None:
    """The package is that of the environment, and no layer can be imported as a package of its own."""
    code = (
        "import importlib.util as u, kraftcheck, kraftcheck.model\n"
        "print(kraftcheck.__file__, kraftcheck.model.__file__, "
        "[n for n in ('model', 'properties', 'solvers', 'ci') if u.find_spec(n)])"
    )
    ran = installed.run(installed.python, "-I", "-c", code)
    site = installed.python.parent.parent
    package, model, layers = ran.stdout.split(" ", 2)
    assert package.startswith(str(site))
    assert model.startswith(str(site))
    assert layers == "[]\n"


LOG, SNAPSHOT = TESTS / "captured" / "elr", TESTS / "snapshots" / "outage.json"

USED: dict[str, tuple[tuple[str | Path, ...], int]] = {
    "list": (("lease:LEASE",), 0),
    "where": (("min", "isr"), 0),
    "check": (("broker-ids", "--scope", "tiny", "--rules", "fixed", "--quiet"), 0),
    "bugs": (("hw-advances-under-min-isr", "--quiet"), 0),
    "explore": (("lease:LEASE", "--quiet"), 0),
    "diff": (("lease:LEASE", "lease:LEASE", "--quiet"), 0),
    "branch": (("missing",), 2),
    "step": (("lease:LEASE",), 0),
    "simulate": (("lease:LEASE", "--runs", "3", "--quiet"), 0),
    "explain": (("lease:LEASE", "--quiet"), 0),
    "prove": (("lease:LEASE", "--quiet"), 0),
    "conform": (("--vectors", TESTS / "vectors" / "directory_id.json"), 0),
    "findings": (("ghost-elr-member",), 0),
    "replay": ((LOG, "--html", "log.html"), 0),
    "status": ((LOG,), 10),
    "ask": ((LOG, "unregister", "99"), 1),
    "whatif": ((LOG, "--faults", "0"), 0),
    "trace": ((TESTS / "traces" / "B4.itf.json", "--html", "B4.html"), 0),
    "export": (("lease:LEASE", "--tla", "Lease.tla"), 0),
    "query": (("missing", "SELECT 1"), 2),
    "sweep": (("missing",), 2),
    "serve": (("missing",), 2),
    "unclean-recovery": (("--snapshot", SNAPSHOT, "--all-offline-partitions", "--show-replica-info"), 0),
    "elect-leaders": (
        ("--snapshot", SNAPSHOT, "--election-type", "UNCLEAN", "--all-topic-partitions", "--dry-run"), 1,
    ),
}  # fmt: skip
"""Words of each command, and its exit code; what needs a space that Spark has stored is used with Spark below."""


def test_every_command_is_used() -> None:
    """No command is left out below."""
    assert set(USED) == set(COMMANDS)


@pytest.mark.parametrize("command", one_in(3, USED))
def test_a_command_works_far_from_the_checkout(installed: Installed, command: str) -> None:
    """An installed command answers, and finds the user's system in the working folder."""
    words, code = USED[command]
    ran = installed.kraftcheck(command, *words)
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    assert (ran.stdout if code != 2 else ran.stderr).strip()


def test_the_package_is_a_command(installed: Installed) -> None:
    """`python -m kraftcheck` is the command."""
    ran = installed.run(installed.python, "-m", "kraftcheck", "--version")
    assert (ran.returncode, ran.stdout) == (0, installed.kraftcheck("--version").stdout)


def test_a_foreign_project_is_tested(installed: Installed) -> None:
    """pytest starts beside the user's own `ci/` and `model/`; the plugin makes each property an item."""
    ran = installed.run(installed.python, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "4 passed" in ran.stdout
    assert "PASSED test_lease.py::test_properties[at-most-one]" in ran.stdout


def test_a_broken_system_fails_there(installed: Installed) -> None:
    """The plugin of the wheel fails the item of a property that does not hold."""
    broken = installed.project / "broken"
    broken.mkdir()
    (broken / "short.py").write_text(LEASE.replace("s.holder <= 1)", "s.holder <= 0)"))
    marked = "@pytest.mark.kraftcheck_system('short:LEASE')\ndef test_it(kraftcheck_property):\n    pass\n"
    (broken / "test_short.py").write_text(f"import pytest\n{marked}")
    ran = installed.run(installed.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", broken)
    assert ran.returncode == 1
    assert "1 failed, 1 passed" in ran.stdout


@pytest.mark.slow
def test_types_are_seen(installed: Installed) -> None:
    """mypy checks a user's system against the types of the wheel, strictly, and finds what is wrong with a call."""
    mypy = (sys.executable, "-m", "mypy", "--strict", "--python-executable", installed.python, "--no-incremental")
    good = installed.run(*mypy, "typed.py")
    assert good.returncode == 0, good.stdout
    (installed.project / "wrong.py").write_text("import kraftcheck as kc\nkc.explore(3)\n")
    wrong = installed.run(*mypy, "wrong.py")
    assert wrong.returncode == 1
    assert 'Argument 1 to "explore" has incompatible type "int"' in wrong.stdout


@pytest.mark.slow
@pytest.mark.spark
def test_spark_runs_an_installed_wheel(installed: Installed) -> None:
    """`spark-submit` of the installed entry explores a user's system; its space is queried by the command."""
    find = "import kraftcheck.ci.spark.submit as submit; print(submit.__file__)"
    entry = installed.run(installed.python, "-c", find).stdout.strip()
    submit = Path(sys.executable).with_name("spark-submit")
    words = (submit, "--master", "local[1]", "--driver-memory", "512m", entry, "lease:LEASE", "--handover", "0",
             "--out", "space", "--json", "told.json", "--quiet")  # fmt: skip
    ran = installed.run(*words)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert json.loads((installed.project / "told.json").read_text())["states"]["distinct"] == 3
    asked = installed.kraftcheck("query", "--system", "lease:LEASE", "space", "SELECT count(*) AS n FROM states")
    assert asked.returncode == 0, asked.stderr
    assert "3" in asked.stdout


def test_workers_get_the_whole_package(tmp_path: Path) -> None:
    """The archive for a cluster's workers holds what a task imports, although the checkout's folders are links."""
    sent: list[str] = []
    context = SimpleNamespace(master="spark://elsewhere", addPyFile=sent.append)
    ship_sources(SimpleNamespace(sparkContext=context, _jsparkSession=None), tmp_path / "sources.zip")
    assert sent == [str(tmp_path / "sources.zip")]
    code = (
        f"import sys; sys.path[:0] = [{sent[0]!r}]\n"
        f"sys.path.append({sysconfig.get_path('purelib')!r})\n"
        "import kraftcheck.ci.spark.tasks, kraftcheck.solvers.blocks.kernel as kernel\nprint(kernel.__file__)"
    )
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert ran.stdout == f"{sent[0]}/kraftcheck/solvers/blocks/kernel.py\n", ran.stderr
