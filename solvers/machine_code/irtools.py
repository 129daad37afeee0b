"""Helpers for writing LLVM IR: local variables, loops, access to memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

TRUTH = ir.IntType(1)
WORD = ir.IntType(64)
U32 = ir.IntType(32)
U16 = ir.IntType(16)
BYTE = ir.IntType(8)
POINTER = ir.PointerType()


def word(value: int) -> ir.Constant:
    """A 64-bit constant; Python ints of either sign."""
    return ir.Constant(WORD, value & (1 << 64) - 1)


class Local:
    """A mutable 64-bit (or pointer) variable of the function under construction."""

    def __init__(self, builder: ir.IRBuilder, initial: Any) -> None:
        self._builder = builder
        self._type = initial.type
        with builder.goto_entry_block():
            self._place = builder.alloca(initial.type)
        builder.store(initial, self._place)

    def get(self) -> Any:
        """The current value."""
        return self._builder.load(self._place, typ=self._type)

    def set(self, value: Any) -> None:
        """Assign a value."""
        self._builder.store(value, self._place)

    def add(self, value: Any) -> None:
        """Add to the value."""
        self.set(self._builder.add(self.get(), value))


@contextmanager
def repeat(builder: ir.IRBuilder, condition: Callable[[], Any]) -> Iterator[Any]:
    """A loop while the condition holds; yields the block that follows the loop, as a target for breaks."""
    head, body, end = (builder.append_basic_block(name) for name in ("head", "body", "done"))
    builder.branch(head)
    builder.position_at_end(head)
    builder.cbranch(condition(), body, end)
    builder.position_at_end(body)
    yield end
    if not builder.block.is_terminated:
        builder.branch(head)
    builder.position_at_end(end)


@contextmanager
def count_up(builder: ir.IRBuilder, start: Any, stop: Any) -> Iterator[Any]:
    """A loop over start..stop-1; yields the counter's value in the body."""
    counter = Local(builder, start)
    with repeat(builder, lambda: builder.icmp_signed("<", counter.get(), stop)):
        value = counter.get()
        yield value
        counter.set(builder.add(value, word(1)))


def element(builder: ir.IRBuilder, pointer: Any, index: Any, kind: ir.Type = WORD) -> Any:
    """The address of `pointer[index]` in an array of the type."""
    at = index if isinstance(index, ir.Value) else word(index)
    return builder.gep(pointer, [at], inbounds=True, source_etype=kind)


def load(builder: ir.IRBuilder, pointer: Any, index: Any, kind: ir.Type = WORD) -> Any:
    """The value of `pointer[index]`."""
    return builder.load(element(builder, pointer, index, kind), typ=kind)


def store(builder: ir.IRBuilder, value: Any, pointer: Any, index: Any, kind: ir.Type = WORD) -> None:
    """Assign `pointer[index]`."""
    builder.store(value, element(builder, pointer, index, kind))


def state_at(builder: ir.IRBuilder, place: Any, words: int) -> list[Any]:
    """The words of the packed state at an address."""
    return [load(builder, place, i) for i in range(words)]


def same_words(builder: ir.IRBuilder, left: Sequence[Any], right: Sequence[Any]) -> Any:
    """Whether two packed states of as many words are equal."""
    result: Any = ir.Constant(TRUTH, 1)
    for x, y in zip(left, right, strict=True):
        result = builder.and_(result, builder.icmp_unsigned("==", x, y))
    return result


def bump(builder: ir.IRBuilder, pointer: Any, index: Any, value: Any) -> None:
    """Add a word to `pointer[index]`."""
    store(builder, builder.add(load(builder, pointer, index), value), pointer, index)


def prefetch(builder: ir.IRBuilder, pointer: Any, *, write: bool = False) -> None:
    """Ask the processor to bring a cache line near."""
    module = builder.module
    kind = ir.FunctionType(ir.VoidType(), [POINTER, U32, U32, U32])
    function = module.globals.get("llvm.prefetch.p0") or ir.Function(module, kind, "llvm.prefetch.p0")
    builder.call(function, [pointer, ir.Constant(U32, int(write)), ir.Constant(U32, 3), ir.Constant(U32, 1)])


def begin(
    module: ir.Module, name: str, parameters: Sequence[ir.Type], result: ir.Type = WORD, *, public: bool = False
) -> tuple[Any, ir.IRBuilder]:
    """A new function and a builder at its entry; only public ones can be called from outside the module."""
    function = ir.Function(module, ir.FunctionType(result, parameters), name)
    if not public:
        function.linkage = "internal"
    return function, ir.IRBuilder(function.append_basic_block("entry"))
