"""The ids of a broker's log directories, as it reads and completes them at start; concrete.

Source: KIP-858 ("Broker lifecycle management", "Reserved UUIDs"), `MetaPropertiesEnsemble`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from model.directories import is_reserved
from model.rules import RIGHT, RuleSet


class DuplicateDirectoryError(ValueError):
    """Two directories of one broker have the same id: it does not start."""


class NoIdLeftError(ValueError):
    """The draws ended before every directory had an id."""


def identify(
    found: Mapping[str, int | None], draws: Iterable[int], metadata_path: str | None = None, rules: RuleSet = RIGHT
) -> dict[str, int]:
    """The id of each directory of a broker that starts, missing ones drawn.

    Args:
        found: for each path under `log.dirs`, and for `metadata.log.dir`, the
            `directory.id` of its meta.properties; None where there is none.
        draws: candidate ids, as random as the caller likes.
        metadata_path: `metadata.log.dir` where it is a path of its own. One
            draft of the KIP gives it no id; the other, and the code, do.
        rules: the rule set.

    Raises:
        DuplicateDirectoryError: naming both paths.
        NoIdLeftError: when `draws` is too short.
    """
    exempt = metadata_path if rules.metadata_directory_unnamed else None
    ids: dict[str, int] = {}
    for path, known in found.items():
        if path == exempt or known is None:
            continue
        twin = next((other for other, other_id in ids.items() if other_id == known), None)
        if twin is not None and not rules.duplicate_ids_start:
            raise DuplicateDirectoryError(f"{twin} and {path} have the same directory.id")
        ids[path] = known
    candidates = iter(draws)
    for path, known in found.items():
        if path != exempt and known is None:
            ids[path] = _draw(candidates, frozenset(ids.values()), rules)
    return {path: ids[path] for path in found if path in ids}


def _draw(candidates: Iterable[int], taken: frozenset[int], rules: RuleSet) -> int:
    """The first candidate that is neither reserved nor taken; source: `DirectoryId.random`."""
    for candidate in candidates:
        if candidate not in taken and (rules.reserved_ids_drawn or not is_reserved(candidate)):
            return candidate
    raise NoIdLeftError("no candidate is left that may be an id")
