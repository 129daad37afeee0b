"""Sizes of spaces that earlier runs explored whole, kept beside compiled code: they tell how much of a search is left.

The key is the program's fingerprint, so that another setting, another rule set or a changed rule has no size.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from kraftcheck.ci.terminal.cache import cache_folder
from kraftcheck.ci.terminal.files import folder, read_json, replace
from kraftcheck.ci.terminal.progress import WholeSize
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.explore import Exploration

MOST_BYTES = 1 << 12
WORTH_SECONDS = 1.0
"""Sizes of searches that took less are not kept: nobody waits for them."""


def size_file(traced: Program) -> Path:
    """Where the size of a program's space is kept; one that is reduced, by symmetry or in its orders, is another."""
    reduced = (traced.reduction is not None, traced.orders is not None)
    key = hashlib.sha256(f"{fingerprint(traced)} {reduced}".encode()).hexdigest()
    return cache_folder() / "sizes" / f"{key}.json"


def earlier_size(traced: Program) -> WholeSize | None:
    """The size that an earlier run found; None where there was none, or its file is damaged."""
    try:
        content = read_json(size_file(traced), MOST_BYTES, follow=False)
        distinct, generated = content["distinct"], content["generated"]
    except (Refusal, KeyError, TypeError):  # an estimate is lost, and the next whole run writes it again
        return None
    whole = type(distinct) is int and type(generated) is int and 0 < distinct <= generated
    return WholeSize(distinct, generated) if whole else None


def keep_size(traced: Program, result: Exploration) -> str | None:
    """Keep the size of a space that was explored whole and took a while; returns what went wrong, if anything."""
    if result.cut is not None or result.seconds < WORTH_SECONDS:
        return None
    place, size = size_file(traced), {"distinct": result.distinct, "generated": result.generated}
    try:
        replace(folder(place.parent) / place.name, json.dumps(size))
    except (Refusal, OSError) as error:
        return f"the size of this space is not kept for estimates: {error}"
    return None
