"""The pytest plugin: each property of a system is a test item.

    @pytest.mark.kraftcheck_system("mymodule:SYSTEM", scope="default")
    def test_my_system(kraftcheck_property):
        pass

becomes one item for each property, and one for deadlock. An item fails with the
trace unless the property holds; a goal that nothing shows fails as vacuous. The
system is explored once in a run of the tests: under pytest-xdist the first
worker that needs the result explores, the others take it from a file. What the
verdict is about (bound, states, seed) goes into the JUnit XML.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import pytest

if TYPE_CHECKING:  # a run of tests without the marker loads nothing of this
    from kraftcheck.ci.run.result import Result
    from kraftcheck.ci.testing.judging import JudgementRequest, PropertyJudgement
    from kraftcheck.solvers.hypothesis.machine import SystemMachine

MARKER = "kraftcheck_system"
FIXTURE = "kraftcheck_property"
RESULT, MACHINE = "kraftcheck_result", "kraftcheck_machine"

T = TypeVar("T")

_JUDGEMENT = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add where counterexamples are written."""
    text = "folder for the counterexamples of kraftcheck's items, relative to rootdir"
    parser.getgroup("kraftcheck").addoption("--kraftcheck-out", metavar="DIR", help=f"{text}; default pytest's own")
    parser.addini("kraftcheck_out", text)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and refuse a folder of counterexamples that cannot be written before anything is judged."""
    if _named_folder(config):
        from kraftcheck.ci.terminal.files import check_folder
        from kraftcheck.ci.terminal.refusal import Refusal

        try:
            check_folder(config.rootpath / _named_folder(config))
        except Refusal as error:
            raise pytest.UsageError(f"--kraftcheck-out: {error}") from error
    config.addinivalue_line(
        "markers",
        f"{MARKER}(system, scope=None, rules=None, bounds={{}}, properties=(), expect={{}}, engine='explore', "
        "threads=1, runs=None, steps=None, seed=1, strict=False, symmetry=False, reduce='none'): an item for each "
        "property of the system, a name, 'module:attribute' or a System, or for those named and deadlock; "
        "expect maps a property to another verdict, such as 'refuted 3'; "
        "engine is 'explore', 'simulate' or 'hypothesis'",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """An item for each property of the marker's system; where the marker is at fault, the one item that says so."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None or FIXTURE not in metafunc.fixturenames:
        return
    from kraftcheck.ci.terminal.refusal import Refusal
    from kraftcheck.ci.testing.judging import items_of

    try:
        request = _asked(metafunc.definition, marker)
    except Refusal as error:
        metafunc.parametrize(FIXTURE, [pytest.param(error, id=MARKER)], indirect=True)
        return
    # the mark is pytest-xdist's: where that is absent, pytest warns of a mark that nobody registered
    shared = metafunc.config.pluginmanager.hasplugin("xdist")
    marks = [pytest.mark.xdist_group(request.key())] if shared else []
    cases = [pytest.param((request, name), id=name, marks=marks) for name in items_of(request)]
    metafunc.parametrize(FIXTURE, cases, indirect=True)


def _asked(item: Any, marker: pytest.Mark | None) -> JudgementRequest:
    """The request of the marker of a test; raises Refusal in one line."""
    from kraftcheck.ci.terminal.refusal import Refusal
    from kraftcheck.ci.testing.judging import JudgementRequest

    if marker is None:
        raise Refusal(f"{RESULT} and {MACHINE} need the marker {MARKER}")
    root = item.config.rootpath
    try:
        _check_arguments(marker, JudgementRequest.of)
        named = _from(root, marker.args[0])
        request = JudgementRequest.of(named, **marker.kwargs)
    except (TypeError, ValueError) as error:
        raise Refusal(str(error)) from error
    if ":" in request.chosen.name and named == marker.args[0] and root != Path.cwd():
        request = attrs.evolve(request, folder=os.path.relpath(root))
    return request


def _check_arguments(marker: pytest.Mark, takes: Any) -> None:
    """Refuse what the marker does not take, with the nearest name of what it does."""
    from kraftcheck.ci.terminal.refusal import Refusal
    from kraftcheck.model.nearest import nearest

    names = list(inspect.signature(takes).parameters)[1:]
    for name in marker.kwargs:
        if name not in names:
            raise Refusal(f"unknown argument {name!r}; {nearest(name, names)}")
    if len(marker.args) != 1:
        raise Refusal("it takes the system first and nothing else without a name, as in (SYSTEM, scope='default')")


