"""Object code for a processor: compiled on one machine, loaded on another of the same kind.

Nothing here knows the model: a process that only runs kernels imports this and no rule.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import llvmlite.binding as llvm
import numpy.typing as npt
from attrs import frozen
from llvmlite import ir

FEW_PASSES = ("sroa", "simplify_cfg", "new_gvn", "aggressive_dce", "simplify_cfg")
"""Enough for branch-free rules: a third of the time of LLVM's -O2, most of which goes into combining instructions
again and again, for code that runs about a tenth slower (ADR 11)."""


class CompileEffort(IntEnum):
    """What the compiler does: LEAST is LLVM's -O0, LITTLE a few passes, MOST its -O2; each runs faster (ADR 11)."""

    LEAST = 0
    LITTLE = 1
    MOST = 2


WORTH = {CompileEffort.LITTLE: 1 << 23, CompileEffort.MOST: 1 << 27}
"""Generated states from which on code of an effort pays for the seconds that it takes to compile."""


def effort_for(generated: int) -> CompileEffort:
    """The effort that code is worth which generates so many states."""
    return max((effort for effort, least in WORTH.items() if generated >= least), default=CompileEffort.LEAST)


class ForeignCodeError(RuntimeError):
    """Object code that this machine's processor cannot run."""


@frozen
class CodeTarget:
    """The processor that object code is compiled for.

    Attributes:
        triple: architecture, vendor and system, as LLVM writes them.
        cpu: LLVM's name of the processor.
        features: instruction set extensions as LLVM writes them, `+avx2,-avx512f,...`.
    """

    triple: str
    cpu: str
    features: str

    def needs(self) -> frozenset[str]:
        """The extensions that the code may use."""
        return frozenset(word[1:] for word in self.features.split(",") if word.startswith("+"))


def host() -> CodeTarget:
    """This machine's processor."""
    features = llvm.get_host_cpu_features().flatten()
    return CodeTarget(llvm.get_default_triple(), llvm.get_host_cpu_name(), features)


def portable() -> CodeTarget:
    """The oldest processor of this machine's architecture: every worker of that architecture runs its code."""
    triple = llvm.get_default_triple()
    old = {"x86_64": ("x86-64", "+cmov,+cx8,+fxsr,+mmx,+sse,+sse2"), "aarch64": ("generic", "+neon")}
    return CodeTarget(triple, *old.get(triple.split("-")[0], ("generic", "")))


def check_target(made_for: CodeTarget, worker: CodeTarget) -> None:
    """Refuse code that this processor would trap on; raises ForeignCodeError, naming what is missing."""
    code_architecture, worker_architecture = made_for.triple.split("-")[0], worker.triple.split("-")[0]
    if code_architecture != worker_architecture:
        raise ForeignCodeError(
            f"the kernel was compiled for {code_architecture} and this worker is {worker_architecture}"
        )
    missing = sorted(made_for.needs() - worker.needs())
    if missing:
        raise ForeignCodeError(
            f"the kernel was compiled for {made_for.cpu} and this worker's {worker.cpu} lacks "
            f"{', '.join(missing[:4])}; use --portable-code"
        )


def _machine(target: CodeTarget, effort: CompileEffort = CompileEffort.MOST) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=target.cpu, features=target.features, opt=0 if effort == CompileEffort.LEAST else 2, jit=True
    )


def object_code(
    module: ir.Module, target: CodeTarget | None = None, *, effort: CompileEffort = CompileEffort.MOST
) -> bytes:
    """The module optimised and compiled for a processor.

    Args:
        module: what to compile.
        target: the processor; None: this machine's.
        effort: less is sooner there, and slower to run.
    """
    machine = _machine(target or host(), effort)
    parsed = llvm.parse_assembly(str(module))
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager()
    if effort < CompileEffort.MOST:
        passes = llvm.create_new_module_pass_manager()
        for name in FEW_PASSES if effort == CompileEffort.LITTLE else ():
            getattr(passes, f"add_{name}_pass")()
    passes.run(parsed, builder)
    code: bytes = machine.emit_object(parsed)
    return code


class Library:
    """Object code loaded into this process; its functions take words and pointers and return a word."""

    def __init__(self, code: bytes) -> None:
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(host()))
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def function(self, name: str, parameters: int) -> Callable[..., int]:
        """A public function by name."""
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * parameters)
        return kind(self._engine.get_function_address(name))


@functools.lru_cache(maxsize=16)
def made(emit: Callable[..., ir.Module], *sizes: int) -> Library:
    """The code of a module that depends on no program, made once in a process."""
    return Library(object_code(emit(*sizes)))


def address(array: npt.NDArray[Any]) -> int:
    """Where an array's elements are."""
    return int(array.ctypes.data)
