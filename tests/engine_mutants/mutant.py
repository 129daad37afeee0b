"""A mutant of an engine: one function with one piece of its text replaced, and the test that must fail for it.

The function keeps its identity and gets other code, so that whoever imported it runs the mutant. Compiled kernels are
made anew by the mutated functions. Nothing of that may be kept: who applies a mutant names a cache folder of its own.
"""

import __future__

import ast
import contextlib
import importlib
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from attrs import field, frozen

from kraftcheck.solvers.machine_code import objectcode
from kraftcheck.solvers.reference.confirm import EngineDisagreement

KILLED = (AssertionError, EngineDisagreement, pytest.fail.Exception)
"""How a test fails that tells a mutant; anything else, as a NameError, is a fault of the mutant or of the test."""

PROVIDED = ("tmp_path", "monkeypatch")  # fixtures that every killer may ask for


@frozen
class Killer:
    """A test of the suite, and which of its cases."""

    test: Callable[..., None]  # the test function
    case: tuple[int, ...] = ()  # for each `parametrize` of it, the closest first, the position among its cases
    # what makes the other fixtures that it asks for, each in a folder
    fixtures: Mapping[str, Callable[[Path], Any]] = field(factory=dict)

    @property
    def name(self) -> str:
        """File and test, with the arguments of the case that are words or numbers, or have a name."""
        told = ", ".join(filter(None, map(_short, self.arguments().values()))) or ", ".join(map(str, self.case))
        return f"{self.test.__module__.split('.')[-1]}.py::{self.test.__name__}" + (f" ({told})" if told else "")

    def arguments(self) -> dict[str, Any]:
        """The arguments of the case."""
        marks = [mark for mark in getattr(self.test, "pytestmark", ()) if mark.name == "parametrize"]
        found: dict[str, Any] = {}
        for mark, position in zip(marks, self.case, strict=True):
            names = [n.strip() for n in mark.args[0].split(",")] if isinstance(mark.args[0], str) else mark.args[0]
            value = list(mark.args[1])[position]
            values = value.values if hasattr(value, "values") and hasattr(value, "marks") else value
            one = len(names) == 1 and values is value
            found |= dict(zip(names, (values,) if one else values, strict=True))
        return found

    def run(self, folder: Path) -> None:
        """Call the test as pytest would, its `tmp_path` in a folder; Hypothesis draws the same examples each time."""
        if getattr(self.test, "hypothesis", None) is not None:
            with _derandomised(self.test):
                self.test()
            return
        with pytest.MonkeyPatch.context() as patch:
            provided = dict(zip(PROVIDED, (folder, patch), strict=True))
            provided |= {name: make(folder / name) for name, make in self.fixtures.items()}
            given = self.arguments()
            asked = inspect.signature(self.test).parameters.keys() - given.keys()
            self.test(**given, **{name: provided[name] for name in asked})


def _short(value: Any) -> str:
    """A value in a word, where it has one; a lambda has none."""
    named = value if isinstance(value, str | int | bytes) else getattr(value, "name", "")
    return str(named) if len(str(named)) < 30 else ""


@contextlib.contextmanager
def _derandomised(test: Any) -> Iterator[None]:
    """A test of Hypothesis as it runs in every other respect, but without shrinking what is to fail."""
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    name = "_hypothesis_internal_use_settings"
    chosen = hypothesis.settings(getattr(test, name), derandomize=True, database=None, phases=phases)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test, name, chosen)
        yield


@frozen
class Mutant:
    """A mutant."""

    name: str  # of the mutant
    breaks: str  # what it does, in a sentence
    where: str  # `module:function` or `module:Class.method`, the module named from `kraftcheck` on
    old: str  # a piece of the function's text that occurs once
    new: str  # what stands there instead
    killer: Killer  # the test that fails for it
    dies: tuple[type[BaseException], ...] = ()  # what else the test may end with
    slow: bool = False  # whether it is left to the nightly profile

    def function(self) -> types.FunctionType:
        """The function that is changed."""
        module, _, path = self.where.partition(":")
        found: Any = importlib.import_module(f"kraftcheck.{module}")
        for part in path.split("."):
            found = inspect.getattr_static(found, part)
        found = getattr(found, "fget", None) or getattr(found, "__func__", found)
        while hasattr(found, "__wrapped__"):
            found = found.__wrapped__
        assert isinstance(found, types.FunctionType), f"{self.name}: {self.where} is no function"
        return found

    def code(self) -> types.CodeType:
        """The mutated code."""
        function = self.function()
        text = textwrap.dedent(inspect.getsource(function))
        assert text.count(self.old) == 1, f"{self.name}: {self.old!r} occurs {text.count(self.old)} times"
        tree = ast.parse(text.replace(self.old, self.new))
        (made,) = tree.body
        assert isinstance(made, ast.FunctionDef)
        made.decorator_list = []
        ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
        whole = compile(tree, function.__code__.co_filename, "exec", flags=__future__.annotations.compiler_flag)
        (code,) = (c for c in whole.co_consts if isinstance(c, types.CodeType) and c.co_name == function.__name__)
        assert code.co_freevars == function.__code__.co_freevars
        return code

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """The engine is the mutant."""
        function, code = self.function(), self.code()
        right = function.__code__
        function.__code__ = code
        objectcode.made.cache_clear()
        try:
            yield
        finally:
            function.__code__ = right
            objectcode.made.cache_clear()

    def survives(self, folder: Path) -> bool:
        """Whether the killer passes although the engine is the mutant."""
        with self.applied():
            try:
                self.killer.run(folder)
            except (*KILLED, *self.dies):
                return False
            except BaseExceptionGroup as errors:
                if errors.split((*KILLED, *self.dies))[1] is not None:
                    raise
                return False
        return True
