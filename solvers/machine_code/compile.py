"""Compiled kernels: LLVM modules are compiled to object code, which is loaded as callable functions.

Calls release the interpreter's lock, so that threads run kernels side by side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt
from attrs import define, evolve, field, frozen
from llvmlite import ir

from kraftcheck.model.language import layout, terms
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.machine_code import (
    graph_kernels,
    irtools,
    lower,
    objectcode,
    search_kernel,
    transition,
    visited_table,
    ways_back,
)
from kraftcheck.solvers.machine_code.objectcode import CompileEffort, Library, ObjectCache, address, object_code
from kraftcheck.solvers.machine_code.search_kernel import Geometry, emit_kernel
from kraftcheck.solvers.machine_code.transition import FramePlan
from kraftcheck.solvers.program import program
from kraftcheck.solvers.program.program import Program

S = TypeVar("S")

_SOURCES = (
    terms, layout, irtools, lower, objectcode, transition, program, search_kernel, ways_back, graph_kernels,
    visited_table,
)  # fmt: skip
"""The modules that decide what is compiled and how it is kept: a change of their text makes old code useless."""


def cache_key(program: Program) -> str:
    """A hash of what a program's object code depends on: the program, this engine, LLVM, the processor."""
    text = hashlib.sha256(program.digest().encode())
    for source in _SOURCES:
        text.update(Path(str(source.__file__)).read_bytes())
    text.update(_machine())
    return text.hexdigest()


def _machine() -> bytes:
    """The machine and the compiler version that compiled code depends on."""
    machine = (llvmlite.__version__, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    return repr((*machine, llvm.get_default_triple())).encode()


@frozen
class Kernel:
    """The compiled search of one program."""

    # program, plan, geometry: what was compiled
    program: Program
    plan: FramePlan
    geometry: Geometry
    effort: CompileEffort  # at least this much of the compiler's
    library: Library
    # expand, insert, rehash: kernel functions, as described in `kernel` and `table`
    expand: Callable[..., int]
    insert: Callable[..., int]
    rehash: Callable[..., int]
    shard_of: Callable[..., int]  # shard of a packed state at an address
    cached: bool  # whether the code came from the cache
    warnings: tuple[str, ...]  # what went wrong with the cache

    def expand_in_orders(self) -> Callable[..., int]:
        """As `expand`, of a program whose orders are reduced; takes a block of `orders_step` besides."""
        return self.library.function("expand_in_orders", 9)

    def successors(self, state: Sequence[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The action instances that a packed state enables, in order, with the packed states they lead to."""
        record = self.geometry.record
        source = np.array(state, dtype=np.uint64)
        out = np.empty((self.geometry.instances + 1) * record, dtype=np.uint64)
        counters = np.zeros(self.plan.size, dtype=np.int64)
        used = self.library.function("successors", 3)(address(source), address(out), address(counters)) // 8
        for row in out[:used].reshape(-1, record).tolist():
            yield row[-1], tuple(row[:-1])


def load_library(
    source: S, emit: Callable[[S], ir.Module], key: str, cache: ObjectCache, *,
    effort: CompileEffort = CompileEffort.MOST, on_compile: Callable[[], None] | None = None,
) -> tuple[Library, bool]:  # fmt: skip
    """The compiled module that `emit` writes for a source, and whether it came from the cache under the key.

    Args:
        effort: of the compiler, unless the cache has better.
        on_compile: called before it is compiled, where the cache does not have it.
    """
    for better in range(CompileEffort.MOST, effort - 1, -1):
        code = cache.get(f"{key}-{better}")
        library = _try_load(code, cache) if code is not None else None
        if library is not None:
            return library, True
    module = emit(source)  # what cannot be emitted is refused, and nothing is compiled
    if on_compile is not None:
        on_compile()
    code = object_code(module, effort=effort)
    library = Library(code)
    cache.put(f"{key}-{effort.value}", code)
    return library, False


def load_kernel(
    program: Program, cache_dir: Path | None = None, *, effort: CompileEffort = CompileEffort.LEAST,
    on_compile: Callable[[], None] | None = None,
) -> Kernel:  # fmt: skip
    """The kernel of a program, from the cache if it is there; `effort` and `on_compile` as in `load_library`."""
    cache = ObjectCache(cache_dir)
    library, cached = load_library(
        program, emit_kernel, cache_key(program), cache, effort=effort, on_compile=on_compile
    )
    return Kernel(
        program, FramePlan(program), Geometry.of(program), effort, library,
        library.function("expand", 8), insert=library.function("insert", 5), rehash=library.function("rehash", 1),
        shard_of=library.function("shard_of", 1), cached=cached, warnings=tuple(cache.warnings),
    )  # fmt: skip


@define
class Compiler:
    """Makes the code of one program, and counts the time that it takes."""

    program: Program
    cache_dir: Path | None  # folder for compiled code; None: keep none
    clock: Callable[[], float]  # seconds, from any origin
    on_compile: Callable[[], None] | None = None  # called before code is made that the cache does not have
    seconds: float = 0.0  # time taken so far
    kernels: list[Kernel] = field(factory=list)

    def kernel(self, effort: CompileEffort) -> Kernel:
        """A kernel as of `load_kernel`, cached if all so far were, with the warnings of all so far."""
        start = self.clock()
        self.kernels.append(load_kernel(self.program, self.cache_dir, effort=effort, on_compile=self.on_compile))
        self.seconds += self.clock() - start
        warnings = dict.fromkeys(warning for kernel in self.kernels for warning in kernel.warnings)
        cached = all(kernel.cached for kernel in self.kernels)
        return evolve(self.kernels[-1], cached=cached, warnings=tuple(warnings))


def _try_load(code: bytes, cache: ObjectCache) -> Library | None:
    try:
        return Library(code)
    except RuntimeError as error:
        cache.warnings.append(f"compiled code cannot be loaded ({error}); compiling again")
        return None


class RowFunction:
    """Terms compiled once, evaluated for many rows of values of variables.

    Args:
        variables: variables in the order of a row's columns; None: all of the graph, as they were made.
        roots: what is evaluated, one column of the result each.
        cache_dir: folder for compiled code; None: keep none.
    """

    def __init__(
        self, graph: Graph, variables: Sequence[Term] | None, roots: Sequence[Term], cache_dir: Path | None = None,
        *, effort: CompileEffort = CompileEffort.LEAST,
    ) -> None:  # fmt: skip
        in_order = sorted((node for node in graph.nodes if node.op == "var"), key=lambda node: node.value)
        module = ir.Module("terms")
        lower.lower_rows(module, "rows", in_order if variables is None else variables, roots)
        parts = (Path(str(objectcode.__file__)).read_bytes(), str(module).encode(), _machine())
        key = hashlib.sha256(b"".join(parts)).hexdigest()
        self._library, _ = load_library(module, lambda in_order: in_order, key, ObjectCache(cache_dir), effort=effort)
        self._columns = len(roots)

    def __call__(self, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        """The values of the roots, one row for each row given."""
        source = np.ascontiguousarray(rows, dtype=np.int64)
        result = np.zeros((len(source), self._columns), dtype=np.int64)
        self._library.function("rows", 3)(address(source), len(source), address(result))
        return result


def evaluate_rows(graph: Graph, roots: Sequence[Term], rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The values of the roots for each row of values of the graph's variables."""
    return RowFunction(graph, None, roots)(rows)
