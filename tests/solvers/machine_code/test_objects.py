"""Object code that tests keep: one module is compiled once, and nothing else is found in its place."""

from pathlib import Path

import pytest
from llvmlite import ir

from kraftcheck.solvers.machine_code import objectcode
from kraftcheck.solvers.machine_code.objectcode import CompileEffort, Library, portable
from tests.solvers.machine_code.objects import compiled_once


def answer(number: int) -> ir.Module:
    """A module with a function that returns a number."""
    module, word = ir.Module("answer"), ir.IntType(64)
    function = ir.Function(module, ir.FunctionType(word, []), "answer")
    ir.IRBuilder(function.append_basic_block()).ret(word(number))
    return module


def test_a_module_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same text for the same processor is found; another text, processor, way or compiler is compiled."""
    made, real = [], objectcode._machine

    def counted(target: objectcode.CodeTarget, *given: CompileEffort) -> object:
        made.append(target)
        return real(target, *given)

    compiled = compiled_once(tmp_path)
    monkeypatch.setattr(objectcode, "_machine", counted)
    assert compiled(answer(7)) == compiled(answer(7)) == compiled_once(tmp_path)(answer(7))
    assert len(made) == 1
    assert Library(compiled(answer(8))).function("answer", 0)() == 8
    made.clear()
    for options in ({"effort": CompileEffort.LITTLE}, {"target": portable()}):
        compiled(answer(7), **options)
    monkeypatch.setattr(objectcode, "FEW_PASSES", ())
    compiled(answer(7))
    assert len(made) == 3
