"""A builder of LLVM functions: local variables, loops, access to memory; ints stand for constants."""

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


def _lifted(name: str, fixed: int = 0) -> Callable[..., Any]:
    """An operation whose int operands, after some fixed ones, are constants of the type of the others, or words."""
    operation = getattr(ir.IRBuilder, name)

    def lifting(builder: Builder, *operands: Any, **named: Any) -> Any:
        kind = next((one.type for one in reversed(operands[fixed:]) if isinstance(one, ir.Value)), WORD)
        lifted = (_constant(one, kind) for one in operands[fixed:])
        return operation(builder, *operands[:fixed], *lifted, **named)

    return lifting


def _constant(value: Any, kind: Any) -> Any:
    return ir.Constant(kind, value & (1 << kind.width) - 1) if isinstance(value, int) else value


class Builder(ir.IRBuilder):  # type: ignore[misc]
    """Writes a function. Memory is read and written in arrays of words, unless another type is given."""

    add, sub, mul, udiv, urem, sdiv, srem, and_, or_, xor, shl, lshr = map(
        _lifted, ("add", "sub", "mul", "udiv", "urem", "sdiv", "srem", "and_", "or_", "xor", "shl", "lshr")
    )
    icmp_unsigned, icmp_signed, select = (_lifted(name, 1) for name in ("icmp_unsigned", "icmp_signed", "select"))

    def call(self, function: Any, operands: Sequence[Any], *named: str) -> Any:
        """What a function gives."""
        kinds = function.function_type.args
        return super().call(function, [_constant(one, kind) for one, kind in zip(operands, kinds, strict=True)], *named)

    def ret(self, value: Any) -> Any:
        """End the function with a value."""
        return super().ret(_constant(value, WORD))

    def local(self, initial: Any) -> Local:
        """A new variable."""
        return Local(self, _constant(initial, WORD))

    @contextmanager
    def repeat(self, condition: Callable[[], Any]) -> Iterator[Any]:
        """A loop while the condition holds; yields the block that follows the loop, as a target for breaks."""
        head, body, end = (self.append_basic_block(name) for name in ("head", "body", "done"))
        self.branch(head)
        self.position_at_end(head)
        self.cbranch(condition(), body, end)
        self.position_at_end(body)
        yield end
        if not self.block.is_terminated:
            self.branch(head)
        self.position_at_end(end)

    @contextmanager
    def count(self, start: Any, stop: Any) -> Iterator[Any]:
        """A loop over start..stop-1; yields the counter's value in the body."""
        counter = self.local(start)
        with self.repeat(lambda: self.icmp_signed("<", counter.get(), stop)):
            value = counter.get()
            yield value
            counter.set(self.add(value, 1))

    def at(self, pointer: Any, index: Any, kind: ir.Type = WORD) -> Any:
        """The address of `pointer[index]` in an array of the type."""
        return self.gep(pointer, [_constant(index, WORD)], inbounds=True, source_etype=kind)

    def get(self, pointer: Any, index: Any, kind: ir.Type = WORD) -> Any:
        """The value of `pointer[index]`."""
        return self.load(self.at(pointer, index, kind), typ=kind)

    def put(self, value: Any, pointer: Any, index: Any, kind: ir.Type = WORD) -> None:
        """Assign `pointer[index]`."""
        self.store(_constant(value, kind), self.at(pointer, index, kind))

    def state(self, place: Any, words: int) -> list[Any]:
        """The words of the packed state at an address."""
        return [self.get(place, i) for i in range(words)]

    def same(self, left: Sequence[Any], right: Sequence[Any]) -> Any:
        """Whether two packed states of as many words are equal."""
        result: Any = ir.Constant(TRUTH, 1)
        for x, y in zip(left, right, strict=True):
            result = self.and_(result, self.icmp_unsigned("==", x, y))
        return result

    def bump(self, pointer: Any, index: Any, value: Any) -> None:
        """Add a word to `pointer[index]`."""
        self.put(self.add(self.get(pointer, index), value), pointer, index)

    def prefetch(self, pointer: Any, *, write: bool = False) -> None:
        """Ask the processor to bring a cache line near."""
        kind = ir.FunctionType(ir.VoidType(), [POINTER, U32, U32, U32])
        function = self.module.globals.get("llvm.prefetch.p0") or ir.Function(self.module, kind, "llvm.prefetch.p0")
        self.call(function, [pointer, int(write), 3, 1])


class Local:
    """A mutable 64-bit (or pointer) variable of the function under construction."""

    def __init__(self, builder: Builder, initial: Any) -> None:
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
        self._builder.store(_constant(value, self._type), self._place)

    def add(self, value: Any) -> None:
        """Add to the value."""
        self.set(self._builder.add(self.get(), value))


def begin(
    module: ir.Module, name: str, parameters: Sequence[ir.Type], result: ir.Type = WORD, *, public: bool = False
) -> tuple[Any, Builder]:
    """A new function and a builder at its entry; only public ones can be called from outside the module."""
    function = ir.Function(module, ir.FunctionType(result, parameters), name)
    if not public:
        function.linkage = "internal"
    return function, Builder(function.append_basic_block("entry"))
