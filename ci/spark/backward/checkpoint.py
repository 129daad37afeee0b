"""The checkpoint of a backward search: a document that names the files of the last finished round.

Each round has a document of its own, and those of rounds before it go: in a store an object is made only where there
is none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attrs import define, field, fields, frozen

from kraftcheck.ci.dataset.documents.values import as_it_is, listed, read_fields, whole
from kraftcheck.ci.dataset.store.folders import remove_folder, remove_others
from kraftcheck.ci.dataset.store.objects import AnyPath, by_name
from kraftcheck.ci.dataset.store.sealed import read_sealed, write_sealed
from kraftcheck.ci.spark.backward.files import check_written, file_of, is_whole
from kraftcheck.ci.spark.backward.rounds import PartFiles
from kraftcheck.ci.terminal.refusal import Refusal

FOLDER = "backward"
"""Below a run's folder, until every property is judged."""

NAMES = tuple(one.name for one in fields(PartFiles))


@frozen
class Progress:
    """How far a search is.

    Attributes:
        rounds: finished rounds; 0: the arcs are listed.
        parts: the files.
        own: for each property states concerned, those of them that fail by themselves, how many parts have one that
            satisfies it.
    """

    rounds: int
    parts: tuple[PartFiles, ...]
    own: Sequence[Sequence[int]]


def document_of(rounds: int) -> str:
    """The name of the document of a round."""
    return f"round-{rounds:05}.json"


def part_files(document: Any) -> PartFiles:
    """The files of a part that a document names.

    Raises:
        ValueError: for what is not as it is written.
    """
    if not isinstance(document, dict):
        raise ValueError("a part is no object")
    return PartFiles(**{name: file_of(document.get(name)) for name in NAMES})


def _progress(document: Any) -> tuple[Any, Progress]:
    """What a checkpoint belongs to, and what it says."""
    counts = listed(listed(whole(0, 1 << 56), 1 << 16), 1 << 16)
    readers = {"of": as_it_is, "rounds": whole(0, 1 << 40), "parts": listed(part_files, 1 << 16), "own": counts}
    values = read_fields(document, readers)
    return values["of"], Progress(values["rounds"], values["parts"], values["own"])


@define
class BackwardLog:
    """The folder of a search, and its checkpoint.

    Attributes:
        out: the run's folder.
        check: refuses to write once another driver may have taken over.
    """

    out: AnyPath
    check: Callable[[], None]
    _of: Any = field(default=None)

    @property
    def folder(self) -> AnyPath:
        """Where its files are."""
        return self.out / FOLDER

    def read(self, of: Any) -> Progress | None:
        """How far a search of the same was; None, and nothing left of another, where none is whole.

        Args:
            of: what it belongs to.
        """
        self._of = of
        for place in reversed(by_name(self.folder.glob("*.json"))):
            progress = self._read(place)
            if progress is not None:
                self._sweep(progress)
                return progress
        self.remove()
        self.folder.mkdir()
        return None

    def _read(self, place: AnyPath) -> Progress | None:
        """What a document says; None where it or one of its files is not what was written, or of another search."""
        try:
            (of, progress), _ = read_sealed(place, "", _progress)
        except Refusal:
            return None
        if of != self._of or place.name != document_of(progress.rounds):
            return None
        return progress if all(is_whole(self.folder, file) for file in _files(progress)) else None

    def results(self, rows: Iterable[Any]) -> list[dict[str, Any]]:
        """What tasks say of their parts, once the driver sees the files that they wrote.

        Raises:
            JobFailedError: when it does not.
        """
        results = [json.loads(bytes(row.payload)) for row in rows]
        for result in results:
            for name in NAMES:
                check_written(self.folder, file_of(result.get(name)))
        return results

    def write(self, progress: Progress) -> None:
        """Note a finished round; files of rounds before it go."""
        parts = [
            {name: None if (file := getattr(part, name)) is None else file.document() for name in NAMES}
            for part in progress.parts
        ]
        document = {"of": self._of, "rounds": progress.rounds, "parts": parts, "own": progress.own}
        write_sealed(self.folder / document_of(progress.rounds), document, self.check)
        self._sweep(progress)

    def _sweep(self, progress: Progress) -> None:
        """Remove what the checkpoint does not name, such as files of lost attempts."""
        named = {document_of(progress.rounds), *(file.name for file in _files(progress) if file is not None)}
        remove_others(self.folder, named)

    def remove(self) -> None:
        """Forget the search."""
        self.check()
        remove_folder(self.folder)


def _files(progress: Progress) -> Iterable[Any]:
    return (getattr(part, name) for part in progress.parts for name in NAMES)
