"""Faults that nobody can be told of, with the reason."""

from __future__ import annotations

EQUIVALENT = (
    ("A hash that ignores words of a state.",
     "States are compared whole wherever hashes meet; the search is slower and finds the same."),
    ("A filter of recent successors that drops nothing.",
     "What it drops is in the visited set already: insertion drops it too. Only the time and the buffers differ."),
    ("A digest without the layout.",
     "Packing follows from the domains, and the variables of the term graph have their intervals."),
    ("Claims of an earlier run left in the frame of a walk.",
     "A thread walks runs in increasing order, and the first occasion of a claim, which they repeat, is noted before."),
    ("A bound of the interval of a comparison taken strictly (`a.lo > b.hi` for `a.lo >= b.hi`).",
     "Less is folded, and the comparison is computed instead."),
)  # fmt: skip
