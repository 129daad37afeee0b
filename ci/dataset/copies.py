"""Copies of level files on this disk, for a reader that reads no URLs: of the levels that it reads, once it does."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attrs import define, field

from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.dataset.store.digests import refuse_damage
from kraftcheck.ci.dataset.store.levelfiles import LevelFile, verify
from kraftcheck.ci.dataset.store.objects import ObjectPath
from kraftcheck.ci.terminal.refusal import Refusal


@define
class Copies:
    """Copies of the level files of a dataset.

    Attributes:
        data: the dataset.
        folder: where they are; a file that was not fetched is empty there, so that it is not read as one of no rows.
        fetched: depths of the levels that are here.
    """

    data: Dataset
    folder: Path
    fetched: set[int] = field(factory=set)

    @classmethod
    def of(cls, data: Dataset, folder: Path) -> Copies | None:
        """Places for the copies; None for a dataset on this disk."""
        if not isinstance(data.log.out, ObjectPath):
            return None
        copies = cls(data, folder)
        for path in copies.files():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return copies

    def files(self) -> Iterator[Path]:
        """The copies of all files."""
        return (self._folder(level.depth) / file.name for level in self.data.levels for file in level.files)

    def _folder(self, depth: int) -> Path:
        return self.folder / self.data.log.folder(depth).name

    def fetch(self, depths: set[int], *, verifies: bool) -> None:
        """Copy the files of levels, unless they are here.

        Raises:
            Refusal: naming a file that cannot be read, or whose copy is not what was committed.
        """
        wanted = [(level.depth, file) for level in self.data.levels if level.depth in depths - self.fetched
                  for file in level.files]  # fmt: skip

        def copy(entry: tuple[int, LevelFile]) -> str | None:
            depth, file = entry
            source, target = self.data.log.folder(depth) / file.name, self._folder(depth) / file.name
            try:
                target.write_bytes(source.read_bytes())
            except OSError as error:
                raise Refusal(f"cannot fetch {source}: {error.strerror or error}") from error
            damage = verify(target.parent, file) if verifies else None
            return damage and damage.replace(str(target), str(source))

        with ThreadPoolExecutor() as pool:
            refuse_damage(pool.map(copy, wanted))
        self.fetched |= depths
