"""Repair of a dataset: level files that were damaged or lost are derived again from what is before them.

Levels are deterministic: a native level follows from the program, a later one from the engine, the levels before it and
the numbers of cores and tasks of its job, which its manifest has. So a file that is derived again has the
bytes of the one that was committed, and is taken only if its digest is the one that the manifest names. A manifest
that was damaged or lost cannot be derived byte by byte (it has times in it): its level and every later one are given
up, and explored again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

from attrs import evolve, frozen

from kraftcheck.ci.dataset.search.levels import JobFailedError, LevelRunner, plan
from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.handover import Export, NativeStart
from kraftcheck.ci.dataset.store.levelfiles import LevelFile, footer, verify
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.objects import AnyPath, by_name
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.search.levels import Limits

OpenRunner = Callable[[], AbstractContextManager[LevelRunner]]


@frozen
class Repaired:
    """What was mended.

    Attributes:
        files: by depth how many files were derived again.
        given_up: the first level whose manifest was damaged, which is explored again with all later ones.
    """

    files: Mapping[int, int]
    given_up: int | None

    def lines(self) -> list[str]:
        """For people."""
        lines = [f"repaired: {count} file(s) of level {depth}" for depth, count in self.files.items()]
        if self.given_up is not None:
            lines.append(f"repaired: level {self.given_up} and later ones are explored again, its manifest was damaged")
        return lines or ["repaired: nothing was damaged"]


def repair(run: DatasetRun, open_runner: OpenRunner) -> Repaired:
    """Mend the dataset of a run before it is resumed.

    Args:
        run: the run, whose identity is that of the dataset.
        open_runner: starts what runs the jobs of levels; it is started only if a level that an engine made is damaged.

    Raises:
        Refusal: when what is derived again is not what was committed, or a job fails.
    """
    commits, given_up = run.log.undamaged_manifests()
    if given_up is not None:
        run.log.forget(given_up)
    damaged = _damaged(run, commits)
    run.log.sweep(commits)
    scratch = run.log.scratch()
    footer.cache_clear()
    try:
        native = {depth: files for depth, files in damaged.items() if commits[depth].engine == "native"}
        if native:
            _replace(run, native, _natively(run, max(native), scratch))
        later = {depth: files for depth, files in damaged.items() if depth not in native}
        if later:
            with open_runner() as runner:
                for depth, files in later.items():
                    _replace(run, {depth: files}, {depth: _by_job(run, runner, commits[: depth + 1], scratch)})
    finally:
        run.log.drop(scratch)
    return Repaired({depth: len(files) for depth, files in damaged.items()}, given_up)


def _damaged(run: DatasetRun, commits: Sequence[Commit]) -> dict[int, list[LevelFile]]:
    """By depth the files that are not what was committed."""
    entries = [(level.depth, file) for level in commits for file in level.files]
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda entry: verify(run.log.folder(entry[0]), entry[1]), entries)
    damaged: dict[int, list[LevelFile]] = {}
    for (depth, file), damage in zip(entries, found, strict=True):
        if damage is not None:
            damaged.setdefault(depth, []).append(file)
    return damaged


def _natively(run: DatasetRun, last: int, scratch: AnyPath) -> dict[int, list[AnyPath]]:
    """The files of the native levels up to one, derived again."""
    native = NativeStart(sys.maxsize, run.bounds.memory)
    native.run(run.kernel, run.bounds.threads, Limits(run.bounds.memory, last), run.stop, lambda _: None)
    export = Export.of(run.blocks, native)
    made = {}
    for depth, records, ids in native.levels():
        export.write(scratch / str(depth), depth, records, ids)
        made[depth] = by_name((scratch / str(depth)).glob("*.parquet"))
    return made


def _by_job(run: DatasetRun, runner: LevelRunner, commits: Sequence[Commit], scratch: AnyPath) -> list[AnyPath]:
    """The files of the last of these levels, derived again by its job, planned as it was then."""
    engine, cores = commits[-1].engine, commits[-1].cost.get("cores")
    if engine != run.engine:
        raise Refusal(f"level {commits[-1].depth} was made by --engine {engine}, which alone derives its files again")
    level = plan(runner, run.log, commits[:-1], None if cores is None else int(cores))
    place = scratch / str(level.depth)
    targets = int(commits[-1].cost.get("sift_tasks", level.targets))
    bits = commits[-1].groups.bits
    if not 1 <= targets <= 1 << bits:
        raise Refusal(f"{run.log.manifest(level.depth)}: no job of {1 << bits} buckets had {targets} tasks")
    if runner.run(evolve(level, folder=str(place), targets=targets, bits=bits), run.stop) is None:
        raise JobFailedError(f"the repair of level {level.depth} was stopped; --resume --repair begins it anew")
    return by_name(place.glob("*.parquet"))


def _replace(
    run: DatasetRun, damaged: Mapping[int, Sequence[LevelFile]], made: Mapping[int, Sequence[AnyPath]]
) -> None:
    """Put the files that were derived again in the places of the damaged ones, by their digests.

    Raises:
        Refusal: when there is none with the digest that the manifest names.
    """
    for depth, file in _each(damaged):
        same = [path for path in made.get(depth, ()) if verify(path.parent, evolve(file, name=path.name)) is None]
        if not same:
            raise Refusal(
                f"{run.log.folder(depth) / file.name}: derived again it has other bytes than were committed "
                "(another version of pyarrow?); restore it, or explore again into another --out"
            )
        run.log.put_back(depth, file.name, same[0])


def _each(damaged: Mapping[int, Sequence[LevelFile]]) -> Iterator[tuple[int, LevelFile]]:
    for depth, files in damaged.items():
        for file in files:
            yield depth, file
