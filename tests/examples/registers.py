"""Processes that write a register and read a neighbour's: Simple and SimpleRegular of the TLA+ Examples."""

import enum

from attrs import evolve, frozen

import kraftcheck as kc


class Label(kc.Enum):
    """Where a process is."""

    WRITE = enum.auto()
    WRITTEN = enum.auto()
    READ = enum.auto()
    DONE = enum.auto()


@frozen
class Registers:
    """The values that a reader may see in each register, what each process has read, and where it is."""

    written: tuple[kc.IntSet, ...]
    read: tuple[kc.Word, ...]
    at: tuple[kc.Word, ...]


def go(s: Registers, i: kc.Word, to: Label, *values: int) -> Registers:
    """A process goes to a label, and its register holds some values."""
    return evolve(s, written=kc.put(s.written, i, kc.IntSet.of(values)), at=kc.put(s.at, i, to))


def read(s: Registers, i: kc.Word, value: kc.Word) -> Registers:
    """A process reads a value from its neighbour, and is done."""
    return evolve(s, read=kc.put(s.read, i, value), at=kc.put(s.at, i, Label.DONE))


def is_at(s: Registers, i: kc.Word, label: Label) -> kc.Truth:
    """Whether a process is at a label."""
    return kc.get(s.at, i) == label


def registers(processes: int, *, atomic: bool) -> kc.System:
    """The system of some processes; while a register that is not atomic is written, a reader may see either value."""
    one = {"i": range(processes)}

    def visible(s: Registers, i: kc.Word, value: kc.Word) -> kc.Truth:
        neighbour = kc.get(s.written, (i - 1) % processes)
        return kc.all_of(is_at(s, i, Label.READ), neighbour.has(value))

    def all_done(s: Registers) -> kc.Truth:
        return kc.each(s.at, lambda at: at == Label.DONE)

    first = Label.READ if atomic else Label.WRITTEN
    return kc.System(
        name="registers",
        summary="Processes that write a register and read a neighbour's.",
        layout=Registers((kc.IntSet(kc.subset_of(2)),) * processes, (kc.ints(0, 1),) * processes,
                         (Label.domain(),) * processes),
        initial=[Registers((kc.IntSet.of([0]),) * processes, (0,) * processes, (Label.WRITE,) * processes)],
        actions=[
            kc.Action("write", lambda s, i: go(s, i, first, *([1] if atomic else [0, 1])),
                      lambda s, i: is_at(s, i, Label.WRITE), one),
            *([] if atomic else [kc.Action("end_write", lambda s, i: go(s, i, Label.READ, 1),
                                           lambda s, i: is_at(s, i, Label.WRITTEN), one)]),
            kc.Action("read", read, visible, {**one, "value": (0, 1)}),
            kc.Action("terminated", lambda s: s, all_done),
        ],
        properties=[
            kc.always("one-sees-one", "when all are done, one has read 1",
                      lambda s: kc.implies(all_done(s), kc.some(s.read, lambda value: value == 1))),
            kc.always("not-all-see-one", "when all are done, not all have read 1",
                      lambda s: kc.negate(kc.all_of(all_done(s), kc.each(s.read, lambda value: value == 1)))),
        ],
    )  # fmt: skip


SIMPLE = registers(5, atomic=True)
SIMPLE_REGULAR = registers(8, atomic=False)
