"""What the source of a system calls its terms: the local variables and functions that they came from."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from attrs import define, field

from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.terms import Term

LANGUAGE = ("kraftcheck.model.language.", "kraftcheck.solvers.", "kraftcheck.ci.", "attr.", "attrs.")
"""Modules whose local variables say nothing of a system."""

LOCAL, RESULT, PARAMETER = range(3)  # where a name is from, the best first


@define
class SourceNames:
    """The names of terms, while rules are asked."""

    # by the identity of a term, of whatever graph: where its name is from, the name, its function, and the term
    found: dict[int, tuple[int, str, str, Term]] = field(factory=dict)

    def of(self, term: Term) -> Iterator[str]:
        """The names that a term may go by, the shortest first; none where the source has none."""
        if id(term) in self.found:
            _, name, function, _ = self.found[id(term)]
            yield name
            yield f"{function}_{name}"

    def note(self, frame: FrameType, event: str, answer: Any) -> None:
        """Keep the names of a function that returns; the innermost function that knows a term names it."""
        module = str(frame.f_globals.get("__name__", ""))
        if event != "return" or module.startswith(LANGUAGE) or module.partition(".")[0] in sys.stdlib_module_names:
            return
        code = frame.f_code
        if code.co_filename.startswith("<"):  # generated: a record that is not whole yet is there
            return
        function = code.co_name.strip("_") if code.co_name.isidentifier() else "rule"
        parameters = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], *code.co_freevars}
        for name, value in frame.f_locals.items():
            self._keep(PARAMETER if name in parameters else LOCAL, name, function, value)
        if code.co_name.isidentifier():
            self._keep(RESULT, function, function, answer)

    def _keep(self, rank: int, name: str, function: str, value: Any) -> None:
        for path, leaf in leaves(value, name):
            if isinstance(leaf, Term) and leaf.args and rank < self.found.get(id(leaf), (PARAMETER + 1,))[0]:
                self.found[id(leaf)] = (rank, path, function, leaf)


@contextlib.contextmanager
def source_names() -> Iterator[SourceNames]:
    """Notes the names of all terms that rules make meanwhile, in this thread."""
    names, before = SourceNames(), sys.getprofile()
    sys.setprofile(names.note)
    try:
        yield names
    finally:
        sys.setprofile(before)