def _from(root: Path, system: Any) -> Any:
    """The system as it is found from the root of the tests, wherever pytest was called."""
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    file, colon, name = system.partition(":") if isinstance(system, str) else ("", "", "")
    return f"{os.path.relpath(root / file)}:{name}" if colon and file.endswith(".py") else system


def _named_folder(config: pytest.Config) -> str:
    return str(config.getoption("--kraftcheck-out") or config.getini("kraftcheck_out") or "")


def _artefacts(config: pytest.Config, base: Path) -> Path:
    """The folder of the counterexamples: the option, the ini value relative to the root, or the run's own folder."""
    given = _named_folder(config)
    return config.rootpath / given if given else base / "kraftcheck"


@pytest.fixture(name=FIXTURE)
def kraftcheck_property(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PropertyJudgement:
    """The property of this item, judged: `claim`, `verdict`, `bound`, `states`, `seed`, `text`."""
    from kraftcheck.ci.terminal.refusal import Refusal
    from kraftcheck.ci.testing.judging import judgement, unjudged

    asked = getattr(request, "param", None) or Refusal(f"{FIXTURE} needs the marker {MARKER}")
    if isinstance(asked, Refusal):
        pytest.fail(f"{MARKER}: {asked}", pytrace=False)
    judgement_request, name = asked
    worker = getattr(request.config, "workerinput", {}).get("workerid", "main")
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if worker != "main" else base
    if name in unjudged(judgement_request):
        does_not = f"engine={judgement_request.engine!r} does not judge it; engine='explore' does"
        pytest.skip(f"{name} is about all runs at once, and {does_not}")
    try:
        result = judgement(judgement_request, name, shared, worker, _artefacts(request.config, shared))
    except Refusal as error:
        pytest.fail(f"{MARKER}: {error}", pytrace=False)
    for key in ("verdict", "engine", "bound", "states", "seed", "judged_by"):
        request.node.user_properties.append((key, str(getattr(result, key))))
    if not result.passed:
        request.node.user_properties += [("again", result.again), *result.files.items()]
    request.node.stash[_JUDGEMENT] = result
    return result


@pytest.fixture(name=RESULT)
def kraftcheck_result(request: pytest.FixtureRequest) -> Result:
    """What a search, or walks, say of the marker's system: states, verdicts, traces; nothing fails by itself."""
    from kraftcheck.ci.testing.judging import result_of

    return _of_setting(request, result_of)


@pytest.fixture(name=MACHINE)
def kraftcheck_machine(request: pytest.FixtureRequest) -> type[SystemMachine]:
    """A Hypothesis machine of the marker's system, for `kraftcheck.testing.run` or its `TestCase`."""
    from kraftcheck.solvers.hypothesis.machine import machine
    from kraftcheck.solvers.reference.interpreter import Integers

    return _of_setting(request, lambda asked: machine(Integers(asked.chosen.system, asked.chosen.setting)))


def _of_setting(request: pytest.FixtureRequest, make: Callable[[JudgementRequest], T]) -> T:
    """What is made of the marker's system; what cannot be made fails the test in one line."""
    from kraftcheck.ci.terminal.refusal import Refusal

    try:
        return make(_asked(request.node, request.node.get_closest_marker(MARKER)))
    except (Refusal, ValueError) as error:
        pytest.fail(f"{MARKER}: {error}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    """The item fails unless its property has the verdict that it must have, whatever the function looks at."""
    marked = pyfuncitem.get_closest_marker(MARKER) is not None
    if marked and not {FIXTURE, RESULT, MACHINE}.intersection(pyfuncitem.fixturenames):
        fault = f"a test with the marker {MARKER} takes the argument {FIXTURE}, {RESULT} or {MACHINE}"
        pytest.fail(fault, pytrace=False)
    result = yield
    judgement = pyfuncitem.stash.get(_JUDGEMENT, None)
    if judgement is not None and not judgement.passed:
        pytest.fail(judgement.text, pytrace=False)
    return result
