"""Finished rounds: a search that was killed goes on after the last of them.

A search asks for its rounds by name, always the same ones in the same order. What a log has under a name is taken
again, if its files are those that were written; else it is computed, and a new document notes it with those before that
are still needed.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

from attrs import define, field, frozen

from kraftcheck.ci.dataset.backward.files import is_whole
from kraftcheck.ci.dataset.backward.rounds import PartFiles, described, files_of, part_files
from kraftcheck.ci.dataset.store.manifests import read_sealed, write_sealed
from kraftcheck.ci.dataset.store.objects import AnyPath, by_name, remove_folder, remove_others
from kraftcheck.ci.dataset.values import as_it_is, listed, mapped, matching, read_fields, whole
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.liveness.fair import StoppedError


def document_of(rounds: int) -> str:
    """The name of the document of so many rounds; in a store nothing is written twice under a name."""
    return f"rounds-{rounds:06}.json"


@frozen
class Round:
    """What a round left.

    Attributes:
        parts: the files.
        counts: numbers that the search needs of it; the first is that of its rows.
    """

    parts: tuple[PartFiles, ...]
    counts: tuple[int, ...]


def _rounds(document: Any) -> tuple[tuple[Any, int], dict[str, Round]]:
    """What a document of rounds belongs to, how many were finished by then, and what it says."""
    readers = {"of": as_it_is, "number": whole(0, 1 << 40), "rounds": mapped(_NAME, _round, 1 << 20)}
    values = read_fields(document, readers)
    return (values["of"], values["number"]), values["rounds"]


def _round(document: Any) -> Round:
    readers = {"parts": listed(part_files, 1 << 16), "counts": listed(whole(0, 1 << 56), 1 << 16)}
    return Round(**read_fields(document, readers))


_NAME = matching(re.compile("[a-z0-9][a-z0-9_-]{0,99}", re.ASCII))


@define
class RoundLog:
    """The rounds of a search.

    Attributes:
        folder: where they are.
        of: what they belong to; those of anything else are dropped.
        stop: set from outside; then no further round is computed, but StoppedError raised.
        report: called after each round that is computed with how many there were, and the rows of this one.
        check: refuses to write once another driver may have taken over.
        rounds: finished so far, those before a stop among them.
        computed: those that were not.
    """

    folder: AnyPath
    of: Any
    stop: threading.Event
    report: Callable[[int, int], None]
    check: Callable[[], None]
    rounds: int = 0
    computed: int = 0
    _kept: dict[str, Round] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Read what there is, and drop what belongs to something else or is not what was written."""
        for place in reversed(by_name(self.folder.glob("*.json"))):
            kept = self._read(place)
            if kept is not None:
                self._kept = kept
                self._sweep()
                return
        self.remove()
        self.folder.mkdir()

    def _read(self, place: AnyPath) -> dict[str, Round] | None:
        """The rounds that a document has; None where it or a file is not what was written, or of something else."""
        try:
            ((of, number), kept), _ = read_sealed(place, "", _rounds)
        except Refusal:
            return None
        if of != self.of or place.name != document_of(number):
            return None
        files = {file for one in kept.values() for file in files_of(one.parts)}
        if not all(is_whole(self.folder, file) for file in files):
            return None
        self.rounds = number
        return kept

    def _sweep(self) -> None:
        """Remove what the last document does not name."""
        files = {file.name for one in self._kept.values() for file in files_of(one.parts)}
        remove_others(self.folder, {document_of(self.rounds), *files})

    def last(self, name: str) -> int:
        """The highest number of a round of a name that is there; 0: there is none."""
        numbers = (one.rpartition("-") for one in self._kept)
        return max((int(number) for own, _, number in numbers if own == name and number.isdecimal()), default=0)

    def round(self, name: str, compute: Callable[[], Round | None], drops: Sequence[str] = ()) -> Round:
        """What a round left; computed unless the log has it.

        Args:
            name: of the round.
            compute: does it; None when stopped.
            drops: names of rounds that are needed no more once this one is there.

        Raises:
            StoppedError: when it is stopped before or meanwhile.
        """
        if name not in self._kept:
            if self.stop.is_set():
                raise StoppedError
            self.check()
            done = compute()
            if done is None:
                raise StoppedError
            self._kept = {one: kept for one, kept in self._kept.items() if one not in drops} | {name: done}
            self.rounds, self.computed = self.rounds + 1, self.computed + 1
            rounds = {one: {"parts": described(kept.parts), "counts": kept.counts} for one, kept in self._kept.items()}
            document = {"of": self.of, "number": self.rounds, "rounds": rounds}
            write_sealed(self.folder / document_of(self.rounds), document, self.check)
            self._sweep()
            self.report(self.rounds, done.counts[0])
        return self._kept[name]

    def remove(self) -> None:
        """Forget all rounds."""
        self.check()
        remove_folder(self.folder)
        self._kept = {}
