"""Object code kept by the text of its module for a run of the tests: what two tests compile is compiled once."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

from llvmlite import ir

from kraftcheck.solvers.machine_code import objectcode
from kraftcheck.solvers.machine_code.objectcode import CodeTarget, CompileEffort, ObjectCache


def compiled_once(folder: Path, most: CompileEffort = CompileEffort.MOST) -> Callable[..., bytes]:
    """`object_code`, which looks into a folder first, and makes no more effort than that.

    The key is all that object code follows from: the module's text, the processor, and the compiler, which may be a
    mutant. What a test changes in the functions that write a module makes another text.
    """
    real, cache = objectcode.object_code, ObjectCache(folder)

    def object_code(
        module: ir.Module, target: CodeTarget | None = None, *, effort: CompileEffort = CompileEffort.MOST
    ) -> bytes:
        compiler = objectcode.FEW_PASSES, _text(real), _text(objectcode._machine), objectcode._MAGIC
        effort = min(effort, most)
        parts = str(module), target or objectcode.host(), effort, compiler
        key = hashlib.sha256(repr(parts).encode()).hexdigest()
        code = cache.get(key)
        if code is None:
            code = real(module, target, effort=effort)
            cache.put(key, code)
        return code

    return object_code


def _text(function: object) -> tuple[object, ...]:
    """What a function does, in the same words in every process."""
    assert isinstance(function, FunctionType)
    code = function.__code__
    return code.co_code, code.co_names, [part for part in code.co_consts if not hasattr(part, "co_code")]
