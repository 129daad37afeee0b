"""A system with the words that take ANY in place of a number."""

from __future__ import annotations

from typing import Any

from attrs import frozen

import kraftcheck as kc

WORDS = ("set_below", "word_below", "map_below", "numbers_below", "keys")
"""The words of this system that take ANY."""


@frozen
class Marks:
    """Nodes that were seen, the mark of each, and the last node that was marked."""

    seen: Any
    marks: Any
    last: kc.Word


def mark(s: Marks, node: kc.Word) -> Marks:
    """A node is marked."""
    return Marks(s.seen.plus(s.seen.just(node)), kc.put(s.marks, node, 1), node)


def initial(setting: kc.Setting) -> list[Any]:
    """Nobody is marked."""
    if setting["nodes"] == kc.ANY:
        return [kc.all_where(lambda s: {
            "nobody is seen": s.seen.is_empty(), "no last one": s.last == -1,
            "no mark": kc.each(kc.keys(s.marks), lambda i: kc.get(s.marks, i) == 0)})]  # fmt: skip
    return [Marks(kc.IntSet(), (0,) * setting["nodes"], -1)]


def marked_are_seen(s: Marks) -> kc.Truth:
    """Whoever has a mark is in the set."""
    return kc.each(kc.keys(s.marks), lambda i: kc.implies(kc.get(s.marks, i) == 1, s.seen.has(i)))


def marks(lost: bool = False) -> kc.System:
    """Nodes that are marked and seen; by mistake they are only marked."""
    def effect(s: Marks, node: kc.Word) -> Marks:
        after = mark(s, node)
        return Marks(s.seen, after.marks, after.last) if lost else after

    return kc.System(
        name="marks",
        summary="Nodes are marked.",
        bounds=[kc.Bound("nodes", 2, 4, "number of nodes", takes_any=True)],
        scopes={"default": {"nodes": 3}},
        layout=lambda setting: Marks(kc.set_below(setting["nodes"]), kc.map_below(setting["nodes"], kc.ints(0, 1)),
                                     kc.word_below(setting["nodes"], -1)),
        initial=initial,
        actions=lambda setting: [
            kc.Action("mark", effect, lambda s, node: kc.negate(s.seen.has(node)),
                      {"node": kc.numbers_below(setting["nodes"])}),
        ],
        properties=[kc.always("marked-are-seen", "whoever has a mark is seen", marked_are_seen)],
        quiescent=lambda s: True,
    )  # fmt: skip


MARKS, LOST = marks(), marks(lost=True)
